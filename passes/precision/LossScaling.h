//===- LossScaling.h - gradients in the range of the low-precision type ---===//

#ifndef TESSERA_PASSES_PRECISION_LOSSSCALING_H
#define TESSERA_PASSES_PRECISION_LOSSSCALING_H

#include "passes/precision/Policy.h"

namespace tessera {

/// Paths of the state that a dynamic loss scale adds.
namespace scaling {
inline constexpr llvm::StringLiteral scale = "loss_scale";       ///< f32
inline constexpr llvm::StringLiteral cleanSteps = "clean_steps"; ///< i32: since the scale changed or a step was skipped
inline constexpr llvm::StringLiteral skipped = "skipped_steps";  ///< i32
} // namespace scaling

/// Multiplies the seed of the backward pass by the scale and has `tsr.clip` divide by it.
llvm::LogicalResult scaleLoss(mlir::ModuleOp module, const ComputeSettings &settings);

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_LOSSSCALING_H
