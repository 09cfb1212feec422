//===- Places.h - parts of joined values have the strides of the whole ----===//
//
// `layout` calls this once all axes are in memory order. A slice of a joined value is a view: its type has the
// allocated sizes of the whole. An operand of a join is written with the strides of the joined buffer, in which
// `schedule` places it. So that this is always right, a value is copied where it cannot have such a type: an operand
// of a join that no op of the block writes, and a part that is passed on as a whole to a repeat, or out of one.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_JOIN_PLACES_H
#define TESSERA_PASSES_JOIN_PLACES_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Gives the parts of joined values their types. Returns how many copies that takes.
int64_t allocateParts(mlir::ModuleOp module);

/// The type of an operand of a join: its axes, with the strides of the result.
NamedTensorType partType(JoinOp join, unsigned part);

/// Checks that each operand of a join has its type.
llvm::LogicalResult verifyParts(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_JOIN_PLACES_H
