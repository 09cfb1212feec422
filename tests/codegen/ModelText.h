//===- ModelText.h - a model file's kernels as text -----------------------===//

#ifndef TESSERA_TESTS_CODEGEN_MODELTEXT_H
#define TESSERA_TESTS_CODEGEN_MODELTEXT_H

#include <string>
#include <vector>

namespace tessera::test {

/// The module after `fuse` that the model file at `path` becomes, as text; the empty string after errors, which are
/// printed.
std::string fusedModel(const std::string &path, const std::vector<std::string> &sets);
/// The same after `schedule`, as a program for a GPU.
std::string gpuModel(const std::string &path, const std::vector<std::string> &sets);

} // namespace tessera::test

#endif // TESSERA_TESTS_CODEGEN_MODELTEXT_H
