//===- UnaryFunction.h - the elementwise ops of one operand, as a table ---===//

#ifndef TESSERA_IR_DIALECT_UNARYFUNCTION_H
#define TESSERA_IR_DIALECT_UNARYFUNCTION_H

#include "ir/dialect/GraphBuilder.h"

namespace tessera {

/// What is known of an elementwise op of one operand without an instance of it. TsrElementwise.td says all of it.
struct UnaryFunction {
  /// The op's mnemonic: "exp".
  llvm::StringRef op;
  /// The name of the function in the model language; empty: model files cannot call it.
  llvm::StringRef languageName;
  double (*evaluate)(double x);
  /// The value for a 64-bit integer known at compile time, nothing where it does not fit; null: only for floats.
  std::optional<int64_t> (*evaluateInteger)(int64_t x);
  /// Whether the value is a whole number. Known at compile time, it is an integer in the model language.
  bool roundsToInteger;
  /// Whether tensors of integers may be operands.
  bool takesIntegers;
  bool isDifferentiable, isSmooth;
  /// Bounds between which tests sample the operand: there neither the function nor its derivative is extreme.
  double sampleLow, sampleHigh;
  mlir::Value (*build)(GraphBuilder &builder, mlir::Value x);
};

/// All of them, in the order of their mnemonics.
llvm::ArrayRef<UnaryFunction> unaryFunctions();

/// The function of that name in the model language; null if there is none.
const UnaryFunction *findUnaryFunction(llvm::StringRef name);

} // namespace tessera

#endif // TESSERA_IR_DIALECT_UNARYFUNCTION_H
