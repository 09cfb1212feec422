//===- Join.h - one contraction for several with a common operand ---------===//
//
// Projections of one input share it: the queries, keys and values of an attention, the gate and the values of a gated
// MLP. Their weights are joined along the feature axis, and one contraction computes all of them:
//
//   q = x · wq, k = x · wk, v = x · wv       [q k v] = x · [wq wk wv]
//   dx = dq · wq + dk · wk + dv · wv          dx = [dq dk dv] · [wq wk wv]      one sum instead of three
//   dwq = dq · x, dwk = dk · x, dwv = dv · x  [dwq dwk dwv] = [dq dk dv] · x
//
// Nothing is copied: the ops that make the parts write them into the joined buffer, and what reads a part reads it
// there (passes/join/Places.h).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_JOIN_JOIN_H
#define TESSERA_PASSES_JOIN_JOIN_H

#include "passes/join/JoinedValues.h"

namespace tessera {

/// Contractions of a block with a common operand become one. Returns how many others that saves.
int64_t joinProducts(mlir::Block &block, JoinedValues &joined);

/// Contractions of a block whose results are added become one, with a longer sum. Returns how many others that saves.
int64_t joinSums(mlir::Block &block, JoinedValues &joined);

/// Where a repeat stacks parts of one value, it stacks the value instead; readers take the parts.
void stackWholes(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_JOIN_JOIN_H
