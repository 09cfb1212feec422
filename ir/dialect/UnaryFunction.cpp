//===- UnaryFunction.cpp - the elementwise ops of one operand, as a table -===//

#include "ir/dialect/UnaryFunction.h"

using namespace mlir;
using namespace tessera;

template <typename OpT> static void append(std::vector<UnaryFunction> &functions) {
  if constexpr (OpT::template hasTrait<traits::IsUnaryFunction>())
    functions.push_back({OpT::getOperationName().split('.').second, OpT::languageName, OpT::valueAt,
                         OpT::integerEvaluator(), OpT::roundsToInteger, OpT::takesIntegers,
                         OpT::template hasTrait<AdjointOpInterface::Trait>(), OpT::template hasTrait<traits::Smooth>(),
                         OpT::sampleLow, OpT::sampleHigh,
                         [](GraphBuilder &builder, Value x) { return builder.unary<OpT>(x); }});
}

template <typename... Ops> static std::vector<UnaryFunction> collect() {
  std::vector<UnaryFunction> functions;
  (append<Ops>(functions), ...);
  return functions;
}

ArrayRef<UnaryFunction> tessera::unaryFunctions() {
  static const std::vector<UnaryFunction> functions = collect<
#define GET_OP_LIST
#include "ir/dialect/TsrOps.cpp.inc"
      >();
  return functions;
}

const UnaryFunction *tessera::findUnaryFunction(StringRef name) {
  for (const UnaryFunction &function : unaryFunctions())
    if (!name.empty() && function.languageName == name) return &function;
  return nullptr;
}
