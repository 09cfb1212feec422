//===- KernelRecorder.h - records emulated kernels for a machine with a GPU -===//
//
// If $TESSERA_RECORD_KERNELS is set, each distinct kernel that a test runs on the emulator is written to that folder:
// its text, the launch, and its arguments before and after. bench/gpu/kernel_check.py runs it on a GPU and compares.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TESTS_CODEGEN_CUDA_KERNELRECORDER_H
#define TESSERA_TESTS_CODEGEN_CUDA_KERNELRECORDER_H

#include "codegen/cuda/CudaKernels.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

namespace tessera::test {

class KernelRecorder {
public:
  /// Null if kernels are not recorded.
  static KernelRecorder *get();

  /// The arguments of a kernel before a launch.
  struct Before {
    std::vector<std::string> bytes; ///< of each argument; empty: this launch is not recorded
  };
  /// Called before a launch. Kernels that are recorded already, and those with large arguments, are left out.
  Before snapshot(const cuda::CudaKernel &kernel, llvm::ArrayRef<void *> arguments);
  /// Called after the launch.
  void record(const cuda::CudaKernel &kernel, llvm::ArrayRef<void *> arguments, const Before &before);

private:
  explicit KernelRecorder(const std::string &base);
  int64_t store(llvm::StringRef bytes);

  std::error_code error;
  llvm::raw_fd_ostream list, data;
  std::set<std::string> seen; ///< symbols with texts
};

} // namespace tessera::test

#endif // TESSERA_TESTS_CODEGEN_CUDA_KERNELRECORDER_H
