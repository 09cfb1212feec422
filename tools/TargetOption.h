//===- TargetOption.h - the value of `--target` -----------------------------===//

#ifndef TESSERA_TOOLS_TARGETOPTION_H
#define TESSERA_TOOLS_TARGETOPTION_H

#include "codegen/program/Program.h"

namespace tessera {

/// The kind of device that a program is compiled for.
struct TargetOption {
  bool isGpu = false;
  std::vector<std::string> architectures; ///< of GPUs; empty: the default ones

  /// Parses `cpu`, `cuda` or `cuda:ARCHITECTURE,…`; otherwise none, with a message in `problem`.
  static std::optional<TargetOption> parse(llvm::StringRef text, std::string &problem);
};

/// Options of code generation of `module` for those GPUs, with machine code stored in the cache. None, with a message
/// in `problem`, if one of the architectures lacks what the module needs.
std::optional<CudaOptions> cudaOptions(const TargetOption &target, mlir::ModuleOp module, bool useCache,
                                       std::string &problem);

/// Records in `module` what it is compiled for: the kind of target and the description of the device, for a CPU that of
/// the processor `march`. Returns an error message if its phases have already been run for another kind, or a phase has
/// decided by another preference than `prefer`; else an empty string. A scheduled module keeps the description that its
/// launches were chosen for; any other one does if `keepsDevice`. `prefer` is `speed`, `memory` or empty: as the module
/// says.
std::string setTarget(mlir::ModuleOp module, const TargetOption &target, llvm::StringRef march, llvm::StringRef prefer,
                      bool keepsDevice);

/// Sets the epilogues that `fuse` may add to contractions on a GPU: `bias` or `gelu`.
void setEpilogues(mlir::ModuleOp module, llvm::StringRef epilogues);

} // namespace tessera

#endif // TESSERA_TOOLS_TARGETOPTION_H
