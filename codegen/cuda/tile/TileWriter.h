//===- TileWriter.h - a launch of a tiled op as CUDA C++ --------------------===//
//
// The generated function, for a block that owns some lines of the matrices and iterates over the other lines
// (docs/ir.md, Tiled ops; TileMapping.h). A tile of a matrix is in the registers of a warp, as fragments, and is not
// stored elsewhere.
//
//   load own operands, as fragments                                       FragmentWriter
//   load values of own lines that kernels read                            LineValues
//   for sweep in sweeps                     as many as the kernel with reductions has, or one
//     for tile of other lines (inside the band; in loops of their own if no edge of it crosses them)
//       copy the other operands of the next tile to shared memory         SharedTiles
//       compute the matrices                                              FragmentWriter
//       compute the kernels, element by element, and their reductions     ElementWriter
//       in the last sweep: accumulate the sums over the other lines       FragmentWriter
//     reduce over the lanes that share a row; values of the row           RowWriter
//                                           (with an online softmax there is one sweep: OnlineSoftmax.h)
//   store row values, and sums
//
// Sums over columns are computed where rows are owned, sums over rows where columns are: a tiled op that has both takes
// two launches, and each computes the matrices. No two blocks write to the same result, so sums need no atomics and
// have one order.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CUDA_TILE_TILEWRITER_H
#define TESSERA_CODEGEN_CUDA_TILE_TILEWRITER_H

#include "codegen/cuda/tile/ElementWriter.h"

namespace tessera::cuda {

class TileWriter {
public:
  /// `alignments`: of the addresses of operands, in bytes.
  TileWriter(const TilePlan &plan, llvm::ArrayRef<int64_t> alignments);

  /// The function's text; fails with a message on an op for which there is no code.
  llvm::FailureOr<std::string> write(llvm::StringRef symbol);
  /// The C++ types of the parameters: operands, then results.
  llvm::ArrayRef<std::string> getParameterTypes() const { return scope.getParameterTypes(); }

private:
  void writeMatrices();
  void writeSweep(unsigned number, unsigned sweeps);
  void writeOnlineSweep();

  const TilePlan &plan;
  TileScope scope;
  LineValues values;
  SharedTiles tiles;
  FragmentWriter fragments;
  RowWriter rows;
  ElementWriter elements;
};

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_TILE_TILEWRITER_H
