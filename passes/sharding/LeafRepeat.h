//===- LeafRepeat.h - the repeat over the leaves of a batch ---------------===//
//
// With leaves (`tsr.leaves` on the module) the batch of `step` is cut into leaves of one shape, as `accumulate` cuts it
// into micro-batches: a split of the rows, and a repeat over its outer axis. What leaves compute is added in a binary
// tree. So ranks that have whole leaves, a power of two of them, compute the same sums as one rank.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_LEAFREPEAT_H
#define TESSERA_PASSES_SHARDING_LEAFREPEAT_H

#include "ir/dialect/Tsr.h"
#include "llvm/ADT/DenseSet.h"

namespace tessera {

struct LeafRepeat {
  RepeatOp repeat;
  llvm::StringRef batch; ///< the axis of rows that is cut
};

/// The number of leaves; 0 without them.
int64_t leafCount(mlir::ModuleOp module);

/// The repeat over leaves of a function, before `partition`. None if the batch is not cut so.
std::optional<LeafRepeat> findLeafRepeat(mlir::func::FuncOp function);

/// The ops of its body whose results depend on the leaf, those in repeats inside too.
llvm::DenseSet<mlir::Operation *> opsOfLeaf(RepeatOp repeat);

/// The entry functions that leaves divide, `step` and its twin in f32.
llvm::SmallVector<mlir::func::FuncOp> functionsWithLeaves(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_LEAFREPEAT_H
