//===- LostMasks.h - selects whose gradient may be NaN --------------------===//
//
// Reverse mode keeps the gradient of a select's side at 0 where that side is not taken, through elementwise ops,
// reductions and ops that move elements, and out of a region. A contraction, a composite or a repeat mixes elements:
//
//   where(z > 0, sum[a](sqrt(z) * w), 0)
//
// The gradient of w is a sum with the factor sqrt(z), which is NaN where z is negative, and 0 times NaN is NaN.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_AUTODIFF_LOSTMASKS_H
#define TESSERA_IR_AUTODIFF_LOSTMASKS_H

#include "ir/autodiff/ReverseMode.h"

namespace tessera {

/// A select that guards a function against operands outside of its domain, and an op between the two that mixes
/// elements of sides that are taken with others.
struct LostMask {
  SelectOp select;
  mlir::Operation *function, *mixer;
};

/// Those in a sequence of ops and in their regions, at most one for each select. A function counts as guarded if the
/// condition is computed from what the function's operand is computed from, and only one side of the select leads to
/// the mixer. So a select with a random or a positional condition (dropout, a causal mask) guards nothing, nor does a
/// leaky ReLU.
/// The function may be behind several mixers; `mixer` is the first one on the way back from the select.
llvm::SmallVector<LostMask> findLostMasks(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace tessera

#endif // TESSERA_IR_AUTODIFF_LOSTMASKS_H
