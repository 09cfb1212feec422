//===- NonFinite.h - values that may be infinite or NaN -------------------===//
//
// `where(z > 0, sqrt(z), 0)` computes the square root of negative values too. The gradient of the side that is not
// taken is 0, but times the derivative of such a value it would be NaN. Reverse mode asks here which factors of a
// gradient can do that.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_AUTODIFF_NONFINITE_H
#define TESSERA_IR_AUTODIFF_NONFINITE_H

#include "ir/dialect/GraphBuilder.h"

namespace tessera {

/// Whether the value can have a gradient: floats can, integers and booleans cannot.
bool hasGradient(mlir::Value value);

/// Whether the result of an op may be infinite or NaN for finite operands of ordinary magnitude: the square root of
/// what may be negative, the quotient by what may be 0, the exponential. Elementwise ops only: sums of products of
/// ordinary magnitude are finite.
bool mayBeNonFinite(mlir::Operation *op);

/// Values that may be infinite or NaN: what an op computes that may be (`mayBeNonFinite`), and whatever is computed
/// from such a value. Contractions, attentions and repeats end the chain: their results are not among them. A region
/// does not: what its arguments stand for is looked at outside of it, and for carried values what the body yields too.
class NonFiniteValues {
public:
  /// A value that is not among them, whatever it is computed from. For one that has not been asked for.
  void exclude(mlir::Value value) { known[value] = false; }
  /// Walks back from the value, as far as that has not been done before.
  bool contains(mlir::Value value);

private:
  llvm::DenseMap<mlir::Value, bool> known;
};

} // namespace tessera

#endif // TESSERA_IR_AUTODIFF_NONFINITE_H
