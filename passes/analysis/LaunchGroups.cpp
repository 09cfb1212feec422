//===- LaunchGroups.cpp - ops that are executed together ------------------===//

#include "passes/analysis/LaunchGroups.h"
#include "ir/program/Program.h"

using namespace mlir;
using namespace tessera;

bool tessera::isSameLaunch(Operation *op, Operation *other) {
  auto number = op->getAttrOfType<IntegerAttr>(attrs::fusionGroup);
  return number && number == other->getAttr(attrs::fusionGroup) && op->getBlock() == other->getBlock();
}

SmallVector<Operation *> tessera::launchOf(Operation *op) {
  while (op->getPrevNode() && isSameLaunch(op, op->getPrevNode())) op = op->getPrevNode();
  SmallVector<Operation *> ops{op};
  while (op->getNextNode() && isSameLaunch(op, op->getNextNode())) ops.push_back(op = op->getNextNode());
  return ops;
}
