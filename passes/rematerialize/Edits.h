//===- Edits.h - changes of repeats and kernels ---------------------------===//

#ifndef TESSERA_PASSES_REMATERIALIZE_EDITS_H
#define TESSERA_PASSES_REMATERIALIZE_EDITS_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// The region argument for the slices of an operand; a new one if the repeat does not slice it yet.
mlir::Value sliceArgument(RepeatOp repeat, mlir::Value operand);
/// The region argument for an invariant; a new one if it is none yet.
mlir::Value invariantArgument(RepeatOp repeat, mlir::Value operand);

/// Has a repeat stack further values of its body, and replaces it. They are the last results.
RepeatOp withStacks(RepeatOp repeat, llvm::ArrayRef<mlir::Value> values);

/// Removes what nothing reads: results, operands, ops of the body. Returns the repeat that takes its place.
RepeatOp withoutUnused(RepeatOp repeat);

/// Removes the results of a kernel that nothing reads, and what only they need. Returns the kernel that takes its
/// place; null if it has no result left.
KernelOp withoutUnused(KernelOp kernel);

/// The same for all kernels of a block.
void trimKernels(mlir::Block &block);

/// Has a clone say that it computes again what the forward pass computed.
void markRecomputed(mlir::Operation *clone);

/// A number that no group of a function has, for clones of ops that are computed together.
int64_t nextFusionGroup(mlir::Operation *function);

} // namespace tessera

#endif // TESSERA_PASSES_REMATERIALIZE_EDITS_H
