//===- UnaryFunction.h - the elementwise ops of one operand, as a table ---===//

#ifndef TESSERA_IR_UNARYFUNCTION_H
#define TESSERA_IR_UNARYFUNCTION_H

#include "ir/dialect/GraphBuilder.h"

namespace tessera {

/// What is known of an elementwise op of one operand without an instance of it. TsrElementwise.td says all of it.
struct UnaryFunction {
  /// The op's mnemonic: "exp".
  llvm::StringRef op;
  /// The function's name in the model language; empty: users have none.
  llvm::StringRef languageName;
  double (*evaluate)(double x);
  /// The value for a 64-bit integer known at compile time, nothing where it does not fit; null: only for floats.
  std::optional<int64_t> (*evaluateInteger)(int64_t x);
  /// Whether the value is an integer, and is of that type where it is known at compile time.
  bool roundsToInteger;
  /// Whether tensors of integers are operands too.
  bool takesIntegers;
  bool isDifferentiable, isSmooth;
  /// Where tests sample the function: there neither it nor its derivative is extreme.
  double sampleLow, sampleHigh;
  mlir::Value (*build)(GraphBuilder &builder, mlir::Value x);
};

/// All of them, in the order of their mnemonics.
llvm::ArrayRef<UnaryFunction> unaryFunctions();

/// The function that users call by this name; null if there is none.
const UnaryFunction *findLanguageFunction(llvm::StringRef name);

} // namespace tessera

#endif // TESSERA_IR_UNARYFUNCTION_H
