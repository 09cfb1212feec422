//===- RowWriter.h - row values of a tiled op -------------------------------===//

#ifndef TESSERA_CODEGEN_CUDA_TILE_ROWWRITER_H
#define TESSERA_CODEGEN_CUDA_TILE_ROWWRITER_H

#include "codegen/cuda/tile/TileScope.h"

namespace tessera::cuda {

/// The reductions of the reducing kernel, and what is computed from them: values of the own rows.
///
/// A lane has two own rows, so each of these values is an array of two, with index `h` or `v / 2`. Four lanes share a
/// row: each accumulates its own elements, and they combine their results after the sweep.
class RowWriter {
public:
  RowWriter(TileScope &scope, const TilePlan &plan) : scope(scope), plan(plan), kernel(plan.reducingKernel()) {}

  /// The plan of a sweep of the reducing kernel, without the row values that are known.
  Sweep planSweep(unsigned number) const;

  void declareAccumulators(unsigned number);
  /// The arrays for the elements of a tile whose exponentials are summed: they are added together, so that the sum is
  /// corrected once.
  void declareSoftmaxElements(unsigned number);
  /// In the loop over elements: adds one, `x`, to a reduction, or stores it in the array.
  void accumulate(ReduceOp reduce, const std::string &x);
  void addSoftmaxElements();
  void reduceOverLanes(unsigned number);

  /// The values of the two own rows that are known after `stage` sweeps; after the last one the rows' results.
  void writeStage(unsigned stage);

  /// The online softmax: what it has accumulated of a row, and the elements of the tile, without their common factor.
  std::string runningSoftmax() const { return accumulators.lookup(plan.online->max); }
  std::string softmaxElements() const { return elementArrays.lookup(plan.online->max); }
  void bindOnlineMaximum();
  void reduceOnlineSoftmax();

private:
  using Binding = TileScope::Binding;
  using Multiplicity = TileScope::Multiplicity;

  std::string declareRow();
  void storeResult(unsigned number);

  TileScope &scope;
  const TilePlan &plan;
  const TileKernel *kernel;                                ///< the reducing one; null if there is none
  llvm::MapVector<mlir::Value, std::string> accumulators;  ///< by reduction; a softmax by its maximum
  llvm::MapVector<mlir::Value, std::string> elementArrays; ///< of the current sweep's softmaxes, by maximum
};

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_TILE_ROWWRITER_H
