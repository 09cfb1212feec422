//===- Optimizer.h - the parts of `optimize` ------------------------------===//

#ifndef TESSERA_PASSES_OPTIMIZER_OPTIMIZER_H
#define TESSERA_PASSES_OPTIMIZER_OPTIMIZER_H

#include "ir/dialect/GraphBuilder.h"

namespace tessera {

/// Replaces a clip by the global norm and, where it has a limit, scaled gradients.
void expandClip(ClipOp clip);

/// The moments that an update keeps, by the last part of their path: `m` and `v`, or `momentum`, or none.
/// Fails, with a diagnostic, where the rule is unknown or lacks a hyperparameter.
llvm::FailureOr<llvm::SmallVector<llvm::StringRef>> momentNames(UpdateOp update);

/// Replaces an update by elementwise ops, given its moments before the step; returns them after it.
llvm::SmallVector<mlir::Value> expandUpdate(UpdateOp update, llvm::ArrayRef<mlir::Value> moments);

} // namespace tessera

#endif // TESSERA_PASSES_OPTIMIZER_OPTIMIZER_H
