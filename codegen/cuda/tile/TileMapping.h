//===- TileMapping.h - sizes of the tiles of a tiled op's launches ----------===//

#ifndef TESSERA_CODEGEN_CUDA_TILE_TILEMAPPING_H
#define TESSERA_CODEGEN_CUDA_TILE_TILEMAPPING_H

#include "passes/tile/TiledContraction.h"

namespace tessera::cuda {

/// The tiles of one launch. Each block *owns* some lines of the matrices, rows or columns, and iterates over the
/// *other* lines, a tile at a time. A warp has 16 own lines.
struct TileMapping {
  bool ownsRows = true;
  int64_t ownLines = 64;   ///< of a block
  int64_t otherLines = 64; ///< of a tile
  int64_t stages = 2; ///< tiles of an operand in shared memory: the current one, and the next one while it is copied
  int64_t blocks = 1;
  int64_t residentBlocks = 2; ///< blocks whose registers fit on a multiprocessor

  int64_t threads() const { return ownLines / 16 * 32; }
};

/// The mappings of the launches that a tiled op needs, in their order.
llvm::SmallVector<TileMapping> tileMappings(TiledOp op, const MatrixAxes &axes);

/// Elements of a line of `extent` elements in fragments, which are 16 wide.
inline int64_t paddedExtent(int64_t extent) { return llvm::alignTo(extent, 16); }
/// Elements from one line to the next in shared memory. The padding avoids bank conflicts.
inline int64_t sharedLineStride(int64_t extent) { return paddedExtent(extent) + 8; }

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_TILE_TILEMAPPING_H
