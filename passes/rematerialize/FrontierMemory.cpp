//===- FrontierMemory.cpp - a frontier that is found once -----------------===//

#include "passes/rematerialize/FrontierMemory.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace tessera;

const std::vector<FrontierPoint> *FrontierMemory::find(func::FuncOp step) const {
  bool isKnown = known && OperationEquivalence::isEquivalentTo(*known, step, OperationEquivalence::IgnoreLocations);
  return isKnown ? &frontier : nullptr;
}

const std::vector<FrontierPoint> *FrontierMemory::remember(func::FuncOp step, std::vector<FrontierPoint> points) {
  known = step.clone();
  frontier = std::move(points);
  return &frontier;
}
