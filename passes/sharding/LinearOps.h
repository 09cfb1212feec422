//===- LinearOps.h - ops that commute with a sum --------------------------===//
//
// A sum over ranks commutes with linear ops. LateReductions.h delays sums behind them, and the search for a sharding
// knows it (search/DelayedSums.h).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_LINEAROPS_H
#define TESSERA_PASSES_SHARDING_LINEAROPS_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// The operands in which an op of floating point is linear, if all of them are sums with the same number of terms: what
/// it computes of the sums is the sum of what it computes of the terms. Empty if it is not linear.
llvm::SmallVector<mlir::Value, 2> summedOperands(mlir::Operation *op);

/// Whether all elements are zero, as far as that is easily seen.
bool isKnownZero(mlir::Value value);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_LINEAROPS_H
