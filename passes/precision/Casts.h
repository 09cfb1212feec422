//===- Casts.h - the casts of a program ---------------------------------------===//

#ifndef TESSERA_PASSES_PRECISION_CASTS_H
#define TESSERA_PASSES_PRECISION_CASTS_H

#include "ir/dialect/GraphBuilder.h"
#include "passes/precision/Plan.h"

namespace tessera {

/// Builds behind the definition of a value, at its location.
GraphBuilder builderAfter(mlir::ModuleOp module, mlir::Value value);

/// A rename, split, merge or broadcast once more, of another operand: the result has that one's element type.
mlir::Value reshapeLike(mlir::Operation *reshape, mlir::Value operand);

/// Gives the low values of a function the low type, and casts where types would not meet.
void insertCasts(mlir::func::FuncOp function, PrecisionPlan &plan, mlir::Type low);

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_CASTS_H
