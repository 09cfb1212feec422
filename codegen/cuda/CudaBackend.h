//===- CudaBackend.h - kernels as CUDA C++, compiled by NVRTC -------------===//

#ifndef TESSERA_CODEGEN_CUDA_CUDABACKEND_H
#define TESSERA_CODEGEN_CUDA_CUDABACKEND_H

#include "codegen/Backend.h"
#include "codegen/cuda/CudaKernels.h"
#include <functional>

namespace tessera {

/// Options of the generation of CUDA code.
struct CudaOptions {
  std::vector<std::string> architectures; ///< sm_90a: machine code; compute_90: PTX
  bool compiles = true;                   ///< false: kernels are not compiled
  /// Look up and store machine code by a text that determines it; may be empty.
  std::function<std::optional<std::string>(llvm::StringRef)> findCode;
  std::function<void(llvm::StringRef, llvm::StringRef)> storeCode;
};

/// One CUDA function for each distinct kernel; contractions are left to cuBLASLt.
class CudaBackend : public Backend {
public:
  CudaBackend(const Target &target, CudaOptions options) : options(std::move(options)), kernels(target) {}

  bool hasDeviceMemory() const override { return true; }
  int64_t workspaceAlignment() const override { return 256; }
  ContractionLibrary getLibrary(mlir::ModuleOp module) const override;
  void begin(mlir::ModuleOp code) override { this->code = code; }
  llvm::FailureOr<llvm::SmallVector<EmittedKernel>>
  emitKernels(llvm::ArrayRef<mlir::Operation *> ops, llvm::ArrayRef<llvm::SmallVector<int64_t>> alignments) override;
  std::optional<EmittedKernel> emitContraction(llvm::ArrayRef<ContractOp>, const ContractionGemm &,
                                               const FusedGemms &) override {
    return std::nullopt;
  }
  llvm::LogicalResult finish(StageLog &log) override;
  void describe(TargetDescription &description) const override;

  /// All distinct kernels, in the order of their numbers.
  const std::vector<std::shared_ptr<const cuda::CudaKernel>> &getKernels() const { return kernels.getKernels(); }

private:
  CudaOptions options;
  cuda::CudaKernels kernels;
  mlir::ModuleOp code;
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CUDA_CUDABACKEND_H
