//===- CheckPrecision.h - what holds after the phase `precision` ------------===//

#ifndef TESSERA_PASSES_PRECISION_CHECKPRECISION_H
#define TESSERA_PASSES_PRECISION_CHECKPRECISION_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Checks each op against the policy: products take and give low numbers unless they are kept in f32, everything else that
/// computes does so in f32, state and what the optimizer sees is f32. Without a low type nothing is low.
llvm::LogicalResult checkPrecision(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_CHECKPRECISION_H
