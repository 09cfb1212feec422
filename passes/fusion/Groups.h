//===- Groups.h - which ops run as one kernel ---------------------------------===//

#ifndef TESSERA_PASSES_FUSION_GROUPS_H
#define TESSERA_PASSES_FUSION_GROUPS_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// A future kernel, or an op that stays as it is (a contraction, a repeat, a view).
struct Group {
  llvm::SmallVector<mlir::Operation *> ops;  ///< in program order
  llvm::SmallVector<AxisAttr> space;         ///< all axes of the loop nest, outermost first
  llvm::SmallVector<llvm::StringRef> serial; ///< those that its reductions reduce
  bool isKernel = false;
};

/// The groups of a block in topological order, without the terminator.
struct FusionPlan {
  llvm::SmallVector<Group> groups;
};

/// Groups the ops of a block; changes nothing.
FusionPlan planFusion(mlir::Block &block);

/// Whether an op is recomputed inside each kernel that uses it instead of being stored: sources, broadcasts, casts
/// from a low-precision type, and what follows from sources alone.
bool isRecomputed(mlir::Operation *op);

/// Whether an op is a cast from a narrower float type.
bool isWidening(mlir::Operation *op);

/// Whether the op reads this operand at other positions than the current point, so that it must be stored.
bool readsFromMemory(mlir::OpOperand &use);

} // namespace tessera

#endif // TESSERA_PASSES_FUSION_GROUPS_H
