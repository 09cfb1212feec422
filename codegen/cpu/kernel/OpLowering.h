//===- OpLowering.h - code of each elementwise op -------------------------===//

#ifndef TESSERA_CODEGEN_CPU_OPLOWERING_H
#define TESSERA_CODEGEN_CPU_OPLOWERING_H

#include "codegen/cpu/builder/CodeBuilder.h"
#include "ir/dialect/Tsr.h"

namespace tessera {

/// Code of an elementwise op at one point or at several lanes. Operands have equal lane counts; booleans are i1. Null
/// if there is no code for the op on this element type.
mlir::Value lowerElementwise(CodeBuilder &code, mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands);

/// Rough cost of an op in vector instructions, to size tiles by.
unsigned instructionEstimate(mlir::Operation *op);

/// sum, larger or smaller of two values, as `reduce` combines them. NaN wins.
mlir::Value combine(CodeBuilder &code, ReduceKind kind, mlir::Value a, mlir::Value b);
/// The value that `combine` leaves other values as they are with.
mlir::Value neutral(CodeBuilder &code, ReduceKind kind, mlir::Type type);

/// Draws of lanes whose global element indices (i64) are `index`; `operands` are seed, step and salts, all scalars. With `calls` one
/// function of the module draws for all.
mlir::Value lowerRandom(CodeBuilder &code, RandomOp op, mlir::Value index, llvm::ArrayRef<mlir::Value> operands,
                        bool calls);

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_OPLOWERING_H
