//===- SharedTiles.h - operands of a tiled op in shared memory --------------===//

#ifndef TESSERA_CODEGEN_CUDA_TILE_SHAREDTILES_H
#define TESSERA_CODEGEN_CUDA_TILE_SHAREDTILES_H

#include "codegen/cuda/tile/TileScope.h"

namespace tessera::cuda {

/// The operands that have other lines, in shared memory a tile at a time.
///
/// A tile is copied to shared memory without going through registers. With two stages, the next tile is copied while
/// the current one is used: there is one barrier for each tile, and after it the current tile is complete, and no
/// thread reads the tile that will be overwritten.
class SharedTiles {
public:
  SharedTiles(TileScope &scope, const TilePlan &plan) : scope(scope), plan(plan) {}

  void declare();
  /// The loop over the tiles of other lines that the band leaves, with the copies of the operands in `loaded`.
  void openLoop(bool isFirstSweep, llvm::ArrayRef<mlir::Value> loaded);
  void closeLoop();

  /// The shared memory of an operand.
  std::string nameOf(mlir::Value operand) const { return names.lookup(operand); }
  /// Where its current tile starts, followed by ` + `; empty if that is 0.
  std::string startOf(mlir::Value operand) const;

private:
  /// The other lines of a block: from `first` to before `end`, as expressions.
  struct LineRange {
    std::string first, end;
  };
  LineRange linesInBand() const;
  void startCopies(llvm::ArrayRef<mlir::Value> operands, llvm::StringRef firstLine, bool toNextStage = false);
  void startCopy(mlir::Value operand, llvm::StringRef firstLine, llvm::StringRef start);
  int64_t elementsOfTile(mlir::Value operand) const;

  TileScope &scope;
  const TilePlan &plan;
  llvm::DenseMap<mlir::Value, std::string> names; ///< by operand
  std::string stage;                              ///< the number of the stage that the current tile is in
};

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_TILE_SHAREDTILES_H
