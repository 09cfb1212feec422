//===- VerifyPrecision.h - what holds after the phase `precision` ----------===//

#ifndef TESSERA_PASSES_PRECISION_VERIFYPRECISION_H
#define TESSERA_PASSES_PRECISION_VERIFYPRECISION_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Checks each op against the policy: contractions and attentions have low-precision operands unless `tsr.precision`
/// exempts them, all other arithmetic is in f32, and so are state and the operands of updates. Without a low-precision
/// type everything is f32.
llvm::LogicalResult verifyPrecision(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_VERIFYPRECISION_H
