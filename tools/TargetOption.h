//===- TargetOption.h - the value of `--target` -----------------------------===//

#ifndef TESSERA_TOOLS_TARGETOPTION_H
#define TESSERA_TOOLS_TARGETOPTION_H

#include "codegen/program/Program.h"
#include "ir/program/Target.h"

namespace tessera {

namespace cuda {
class Nvrtc;
}

/// The kind of device that a program is compiled for.
struct TargetOption {
  bool isGpu = false;
  std::vector<std::string> architectures; ///< of GPUs; empty: the default ones

  /// Parses `cpu`, `cuda` or `cuda:ARCHITECTURE,…`; otherwise none, with a message in `problem`.
  static std::optional<TargetOption> parse(llvm::StringRef text, std::string &problem);
  /// What code for the device is compiled for: what the value of `--target` says, or, if it is empty, the architecture
  /// of the description. None, with a message in `problem`, if the code would not run on the device.
  static std::optional<TargetOption> forDevice(const Target &device, llvm::StringRef text, std::string &problem);

  /// As the value of `--target`.
  std::string text() const;
};

/// Why the compiler of kernels makes no code for one of the architectures that were asked for; empty if it does.
std::string findUnknownArchitecture(const TargetOption &target, const cuda::Nvrtc &nvrtc);

/// Options of code generation of `module` for those GPUs, with machine code stored in the cache. None, with a message
/// in `problem`, if one of the architectures lacks what the module needs.
std::optional<CudaOptions> cudaOptions(const TargetOption &target, mlir::ModuleOp module, bool useCache,
                                       std::string &problem);

/// Records in `module` what it is compiled for: the kind of target and the description of the device. Without `device`
/// that is the preset for the processor `march`, or for the newest of the GPUs. Returns an error message if its phases
/// have already been run for another kind, or a phase has decided by another preference than `prefer`; else an empty
/// string. A scheduled module keeps the description that its launches were chosen for, and `device` must be that one.
/// `prefer` is `speed`, `memory` or empty: as the module says.
std::string setTarget(mlir::ModuleOp module, const TargetOption &target, llvm::StringRef march, llvm::StringRef prefer,
                      const std::optional<Target> &device);

/// Sets the epilogues that `fuse` may add to contractions on a GPU: `bias` or `gelu`.
void setEpilogues(mlir::ModuleOp module, llvm::StringRef epilogues);

} // namespace tessera

#endif // TESSERA_TOOLS_TARGETOPTION_H
