//===- TiledLaunches.h - how a GPU computes a tiled op --------------------===//
//
// A block of a launch *owns* some rows of the matrices and goes through their columns, or owns columns and goes through
// rows. Sums over columns are computed by the launch that owns rows, sums over rows by the one that owns columns, and
// each launch computes the matrices anew.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_TILE_TILEDLAUNCHES_H
#define TESSERA_PASSES_TILE_TILEDLAUNCHES_H

#include "passes/kernel/OnlineSoftmax.h"
#include "passes/tile/TiledContraction.h"

namespace tessera {

struct TiledLaunch {
  bool ownsRows = true; ///< else columns
};

/// The launches that a tiled op needs, in their order.
llvm::SmallVector<TiledLaunch, 2> launchesOf(TiledOp tiled, const MatrixAxes &axes);

/// The plan of a kernel in a tiled op: rows and columns are loops of their own.
llvm::FailureOr<KernelPlan> planTiledKernel(KernelOp kernel);

/// The softmax of a launch that takes one sweep although the weights of its sums depend on sums over rows; none if it
/// takes as many as its kernels do.
std::optional<OnlineSoftmax> onlineSoftmaxOf(TiledOp tiled, const MatrixAxes &axes, const TiledLaunch &launch);

} // namespace tessera

#endif // TESSERA_PASSES_TILE_TILEDLAUNCHES_H
