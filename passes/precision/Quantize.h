//===- Quantize.h - operands of eight bits, and their scales --------------===//

#ifndef TESSERA_PASSES_PRECISION_QUANTIZE_H
#define TESSERA_PASSES_PRECISION_QUANTIZE_H

#include "passes/precision/Policy.h"

namespace tessera {

/// Has the contractions that `planFp8` names multiply numbers of eight bits. Adds the state that the scales come from.
void quantizeProducts(mlir::ModuleOp module, const ComputeSettings &settings);

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_QUANTIZE_H
