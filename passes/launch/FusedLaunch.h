//===- FusedLaunch.h - which kernels one launch of a GPU can run ----------===//
//
// The kernels of a horizontally fused launch run in different blocks of one grid. All blocks have one size, and the
// shared memory of a block is that of all distinct kernels together.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_LAUNCH_FUSEDLAUNCH_H
#define TESSERA_PASSES_LAUNCH_FUSEDLAUNCH_H

#include "passes/kernel/ThreadMapping.h"

namespace tessera {

/// A kernel of a launch, mapped to threads for itself.
struct MappedKernel {
  KernelPlan plan;
  ThreadMapping mapping;

  /// Fails with a message on the kernel or an op in it.
  static llvm::FailureOr<MappedKernel> of(KernelOp kernel, const Target &target, llvm::ArrayRef<int64_t> alignments);
};

/// The size of the blocks in which these kernels run together.
int64_t commonBlock(llvm::ArrayRef<MappedKernel> kernels);

/// How many of these kernels, from the first one on, one launch can run; at least one.
size_t countFusible(llvm::ArrayRef<KernelOp> kernels, const Target &target);

} // namespace tessera

#endif // TESSERA_PASSES_LAUNCH_FUSEDLAUNCH_H
