//===- Groups.h - which ops run as one kernel -----------------------------===//

#ifndef TESSERA_PASSES_FUSION_GROUPS_H
#define TESSERA_PASSES_FUSION_GROUPS_H

#include "passes/fusion/ColumnSums.h"

namespace tessera {

/// The ops of a future kernel, or one op that does not become one (a contraction, a repeat, a view).
struct Group {
  llvm::SmallVector<mlir::Operation *> ops;  ///< in program order
  llvm::SmallVector<AxisAttr> space;         ///< all axes of the loop nest, outermost first
  llvm::SmallVector<llvm::StringRef> serial; ///< those that its reductions sum over
  bool isKernel = false;
};

/// The groups of a block in topological order, without the terminator.
struct FusionPlan {
  llvm::SmallVector<Group> groups;
};

/// Groups the ops of a block; changes nothing. Those of `columnOps` are grouped with their sums.
FusionPlan planFusion(mlir::Block &block, const ColumnOps &columnOps);

/// Whether each kernel that uses an op's result recomputes it, so that it is not stored: sources, broadcasts, pads,
/// inner slices, casts from a low-precision type, and short chains of ops that depend on sources alone.
bool isRecomputed(mlir::Operation *op);

/// Whether an op is a cast from a narrower float type.
bool isWidening(mlir::Operation *op);

/// Whether the op reads this operand at other positions than the current point, so that it must be in memory.
bool readsFromMemory(mlir::OpOperand &use);

} // namespace tessera

#endif // TESSERA_PASSES_FUSION_GROUPS_H
