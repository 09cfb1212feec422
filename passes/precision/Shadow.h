//===- Shadow.h - the f32 reference step of a precision audit -------------===//

#ifndef TESSERA_PASSES_PRECISION_SHADOW_H
#define TESSERA_PASSES_PRECISION_SHADOW_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Adds the entry function `shadow`: what `step` computes up to the norm of the gradients, in f32, from the same state
/// and batch. It changes no state. An audit compares the values of the two functions.
void addShadow(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_SHADOW_H
