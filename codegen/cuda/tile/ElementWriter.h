//===- ElementWriter.h - the kernels of a tiled op, element by element ------===//

#ifndef TESSERA_CODEGEN_CUDA_TILE_ELEMENTWRITER_H
#define TESSERA_CODEGEN_CUDA_TILE_ELEMENTWRITER_H

#include "codegen/cuda/tile/FragmentWriter.h"
#include "codegen/cuda/tile/RowWriter.h"

namespace tessera::cuda {

/// The kernels' own code, in a loop over the elements that a lane has of a tile of a matrix.
///
/// These are the elements of FragmentC (device header, matrices.cuh): in own lines `own` and `own` + 8, two consecutive
/// ones of each 8 other lines. A matrix is an expression of such an element.
class ElementWriter {
public:
  ElementWriter(TileScope &scope, const TilePlan &plan, const SharedTiles &tiles, const LineValues &values,
                FragmentWriter &fragments, RowWriter &rows)
      : scope(scope), plan(plan), tiles(tiles), values(values), fragments(fragments), rows(rows) {}

  void setMatrix(mlir::Value matrix, TileElement element) { matrices[matrix] = std::move(element); }
  /// All kernels, in a sweep. The last one also stores the weights of sums.
  void write(unsigned sweep, bool isLast);
  /// The weights of an online softmax, without the factors that are known at the end only.
  void writeOnlineWeights();

private:
  void openLoop();
  void closeLoop();
  void enter(const TileKernel &kernel);
  void writeKernel(const TileKernel &kernel, unsigned sweep, bool isLast);
  llvm::DenseSet<mlir::Value> neededBy(const TileKernel &kernel, llvm::ArrayRef<mlir::Value> roots) const;
  /// Writes what `roots` need.
  void writeItems(const TileKernel &kernel, llvm::ArrayRef<mlir::Value> roots);
  void writeItem(const TileKernel &kernel, mlir::Value item);
  void accumulate(const TileKernel &kernel, ReduceOp reduce);
  const TileElement *matrixOf(const TileKernel &kernel, mlir::Value item) const;
  /// The argument of an exponential before it is scaled, and the exponential of `argument`.
  std::string argumentOf(const TileExponential &exponential) const;
  std::string exponentialOf(const std::string &argument, const TileExponential &exponential) const;

  TileScope &scope;
  const TilePlan &plan;
  const SharedTiles &tiles;
  const LineValues &values;
  FragmentWriter &fragments;
  RowWriter &rows;
  llvm::DenseMap<mlir::Value, TileElement> matrices; ///< by value of the tiled op
  std::string ownLine, otherLine;                    ///< indices of the current element
};

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_TILE_ELEMENTWRITER_H
