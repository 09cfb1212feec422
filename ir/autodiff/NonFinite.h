//===- NonFinite.h - values that may be infinite or NaN -------------------===//
//
// `where(z > 0, sqrt(z), 0)` computes the square root of negative values too. The gradient of the side that is not
// taken is 0, but times the derivative of such a value it would be NaN. Reverse mode asks here which factors of a
// gradient can do that.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_AUTODIFF_NONFINITE_H
#define TESSERA_IR_AUTODIFF_NONFINITE_H

#include "ir/autodiff/ReverseMode.h"

namespace tessera {

/// Whether the result of an op may be infinite or NaN for finite operands of ordinary magnitude: the square root of
/// what may be negative, the quotient by what may be 0, the exponential. Elementwise ops only: sums of products of
/// ordinary magnitude are finite.
bool mayBeNonFinite(mlir::Operation *op);

/// Adds to `nonFinite` the results of an op that may be infinite or NaN, by the op itself or by an operand in the set.
/// Contractions, attentions and repeats end the chain: their results are not added, nor are those of ops that have only
/// operands in `finite`.
void addNonFinite(mlir::Operation *op, ValueSet &nonFinite, mlir::ValueRange finite = {});

} // namespace tessera

#endif // TESSERA_IR_AUTODIFF_NONFINITE_H
