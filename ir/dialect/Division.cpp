//===- Division.cpp - how ops are applied to parts of an axis -------------===//

#include "ir/dialect/Tsr.h"

using namespace tessera;
using llvm::StringRef;

/// Of an op that mixes the elements along some axes.
static AxisDivision independentUnless(bool mixes) { return mixes ? AxisDivision::none() : AxisDivision::independent(); }

AxisDivision ContractOp::getDivision(StringRef axis) {
  if (!llvm::is_contained(names(getOver()), axis)) return AxisDivision::independent();
  // The terms in front of the sum would be added once for each part.
  return getInit() || getBias() || getEpilogue() ? AxisDivision::none() : AxisDivision::combined(ReduceKind::Sum);
}

AxisDivision ReduceOp::getDivision(StringRef axis) {
  bool reduces = llvm::is_contained(names(getOver()), axis);
  return reduces ? AxisDivision::combined(getKind()) : AxisDivision::independent();
}

AxisDivision SoftmaxOp::getDivision(StringRef axis) { return independentUnless(getAxis() == axis); }
AxisDivision CrossEntropyOp::getDivision(StringRef axis) { return independentUnless(getAxis() == axis); }
AxisDivision LayerNormOp::getDivision(StringRef axis) {
  return independentUnless(llvm::is_contained(names(getOver()), axis));
}
AxisDivision GatherOp::getDivision(StringRef axis) {
  return independentUnless(llvm::is_contained(names(getAxes()), axis));
}
