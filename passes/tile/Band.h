//===- Band.h - which elements of a matrix can affect a result ------------===//
//
// A causal attention masks all keys after the query: far from the diagonal, the elements of its matrices affect no
// result. Where that can be proved, they are not computed.
//
// The proof assumes an element beyond a candidate limit (column - row > upper, say). Then comparisons of positions are
// known and selects are decided; the consequences are propagated through the kernels: -inf for a masked score, 0 for
// its exponential. The limit holds if every reduction over columns gets its neutral element and every contraction gets
// 0. Arithmetic is assumed to be finite: 0 · x is 0, and -inf - x is -inf.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_TILE_BAND_H
#define TESSERA_PASSES_TILE_BAND_H

#include "passes/tile/TiledContraction.h"

namespace tessera {

/// lower ≤ column - row ≤ upper; no limit where absent.
struct Band {
  std::optional<int64_t> lower, upper;
};

/// The narrowest band that follows from the comparisons in `ops`: the kernels and contractions of a tile group, in
/// program order.
Band findBand(llvm::ArrayRef<mlir::Operation *> ops, const MatrixAxes &axes);

/// The value of a comparison that is the same for all elements inside the band; none if they differ, or if it does not
/// compare positions.
std::optional<bool> valueInside(const Band &band, CompareOp compare, const MatrixAxes &axes);

} // namespace tessera

#endif // TESSERA_PASSES_TILE_BAND_H
