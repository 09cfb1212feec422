//===- EmulatedKernels.h - generated CUDA kernels in this process -----------===//

#ifndef TESSERA_TESTS_CODEGEN_CUDA_EMULATEDKERNELS_H
#define TESSERA_TESTS_CODEGEN_CUDA_EMULATEDKERNELS_H

#include "codegen/cuda/CudaKernels.h"

namespace tessera::test {

/// CUDA kernels, compiled by the compiler that built this test, loaded, and run by Emulator.h.
class EmulatedKernels {
public:
  /// Check `errors` afterwards. `threads` replaces the text of threads.cuh.
  explicit EmulatedKernels(llvm::ArrayRef<const cuda::CudaKernel *> kernels, llvm::StringRef threads = "");
  ~EmulatedKernels();
  EmulatedKernels(const EmulatedKernels &) = delete;

  /// Runs one of the kernels on the addresses of its operands and results. Returns an error, or an empty string.
  std::string run(const cuda::CudaKernel &kernel, llvm::ArrayRef<void *> arguments);

  std::string errors;

private:
  void *library = nullptr;
};

} // namespace tessera::test

#endif // TESSERA_TESTS_CODEGEN_CUDA_EMULATEDKERNELS_H
