//===- TiledMatrix.h - the matrices of contractions in tiled ops ----------===//

#ifndef TESSERA_PASSES_TILE_TILEDMATRIX_H
#define TESSERA_PASSES_TILE_TILEDMATRIX_H

#include "ir/dialect/Tsr.h"
#include "llvm/ADT/DenseMap.h"

namespace tessera {

/// The matrices of a tiled op by their axes; without names if no contraction makes or reads one.
struct TiledMatrix {
  llvm::StringRef rows, columns;
  double share = 1;     ///< of its elements, those that are computed: the band, where neither axis is divided
  int64_t launches = 1; ///< each of which computes the matrices
};

/// By contraction, and by attention that is not decomposed yet.
using TiledContractions = llvm::DenseMap<mlir::Operation *, TiledMatrix>;

} // namespace tessera

#endif // TESSERA_PASSES_TILE_TILEDMATRIX_H
