//===- Repeats.h - more operands and results of repeats -------------------===//

#ifndef TESSERA_IR_PROGRAM_REPEATS_H
#define TESSERA_IR_PROGRAM_REPEATS_H

#include "ir/dialect/GraphBuilder.h"

namespace tessera {

/// Another sliced operand, which has the repeat's axis; its argument in the body.
mlir::BlockArgument addSliced(RepeatOp repeat, mlir::Value operand);
/// Another invariant operand.
mlir::BlockArgument addInvariant(RepeatOp repeat, mlir::Value operand);

/// Another operand of the kind of `like`, the region argument of a slice or an invariant.
mlir::BlockArgument addLike(RepeatOp repeat, mlir::BlockArgument like, mlir::Value operand);

/// A value of the function's body inside `block`, which is in repeats: a slice in those whose axis the value has,
/// an invariant in the others. Null if something else than repeats is around the block.
mlir::Value importInto(mlir::Block *block, mlir::Value value);

/// The repeat with values of its body stacked as further results. A new op with the old one's body takes its place;
/// handles to the old op and to its results are stale.
RepeatOp addStacked(RepeatOp repeat, mlir::ValueRange values);

} // namespace tessera

#endif // TESSERA_IR_PROGRAM_REPEATS_H
