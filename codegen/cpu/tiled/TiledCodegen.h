//===- TiledCodegen.h - tiled ops as generated functions ------------------===//

#ifndef TESSERA_CODEGEN_CPU_TILED_TILEDCODEGEN_H
#define TESSERA_CODEGEN_CPU_TILED_TILEDCODEGEN_H

#include "codegen/cpu/tiled/TiledPlan.h"

namespace tessera {

/// Emits a function of type TsrKernel that computes a tiled op. Its arguments are the op's operands, then its results.
/// Kernels in it become functions of their own, with names that begin with `symbol`. Fails with a message on an op.
llvm::LogicalResult emitTiled(mlir::ModuleOp module, llvm::StringRef symbol, TiledPlan &plan,
                              MatrixFunctions &functions, const CpuTarget &target);

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_TILED_TILEDCODEGEN_H
