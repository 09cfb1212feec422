//===- RegionArguments.h - values that cross the border of a region -------===//
//
// The regions of repeats and attentions refer to values around them by arguments only. Here the two are found from each
// other.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_AUTODIFF_REGIONARGUMENTS_H
#define TESSERA_IR_AUTODIFF_REGIONARGUMENTS_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Whether the argument is a value that a repeat carries from one iteration to the next.
bool isCarried(mlir::BlockArgument argument);

/// What an argument of a region stands for: an operand of the repeat or the attention, and what the body yields for a
/// carried value. Nothing for an induction value, for the scores or the probabilities of an attention, and for
/// arguments of other ops and of functions.
llvm::SmallVector<mlir::Value> valuesOf(mlir::BlockArgument argument);

/// Whether the gradient of the operand is 0 wherever no select takes it, whatever the gradients of the op's results
/// are. That is so for the sides of a select, and for an operand that the regions of a repeat or an attention read as
/// it is, if it only reaches what they yield through sides of selects.
bool startsMaskedGradient(mlir::OpOperand &operand);

} // namespace tessera

#endif // TESSERA_IR_AUTODIFF_REGIONARGUMENTS_H
