//===- CudaKernels.h - the distinct kernels of a program as CUDA C++ --------===//

#ifndef TESSERA_CODEGEN_CUDA_CUDAKERNELS_H
#define TESSERA_CODEGEN_CUDA_CUDAKERNELS_H

#include "codegen/cuda/Schedule.h"
#include "ir/KernelFingerprint.h"
#include "llvm/ADT/StringSet.h"
#include <map>
#include <memory>

namespace tessera::cuda {

struct DeviceHeader {
  llvm::StringLiteral name, text;
};

/// `tessera.cuh`, which all kernels include, and what it includes.
llvm::ArrayRef<DeviceHeader> deviceHeaders();

/// A function of a program's CUDA code, and how it is launched: with the addresses of its operands, then of its results.
struct CudaKernel {
  std::string symbol;
  std::string source; ///< a whole file
  std::vector<std::string> parameterTypes;
  int64_t blocks = 1, threads = 1;
  std::vector<int64_t> parameterBytes; ///< of the tensors behind the parameters
  size_t operands = 0;                 ///< of the parameters, the first; they are read, the others written
  std::string line;                    ///< of the model, that its first op comes from; empty if none does
};

/// Writes each distinct kernel once.
class CudaKernels {
public:
  explicit CudaKernels(Device device = {}) : device(std::move(device)) {}

  /// The function of `kernel`: written now, or that of an equal kernel. Fails with a message on the kernel or an op in it.
  /// `alignments`: what the addresses of operands, then results, are multiples of, in bytes; empty: of all that vectors ask for.
  llvm::FailureOr<const CudaKernel *> emit(KernelOp kernel, llvm::ArrayRef<int64_t> alignments = {});

  /// The functions of a tiled op, to be launched in this order, each with its operands and results.
  llvm::FailureOr<llvm::SmallVector<const CudaKernel *>> emit(TiledOp tiled, llvm::ArrayRef<int64_t> alignments = {});

  /// All distinct kernels, in the order they were written.
  const std::vector<std::shared_ptr<const CudaKernel>> &getKernels() const { return kernels; }

private:
  std::string uniqueSymbol(llvm::StringRef name);

  Device device;
  /// What a function is written for: the kernel, and the alignments of its arguments.
  using Key = std::pair<KernelFingerprint, llvm::SmallVector<int64_t>>;
  std::map<Key, llvm::SmallVector<const CudaKernel *>> written;
  std::vector<std::shared_ptr<const CudaKernel>> kernels;
  llvm::StringSet<> taken;
};

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_CUDAKERNELS_H
