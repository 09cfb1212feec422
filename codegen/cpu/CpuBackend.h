//===- CpuBackend.h - kernels as functions of the host's code -------------===//

#ifndef TESSERA_CODEGEN_CPU_CPUBACKEND_H
#define TESSERA_CODEGEN_CPU_CPUBACKEND_H

#include "codegen/Backend.h"
#include "codegen/cpu/KernelCodegen.h"
#include "ir/program/Target.h"

namespace tessera {

class CpuBackend : public Backend {
public:
  /// `target` determines which contractions are generated, `processor` how.
  CpuBackend(const Target &target, CpuTarget processor) : target(target), processor(std::move(processor)) {
    this->processor.prefetchesAcrossPages = target.prefetchesAcrossPages; // a description may say otherwise
  }

  bool hasDeviceMemory() const override { return false; }
  int64_t workspaceAlignment() const override { return 64; }
  ContractionLibrary getLibrary(mlir::ModuleOp) const override { return {}; }
  void begin(mlir::ModuleOp code) override;
  llvm::FailureOr<llvm::SmallVector<EmittedKernel>>
  emitKernels(llvm::ArrayRef<mlir::Operation *> ops, llvm::ArrayRef<llvm::SmallVector<int64_t>> alignments) override;
  std::optional<EmittedKernel> emitContraction(llvm::ArrayRef<ContractOp> contractions,
                                               const ContractionGemm &description, const FusedGemms &fused) override;
  llvm::LogicalResult finish(StageLog &log) override;
  void describe(TargetDescription &description) const override;

private:
  Target target;
  CpuTarget processor;
  mlir::ModuleOp code;
  std::optional<KernelCodegen> kernels; ///< from `begin` on
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CPUBACKEND_H
