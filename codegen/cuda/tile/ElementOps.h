//===- ElementOps.h - ops of a tiled kernel that are computed together ------===//
//
// An analysis. Most ops of a kernel become a C++ expression each (Scalars.h). Inside a tile some are computed together,
// because matrix units leave few instructions for an element:
//
// - exp(scale · x - row value), with x perhaps masked by -inf, is a power of two of the scaled difference. The factor
//   is positive, so masking before it or after it is the same.
// - A conversion to a 16-bit type and back is one rounding in f32.
// - A comparison of positions that has one value inside the band is a constant in tiles that its edges do not cross.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CUDA_TILE_ELEMENTOPS_H
#define TESSERA_CODEGEN_CUDA_TILE_ELEMENTOPS_H

#include "passes/kernel/KernelPlan.h"
#include "passes/tile/Band.h"

namespace tessera::cuda {

/// exp(scale · (mask ? x : -inf) - down)
struct TileExponential {
  mlir::Value x, down;
  mlir::Value mask;     ///< null if there is none
  bool selectsX = true; ///< where the mask is true
  double scale = 1;     ///< positive and finite, also in f32
};

struct ElementOps {
  llvm::DenseMap<mlir::Value, TileExponential> exponentials; ///< by result
  /// f32 value that has been converted to a 16-bit type and back → the value before, or an argument of that type.
  llvm::DenseMap<mlir::Value, mlir::Value> roundings;
  llvm::DenseMap<mlir::Value, bool> insideBand; ///< comparisons that have one value there

  /// `isRowValue`: whether a value is the same for all elements of a row.
  static ElementOps of(const KernelPlan &plan, const Band &band, const MatrixAxes &axes,
                       llvm::function_ref<bool(mlir::Value)> isRowValue);

  /// The values that the code of `item` reads.
  llvm::SmallVector<mlir::Value> operandsOf(mlir::Value item) const;
  /// The values that the code of an exponential's argument reads.
  static llvm::SmallVector<mlir::Value> argumentsOf(const TileExponential &exponential);
};

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_TILE_ELEMENTOPS_H
