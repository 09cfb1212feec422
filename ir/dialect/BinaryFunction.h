//===- BinaryFunction.h - the elementwise ops of two operands, as a table -===//

#ifndef TESSERA_IR_DIALECT_BINARYFUNCTION_H
#define TESSERA_IR_DIALECT_BINARYFUNCTION_H

#include "ir/dialect/GraphBuilder.h"

namespace tessera {

/// What is known of an arithmetic op of two operands without an instance of it. It follows from TsrElementwise.td.
struct BinaryFunction {
  /// The op's mnemonic: "max".
  llvm::StringRef op;
  /// The name of the function in the model language; empty: model files cannot call it.
  llvm::StringRef languageName;
  double (*evaluate)(double lhs, double rhs);
  /// Bounds of integer results.
  std::optional<Interval> (*boundsOf)(Interval lhs, Interval rhs);
  /// Whether tensors of integers may be operands.
  bool takesIntegers;
  bool isDifferentiable;
  /// Bounds between which tests sample the operands; if `rhsHasEitherSign`, of the magnitude of the right one.
  double lhsSampleLow, lhsSampleHigh, rhsSampleLow, rhsSampleHigh;
  bool rhsHasEitherSign;
  mlir::Value (*build)(GraphBuilder &builder, mlir::Value lhs, mlir::Value rhs);
};

/// All of them, in the order of their mnemonics.
llvm::ArrayRef<BinaryFunction> binaryFunctions();

/// The function of that name in the model language; null if there is none.
const BinaryFunction *findBinaryFunction(llvm::StringRef name);

} // namespace tessera

#endif // TESSERA_IR_DIALECT_BINARYFUNCTION_H
