//===- TileGroups.h - which ops become a tiled op -------------------------===//

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

/// When tiling a group pays off.
struct TileLimits {
  int64_t leastRows;     ///< of a matrix, at least: operands that all rows read are packed for them
  int64_t leastProducts; ///< parallel positions of the batch, at least, if rows are summed: each thread needs one
  int64_t mostBytes;     ///< of an operand that one matrix reads whole, at most (the keys of one head)
};

/// The group around a contraction that computes a matrix; none if the matrix must be stored, or tiling does not pay
/// off.
std::optional<TileGroup> findTileGroup(ContractOp maker, const TileLimits &limits);

} // namespace tessera

#endif // TESSERA_PASSES_TILE_TILEGROUPS_H
