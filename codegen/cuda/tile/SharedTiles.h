//===- SharedTiles.h - operands of a tiled op in shared memory --------------===//

#ifndef TESSERA_CODEGEN_CUDA_TILE_SHAREDTILES_H
#define TESSERA_CODEGEN_CUDA_TILE_SHAREDTILES_H

#include "codegen/cuda/tile/LineValues.h"

namespace tessera::cuda {

/// The operands that have other lines, in shared memory a tile at a time.
///
/// A tile is copied to shared memory without going through registers. With two stages, the next tile is copied while
/// the current one is used: there is one barrier for each tile, and after it the current tile is complete, and no
/// thread reads the tile that will be overwritten.
class SharedTiles {
public:
  SharedTiles(TileScope &scope, const TilePlan &plan, LineValues &values) : scope(scope), plan(plan), values(values) {}

  void declare();
  /// The loop over the tiles of other lines that the band leaves, with the copies of the operands in `loaded`.
  void openLoop(bool isFirstSweep, llvm::ArrayRef<mlir::Value> loaded);
  /// Stores the values of the next tile's lines, if there are two stages. The matrix products before it take as long as
  /// their loads; after it they need no registers.
  void storeNextLines();
  void closeLoop();

  /// The shared memory of an operand.
  std::string nameOf(mlir::Value operand) const { return names.lookup(operand); }
  /// Where its current tile starts, followed by ` + `; empty if that is 0.
  std::string startOf(mlir::Value operand) const;
  /// The same of values of lines.
  std::string startOfLines() const;

private:
  /// The other lines of a block: from `first` to before `end`, as expressions.
  struct LineRange {
    std::string first, end;
  };
  /// How a tile is copied; `vector` is 0 if it is copied element by element.
  struct CopyShape {
    int64_t vector = 0;             ///< elements that a thread copies at once
    int64_t parts = 0, threads = 0; ///< of a line: vectors, and threads that copy them
    int64_t lines = 0;              ///< at a time
  };
  /// Variables of the thread's part of a copy.
  struct Copy {
    std::string line, part, from;
  };
  LineRange linesInBand() const;
  void openTiles(const LineRange &range);
  CopyShape shapeOf(mlir::Value operand) const;
  void declareCopy(mlir::Value operand);
  void startCopies(llvm::ArrayRef<mlir::Value> operands, llvm::StringRef firstLine, bool toNextStage = false);
  void startCopy(mlir::Value operand, llvm::StringRef firstLine, llvm::StringRef start);
  void copyElements(mlir::Value operand, llvm::StringRef firstLine, llvm::StringRef start);
  int64_t elementsOfTile(mlir::Value operand) const;

  TileScope &scope;
  const TilePlan &plan;
  LineValues &values;
  llvm::DenseMap<mlir::Value, Copy> copies;
  llvm::DenseMap<mlir::Value, std::string> names; ///< by operand
  std::string stage;                              ///< the number of the stage that the current tile is in
};

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_TILE_SHAREDTILES_H
