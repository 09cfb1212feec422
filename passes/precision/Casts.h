//===- Casts.h - the casts of a program ---------------------------------------===//

#ifndef TESSERA_PASSES_PRECISION_CASTS_H
#define TESSERA_PASSES_PRECISION_CASTS_H

#include "passes/precision/Plan.h"

namespace tessera {

/// Gives the low values of a function the low type, and casts where types would not meet.
void insertCasts(mlir::func::FuncOp function, PrecisionPlan &plan, mlir::Type low);

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_CASTS_H
