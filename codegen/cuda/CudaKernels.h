//===- CudaKernels.h - the distinct kernels of a program as CUDA C++ --------===//

#ifndef TESSERA_CODEGEN_CUDA_CUDAKERNELS_H
#define TESSERA_CODEGEN_CUDA_CUDAKERNELS_H

#include "codegen/Backend.h"
#include "ir/program/KernelFingerprint.h"
#include "passes/kernel/ThreadMapping.h"
#include "llvm/ADT/StringSet.h"
#include <map>
#include <memory>

namespace tessera::cuda {

/// A function of a program's CUDA code, and its launch. The arguments are the addresses of its operands, then of its
/// results. A horizontally fused launch has those of all its kernels, in one `tsr::pointers`.
struct CudaKernel {
  std::string symbol;
  std::string source; ///< a whole file
  std::vector<std::string> parameterTypes;
  int64_t blocks = 1, threads = 1;
  std::vector<KernelArgument> arguments;
  std::string line; ///< of the model that its first op comes from; empty if there is none
  bool isHorizontallyFused = false;
};

/// Writes each distinct kernel once.
class CudaKernels {
public:
  explicit CudaKernels(const Target &target = *Target::named("h100")) : target(target) {}

  /// The function of `kernel`, which equal kernels share. Fails with a message on the kernel or an op in it.
  /// `alignments`: those of the addresses of operands, then results, in bytes; empty: all are aligned to vectors.
  llvm::FailureOr<const CudaKernel *> emit(KernelOp kernel, llvm::ArrayRef<int64_t> alignments = {});

  /// The functions of a tiled op in the order of their launches. Each gets all operands and results.
  llvm::FailureOr<llvm::SmallVector<const CudaKernel *>> emit(TiledOp tiled, llvm::ArrayRef<int64_t> alignments = {});

  /// The function of a horizontally fused launch; `alignments` of each kernel.
  llvm::FailureOr<const CudaKernel *> emit(llvm::ArrayRef<KernelOp> members,
                                           llvm::ArrayRef<llvm::SmallVector<int64_t>> alignments);

  /// All distinct kernels, in the order they were written.
  const std::vector<std::shared_ptr<const CudaKernel>> &getKernels() const { return kernels; }

private:
  std::string uniqueSymbol(llvm::StringRef name);
  const CudaKernel *add(CudaKernel kernel);
  /// A function is generated for a kernel and the alignments of its arguments.
  using Key = std::pair<KernelFingerprint, llvm::SmallVector<int64_t>>;
  static void shareAlignments(std::vector<Key> &keys);
  static Key keyOf(KernelOp kernel, llvm::ArrayRef<int64_t> alignments);

  Target target;
  std::map<Key, llvm::SmallVector<const CudaKernel *>> written;
  std::map<std::vector<Key>, const CudaKernel *> fusedLaunches;
  std::vector<std::shared_ptr<const CudaKernel>> kernels;
  llvm::StringSet<> taken;
};

/// The comment before a kernel's function.
std::string headComment(const KernelPlan &plan, const ThreadMapping &mapping);

/// An op's operands, then its results.
std::vector<KernelArgument> argumentsOf(mlir::Operation *op);

/// The first line of the model that an op of a block comes from; empty if there is none.
std::string firstLine(mlir::Block &block);

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_CUDAKERNELS_H
