//===- Groups.h - which ops run as one kernel ---------------------------------===//

#ifndef TESSERA_PASSES_FUSION_GROUPS_H
#define TESSERA_PASSES_FUSION_GROUPS_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// One step of a block after `fuse`: a kernel to be, or an op that stays as it is (a contraction, a repeat, a view).
struct Group {
  llvm::SmallVector<mlir::Operation *> ops;  ///< in program order
  llvm::SmallVector<AxisAttr> space;         ///< all axes of the loop nest, outermost first
  llvm::SmallVector<llvm::StringRef> serial; ///< those that its reductions reduce
  bool isKernel = false;
};

/// The steps of a block in an order in which each comes after what it needs. The terminator is not among them.
struct FusionPlan {
  llvm::SmallVector<Group> groups;
};

/// Groups the ops of a block; changes nothing.
FusionPlan planFusion(mlir::Block &block);

/// Whether an op is recomputed inside each kernel that uses it instead of being stored: sources, broadcasts, casts from a low
/// type, and what follows from sources alone.
bool isRecomputed(mlir::Operation *op);

/// Whether an op is a cast from a narrower float type.
bool isWidening(mlir::Operation *op);

/// Whether the op reads this operand at other positions than its own, so that it must lie in memory.
bool readsFromMemory(mlir::OpOperand &use);

} // namespace tessera

#endif // TESSERA_PASSES_FUSION_GROUPS_H
