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
  ElementWriter(TileScope &scope, const TilePlan &plan, FragmentWriter &fragments, RowWriter &rows)
      : scope(scope), plan(plan), fragments(fragments), rows(rows) {}

  void setMatrix(mlir::Value matrix, std::string element) { matrices[matrix] = std::move(element); }
  /// All kernels, in a sweep. The last one also stores the weights of sums.
  void write(unsigned sweep, bool isLast);
  /// The weights of an online softmax, without the factors that are known at the end only.
  void writeOnlineWeights();

private:
  void openLoop();
  void closeLoop();
  void enter(const TileKernel &kernel);
  void writeKernel(const TileKernel &kernel, unsigned sweep, bool isLast);
  void writeItems(const TileKernel &kernel, const std::optional<Sweep> &sweep);

  TileScope &scope;
  const TilePlan &plan;
  FragmentWriter &fragments;
  RowWriter &rows;
  llvm::DenseMap<mlir::Value, std::string> matrices; ///< by value of the tiled op
  std::string ownLine, otherLine;                    ///< indices of the current element
};

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_TILE_ELEMENTWRITER_H
