//===- Quantize.h - fp8 operands and their scales -------------------------===//

#ifndef TESSERA_PASSES_PRECISION_QUANTIZE_H
#define TESSERA_PASSES_PRECISION_QUANTIZE_H

#include "passes/precision/Policy.h"

namespace tessera {

/// Gives the contractions of `planFp8` fp8 operands. Adds the state from which the scales follow.
void quantizeProducts(mlir::ModuleOp module, const ComputeSettings &settings);

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_QUANTIZE_H
