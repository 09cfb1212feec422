//===- OpLowering.h - code of each elementwise op -------------------------===//

#ifndef TESSERA_CODEGEN_CPU_KERNEL_OPLOWERING_H
#define TESSERA_CODEGEN_CPU_KERNEL_OPLOWERING_H

#include "codegen/cpu/builder/CodeBuilder.h"
#include "ir/dialect/Tsr.h"

namespace tessera {

/// Emits an elementwise op at one point or at several lanes. Operands have equal lane counts; booleans are i1. Returns
/// null if the op has no code for this element type.
mlir::Value lowerElementwise(CodeBuilder &code, mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands);

/// A rough estimate of an op's cost in vector instructions, for the size of tiles.
unsigned instructionEstimate(mlir::Operation *op);

/// Combines two values as `reduce` does: their sum, maximum or minimum. NaN propagates, except in `maxnum`.
mlir::Value combine(CodeBuilder &code, ReduceKind kind, mlir::Value a, mlir::Value b);
/// The identity of `combine`.
mlir::Value neutral(CodeBuilder &code, ReduceKind kind, mlir::Type type);

/// Draws for lanes whose element indices (i64) are `index`, but for `first`. `operands` are the op's, all scalars.
/// If `isCalled`, one function of the module draws for all such ops.
mlir::Value lowerRandom(CodeBuilder &code, RandomOp op, mlir::Value index, llvm::ArrayRef<mlir::Value> operands,
                        bool isCalled);

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_KERNEL_OPLOWERING_H
