//===- TileGroups.h - which ops run a block of rows at a time ---------------===//

#ifndef TESSERA_PASSES_TILE_TILEGROUPS_H
#define TESSERA_PASSES_TILE_TILEGROUPS_H

#include "passes/tile/Band.h"

namespace tessera {

/// Kernels and contractions of one block that become a tiled op.
struct TileGroup {
  MatrixAxes axes;
  llvm::SmallVector<mlir::Operation *> ops;                    ///< in program order
  llvm::SmallVector<llvm::StringRef> parallelAxes, serialAxes; ///< of the batch
  Band band;
};

/// What makes a group worth running by rows.
struct TileLimits {
  int64_t leastRows;     ///< of a matrix: what is read whole is packed for them
  int64_t leastProducts; ///< parallel batch positions, so that all threads have work, where rows are summed over
  int64_t mostBytes;     ///< of what one product reads whole (the keys of one head)
};

/// The group around a contraction that makes a matrix; none if the matrix must be stored, or would gain nothing.
std::optional<TileGroup> findTileGroup(ContractOp maker, const TileLimits &limits);

} // namespace tessera

#endif // TESSERA_PASSES_TILE_TILEGROUPS_H
