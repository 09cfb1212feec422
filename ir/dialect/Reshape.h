//===- Reshape.h - ops that change the shape of a value only --------------===//

#ifndef TESSERA_IR_DIALECT_RESHAPE_H
#define TESSERA_IR_DIALECT_RESHAPE_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Whether the op only changes the shape of its operand: it computes nothing, and can be repeated for free. Says
/// nothing about storage: see `isStorageView` in passes/analysis/Views.h.
inline bool isReshape(mlir::Operation *op) { return op && op->hasTrait<traits::IsReshape>(); }

} // namespace tessera

#endif // TESSERA_IR_DIALECT_RESHAPE_H
