//===- Tsr.h - the tsr dialect --------------------------------------------===//
//
// Training graphs over tensors whose axes have names. See docs/ir.md.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_DIALECT_TSR_H
#define TESSERA_IR_DIALECT_TSR_H

#include "ir/dialect/Interval.h"
#include "ir/dialect/OpTraits.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tessera {
class GraphBuilder;
class Interpreter;
struct TensorValue;
} // namespace tessera

#include "ir/dialect/TsrDialect.h.inc"
#include "ir/dialect/TsrEnums.h.inc"

#include "ir/dialect/Division.h"

#define GET_ATTRDEF_CLASSES
#include "ir/dialect/TsrAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/dialect/TsrTypes.h.inc"

#include "ir/dialect/TsrInterfaces.h.inc"

namespace tessera {
/// Suggests the SSA names %a, %b, … for the arguments of a region. `(%a = %operand : T)` shows their operands.
void nameArguments(mlir::Region &region, mlir::OpAsmSetValueNameFn setName);
} // namespace tessera

#define GET_OP_CLASSES
#include "ir/dialect/TsrOps.h.inc"

namespace tessera {

/// Verifies constraints C1 to C4 of `Tsr_ArithmeticOp`.
llvm::LogicalResult verifyArithmeticOp(mlir::Operation *op);

/// Evaluates an elementwise op at every point of its result, operands broadcast by name. Compiled with the interpreter.
void evaluateElementwise(ElementwiseOpInterface op, llvm::ArrayRef<TensorValue> operands,
                         llvm::MutableArrayRef<TensorValue> results);

/// a - b floor(a / b), which has the sign of `b`.
double floorRemainder(double a, double b);

/// Suggests SSA names for the op's results: the last part of its `tsr.name`.
void nameResults(mlir::Operation *op, mlir::OpAsmSetValueNameFn setName);

/// The type of a value that is known to be a named tensor.
inline NamedTensorType tensorType(mlir::Value value) { return llvm::cast<NamedTensorType>(value.getType()); }

/// Prints the axes as in the text of the type: `[batch: 8, vocab: 50257 of 50264]`.
void printAxes(llvm::raw_ostream &out, NamedTensorType type);

/// Whether the type is one of the fp8 types: e4m3 (without infinities) or e5m2.
inline bool isFp8(mlir::Type type) { return llvm::isa<mlir::Float8E4M3FNType, mlir::Float8E5M2Type>(type); }

/// The largest finite value of a float type.
double largestOf(mlir::Type floatType);

/// The names in an array of string attributes.
llvm::SmallVector<llvm::StringRef> names(mlir::ArrayAttr attr);

} // namespace tessera

#endif // TESSERA_IR_DIALECT_TSR_H
