//===- FragmentWriter.h - matrix products of a warp, in fragments -----------===//

#ifndef TESSERA_CODEGEN_CUDA_TILE_FRAGMENTWRITER_H
#define TESSERA_CODEGEN_CUDA_TILE_FRAGMENTWRITER_H

#include "codegen/cuda/tile/SharedTiles.h"

namespace tessera::cuda {

/// An element of a matrix, as an expression in the loop over elements.
struct TileElement {
  std::string value;
  std::string sum; ///< in f32, before it is rounded to the type of the matrix; empty if a kernel computes the matrix
};

/// The contractions of a tiled op as matrix products of a warp, whose operands and results are fragments (device
/// header, matrices.cuh). Fragments of own operands and of sums are in registers during the whole launch; those of a
/// matrix, and of what a sum reads of it (the weights), during a tile.
class FragmentWriter {
public:
  FragmentWriter(TileScope &scope, const TilePlan &plan, const SharedTiles &tiles)
      : scope(scope), plan(plan), tiles(tiles) {}

  /// Loads the own operand of a contraction that computes a matrix.
  void loadOwn(const TileContraction &contraction);
  void declareSums();

  /// Computes a tile of a matrix.
  TileElement writeMatrix(const TileContraction &contraction);
  void declareWeights();
  /// Stores an element of each weight that a kernel computes.
  void storeWeights(const TileKernel &kernel);
  /// Adds the products with a tile to a sum.
  void accumulate(const TileContraction &sum);
  /// Multiplies all sums by `scale`, which has a value for each of the two own lines of a lane.
  void scaleSums(llvm::StringRef scale);
  void storeSum(const TileContraction &sum);

private:
  void writeMatrixOfF32(const TileContraction &contraction, llvm::StringRef name);
  void accumulateF32(const TileContraction &sum);

  TileScope &scope;
  const TilePlan &plan;
  const SharedTiles &tiles;
  llvm::DenseMap<mlir::Value, std::string> ownNames, sumNames;
  llvm::DenseMap<mlir::Value, std::string> weights; ///< by the matrix that sums read
};

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_TILE_FRAGMENTWRITER_H
