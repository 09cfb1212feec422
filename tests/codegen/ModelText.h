//===- ModelText.h - a model file's kernels as text -----------------------===//

#ifndef TESSERA_TESTS_CODEGEN_MODELTEXT_H
#define TESSERA_TESTS_CODEGEN_MODELTEXT_H

#include <string>
#include <vector>

namespace tessera::test {

/// The module of the model file at `path` after `fuse`, as text. Errors are printed, and the result is empty.
std::string fusedModel(const std::string &path, const std::vector<std::string> &sets);
/// The same after `schedule` for a GPU.
std::string gpuModel(const std::string &path, const std::vector<std::string> &sets);

} // namespace tessera::test

#endif // TESSERA_TESTS_CODEGEN_MODELTEXT_H
