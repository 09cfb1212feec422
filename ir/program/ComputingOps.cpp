//===- ComputingOps.cpp - the ops that compute in kernels -----------------===//

#include "ir/program/ComputingOps.h"
#include "ir/dialect/Tsr.h"

using namespace mlir;
using namespace tessera;

template <typename OpT> static void append(std::vector<ComputingOp> &ops) {
  constexpr bool isElementwise = OpT::template hasTrait<ElementwiseOpInterface::Trait>();
  if constexpr (OpT::template hasTrait<traits::MayBeInKernel>() &&
                (isElementwise || !OpT::template hasTrait<traits::HasNoArithmetic>()))
    ops.push_back({OpT::getOperationName().split('.').second, OpT::template hasTrait<traits::Approximated>()});
}

template <typename... Ops> static std::vector<ComputingOp> collect() {
  std::vector<ComputingOp> ops;
  (append<Ops>(ops), ...);
  return ops;
}

ArrayRef<ComputingOp> tessera::computingOps() {
  static const std::vector<ComputingOp> ops = collect<
#define GET_OP_LIST
#include "ir/dialect/TsrOps.cpp.inc"
      >();
  return ops;
}

const ComputingOp *tessera::findComputingOp(StringRef name) {
  const auto *found = llvm::find_if(computingOps(), [&](const ComputingOp &op) { return op.name == name; });
  return found == computingOps().end() ? nullptr : found;
}
