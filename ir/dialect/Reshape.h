//===- Reshape.h - ops that change the shape of a value only --------------===//

#ifndef TESSERA_IR_DIALECT_RESHAPE_H
#define TESSERA_IR_DIALECT_RESHAPE_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Whether the elements of an op's result are those of its operand, under another shape: it computes nothing, and can
/// be recomputed at no cost. Says nothing about storage: see `isStorageView` in passes/analysis/Views.h.
inline bool isReshape(mlir::Operation *op) {
  return llvm::isa_and_nonnull<RenameOp, SplitOp, MergeOp, BroadcastOp>(op);
}

} // namespace tessera

#endif // TESSERA_IR_DIALECT_RESHAPE_H
