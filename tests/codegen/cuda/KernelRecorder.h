//===- KernelRecorder.h - emulated kernels, kept for a machine with a GPU ---===//
//
// With $TESSERA_RECORD_KERNELS set, each distinct kernel that a test runs on the emulator is written to that folder: its text, the
// launch, what memory held before and after. bench/gpu/kernel_check.py runs it on a GPU and compares.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TESTS_CUDA_KERNELRECORDER_H
#define TESSERA_TESTS_CUDA_KERNELRECORDER_H

#include "codegen/cuda/CudaKernels.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

namespace tessera::test {

class KernelRecorder {
public:
  /// Null unless kernels are to be recorded.
  static KernelRecorder *get();

  /// What a kernel found in memory.
  struct Before {
    std::vector<std::string> bytes; ///< of each argument; empty: this launch is not recorded
  };
  /// To be called before a launch; kernels that were recorded already, and those with much data, are left out.
  Before look(const cuda::CudaKernel &kernel, llvm::ArrayRef<void *> arguments);
  /// To be called after it.
  void record(const cuda::CudaKernel &kernel, llvm::ArrayRef<void *> arguments, const Before &before);

private:
  explicit KernelRecorder(const std::string &base);
  int64_t store(llvm::StringRef bytes);

  std::error_code error;
  llvm::raw_fd_ostream list, data;
  std::set<std::string> seen; ///< symbols and texts
};

} // namespace tessera::test

#endif // TESSERA_TESTS_CUDA_KERNELRECORDER_H
