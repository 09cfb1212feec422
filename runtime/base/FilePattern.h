//===- FilePattern.h - the files that a pattern of a data path names ------===//
//
// The compiler uses this too: it depends on the C library only and throws nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_BASE_FILEPATTERN_H
#define TESSERA_RUNTIME_BASE_FILEPATTERN_H

#include <string>
#include <vector>

namespace tessera::runtime {

/// The file of a path, or the files that match a pattern of the shell (`*`, `?`, `[ab]`, `{a,b}`, `~`), sorted; none if
/// there is no such file.
std::vector<std::string> filesMatching(const std::string &pattern);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_BASE_FILEPATTERN_H
