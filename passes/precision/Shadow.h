//===- Shadow.h - the step in f32, beside the one in a low type -------------===//

#ifndef TESSERA_PASSES_PRECISION_SHADOW_H
#define TESSERA_PASSES_PRECISION_SHADOW_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Makes the entry function `shadow`: what `step` computes up to the norm of the gradients, kept in f32, from the same state and batch.
/// It changes no state. An audit compares the values of the two.
void addShadow(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_SHADOW_H
