//===- Optimizer.h - the parts of `optimize` ------------------------------===//

#ifndef TESSERA_PASSES_OPTIMIZER_OPTIMIZER_H
#define TESSERA_PASSES_OPTIMIZER_OPTIMIZER_H

#include "ir/dialect/Attributes.h"
#include "ir/dialect/GraphBuilder.h"

namespace tessera {

/// Replaces a clip by the global norm and, where it has a limit, scaled gradients.
void expandClip(ClipOp clip);

/// Replaces an update by its rule's formula, given the state before the step (in the order of
/// `OptimizerRule::stateNames`); returns the state after it.
llvm::SmallVector<mlir::Value> expandUpdate(UpdateOp update, llvm::ArrayRef<mlir::Value> state);

} // namespace tessera

#endif // TESSERA_PASSES_OPTIMIZER_OPTIMIZER_H
