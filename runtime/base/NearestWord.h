//===- NearestWord.h - "did you mean …?" ----------------------------------===//

#ifndef TESSERA_RUNTIME_BASE_NEARESTWORD_H
#define TESSERA_RUNTIME_BASE_NEARESTWORD_H

#include <string>
#include <vector>

namespace tessera::runtime {

/// The candidate nearest to `word` by edit distance; empty if none is near.
std::string nearestWord(const std::string &word, const std::vector<std::string> &candidates);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_BASE_NEARESTWORD_H
