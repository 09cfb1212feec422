//===- BinaryFunction.cpp - the elementwise ops of two operands, as a table ===//

#include "ir/dialect/BinaryFunction.h"

using namespace mlir;
using namespace tessera;

template <typename OpT> static void append(std::vector<BinaryFunction> &functions) {
  if constexpr (OpT::template hasTrait<traits::IsBinaryFunction>())
    functions.push_back({OpT::getOperationName().split('.').second, OpT::languageName, OpT::valueAt, OpT::boundsOf,
                         OpT::takesIntegers, OpT::template hasTrait<AdjointOpInterface::Trait>(), OpT::lhsSampleLow,
                         OpT::lhsSampleHigh, OpT::rhsSampleLow, OpT::rhsSampleHigh, OpT::rhsHasEitherSign,
                         [](GraphBuilder &builder, Value lhs, Value rhs) { return builder.binary<OpT>(lhs, rhs); }});
}

template <typename... Ops> static std::vector<BinaryFunction> collect() {
  std::vector<BinaryFunction> functions;
  (append<Ops>(functions), ...);
  return functions;
}

ArrayRef<BinaryFunction> tessera::binaryFunctions() {
  static const std::vector<BinaryFunction> functions = collect<
#define GET_OP_LIST
#include "ir/dialect/TsrOps.cpp.inc"
      >();
  return functions;
}

const BinaryFunction *tessera::findBinaryFunction(StringRef name) {
  for (const BinaryFunction &function : binaryFunctions())
    if (!name.empty() && function.languageName == name) return &function;
  return nullptr;
}
