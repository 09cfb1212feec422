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

/// A function of a program's CUDA code, and how it is launched: with the addresses of its operands, then of its
/// results. One that runs several kernels is given those of each, as one `tsr::pointers`: behind each other in memory,
/// they are what a launch reads.
struct CudaKernel {
  std::string symbol;
  std::string source; ///< a whole file
  std::vector<std::string> parameterTypes;
  int64_t blocks = 1, threads = 1;
  std::vector<KernelArgument> arguments;
  std::string line; ///< of the model, that its first op comes from; empty if none does
  bool isOfSeveral = false;
};

/// Writes each distinct kernel once.
class CudaKernels {
public:
  explicit CudaKernels(const Target &target = *Target::named("h100")) : target(target) {}

  /// The function of `kernel`: written now, or that of an equal kernel. Fails with a message on the kernel or an op in
  /// it. `alignments`: what the addresses of operands, then results, are multiples of, in bytes; empty: of all that
  /// vectors ask for.
  llvm::FailureOr<const CudaKernel *> emit(KernelOp kernel, llvm::ArrayRef<int64_t> alignments = {});

  /// The functions of a tiled op, to be launched in this order, each with its operands and results.
  llvm::FailureOr<llvm::SmallVector<const CudaKernel *>> emit(TiledOp tiled, llvm::ArrayRef<int64_t> alignments = {});

  /// The function that runs several kernels in one launch; `alignments` of each.
  llvm::FailureOr<const CudaKernel *> emit(llvm::ArrayRef<KernelOp> members,
                                           llvm::ArrayRef<llvm::SmallVector<int64_t>> alignments);

  /// All distinct kernels, in the order they were written.
  const std::vector<std::shared_ptr<const CudaKernel>> &getKernels() const { return kernels; }

private:
  std::string uniqueSymbol(llvm::StringRef name);
  const CudaKernel *add(CudaKernel kernel);
  /// What a function is written for: the kernel, and the alignments of its arguments.
  using Key = std::pair<KernelFingerprint, llvm::SmallVector<int64_t>>;
  static void shareAlignments(std::vector<Key> &keys);
  static Key keyOf(KernelOp kernel, llvm::ArrayRef<int64_t> alignments);

  Target target;
  std::map<Key, llvm::SmallVector<const CudaKernel *>> written;
  std::map<std::vector<Key>, const CudaKernel *> together; ///< launches of several
  std::vector<std::shared_ptr<const CudaKernel>> kernels;
  llvm::StringSet<> taken;
};

/// The comment in front of a kernel's function.
std::string headComment(const KernelPlan &plan, const ThreadMapping &mapping);

/// An op's operands, then its results.
std::vector<KernelArgument> argumentsOf(mlir::Operation *op);

/// The line of the model that the first op of a block comes from which has one; else empty.
std::string firstLine(mlir::Block &block);

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_CUDAKERNELS_H
