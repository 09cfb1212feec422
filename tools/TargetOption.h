//===- TargetOption.h - what `--target` says --------------------------------===//

#ifndef TESSERA_TOOLS_TARGETOPTION_H
#define TESSERA_TOOLS_TARGETOPTION_H

#include "codegen/program/Program.h"

namespace tessera {

/// The machine that a program is made for.
struct TargetOption {
  bool isGpu = false;
  std::vector<std::string> architectures; ///< of GPUs; empty: those that are usual

  /// Of `cpu`, `cuda` or `cuda:ARCHITECTURE,…`; else a message in `problem`.
  static std::optional<TargetOption> parse(llvm::StringRef text, std::string &problem);
};

/// Code generation of `module` for those GPUs, with machine code kept in the cache. None, with a message in `problem`,
/// where one of them lacks what the module needs.
std::optional<CudaOptions> cudaOptions(const TargetOption &target, mlir::ModuleOp module, bool useCache,
                                       std::string &problem);

/// Makes `module` one for the target, or refuses with a message: a module that has gone through phases which look at
/// the target stays what it is.
std::string setTarget(mlir::ModuleOp module, const TargetOption &target);

/// What `fuse` may make of contractions for a GPU: `bias` or `gelu`.
void setEpilogues(mlir::ModuleOp module, llvm::StringRef epilogues);

} // namespace tessera

#endif // TESSERA_TOOLS_TARGETOPTION_H
