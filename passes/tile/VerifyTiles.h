//===- VerifyTiles.h - what holds of tiled ops -------------------------------===//

#ifndef TESSERA_PASSES_TILE_VERIFYTILES_H
#define TESSERA_PASSES_TILE_VERIFYTILES_H

#include "passes/tile/TiledContraction.h"

namespace tessera {

/// Whether a kernel's loops are the batch, the rows and the columns, vectorised along the columns, so that it can run
/// for any range of rows and columns; and whether it reads matrices only at the current point.
bool runsByRows(KernelOp kernel, const MatrixAxes &axes);

/// Whether an op of a tiled op may read a result of another one: a matrix; or if both are kernels, a row value.
bool mayPass(mlir::Operation *maker, mlir::OpOperand &use, const MatrixAxes &axes);

/// Whether a contraction sums over a batch axis.
bool sumsOver(ContractOp contract, AxisAttr batchAxis);

/// Checks each tiled op by the rules of docs/ir.md.
llvm::LogicalResult verifyTiles(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_TILE_VERIFYTILES_H
