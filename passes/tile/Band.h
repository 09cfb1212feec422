//===- Band.h - which elements of a matrix count ----------------------------===//
//
// A causal attention masks all keys behind the query: far from the diagonal its matrices hold numbers on which nothing
// depends. Where that can be proved, they need not be computed.
//
// The proof assumes an element beyond a candidate limit (column - row > upper, say). Then comparisons of positions are
// known, selects take the side known, and what follows is followed through the kernels: -inf for a masked score, 0 for
// its exponential. The limit holds if every reduction over columns meets its neutral element and every contraction
// meets 0. Arithmetic is taken to be that of finite numbers: 0 · x is 0, and -inf - x is -inf.
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

} // namespace tessera

#endif // TESSERA_PASSES_TILE_BAND_H
