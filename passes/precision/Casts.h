//===- Casts.h - the casts of a program -----------------------------------===//

#ifndef TESSERA_PASSES_PRECISION_CASTS_H
#define TESSERA_PASSES_PRECISION_CASTS_H

#include "ir/dialect/GraphBuilder.h"
#include "passes/precision/PrecisionPlan.h"

namespace tessera {

/// Builds after the definition of a value, at its location.
GraphBuilder builderAfter(mlir::ModuleOp module, mlir::Value value);

/// The same rename, split, merge or broadcast of another operand. The result has the element type of that operand.
mlir::Value reshapeLike(mlir::Operation *reshape, mlir::Value operand);

/// Gives the values that the plan selects the type `reduced`, and casts where types would not match.
void insertCasts(mlir::func::FuncOp function, PrecisionPlan &plan, mlir::Type reduced);

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_CASTS_H
