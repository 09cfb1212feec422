//===- LossScaling.h - gradients in the range of the low-precision type ---===//

#ifndef TESSERA_PASSES_PRECISION_LOSSSCALING_H
#define TESSERA_PASSES_PRECISION_LOSSSCALING_H

#include "passes/precision/Policy.h"

namespace tessera {

/// Multiplies the seed of the backward pass by the scale and has `tsr.clip` divide by it.
llvm::LogicalResult scaleLoss(mlir::ModuleOp module, const ComputeSettings &settings);

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_LOSSSCALING_H
