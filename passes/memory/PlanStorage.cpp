//===- PlanStorage.cpp - storage without collisions -----------------------===//

#include "passes/memory/PlanStorage.h"
#include "ir/program/Program.h"
#include "passes/memory/Copies.h"

using namespace mlir;
using namespace tessera;

/// Each round resolves all collisions it finds; copies collide with nothing, so few rounds suffice.
static constexpr int maxRounds = 16;

FailureOr<StoragePlan> tessera::planStorage(func::FuncOp function, unsigned &copies) {
  copies += insertStructuralCopies(function);
  for (int round = 0; round < maxRounds; ++round) {
    StoragePlan plan(function);
    if (plan.getCopies().empty()) return plan;
    copies += plan.getCopies().size();
    for (OpOperand *use : plan.getCopies()) copyBefore(*use);
  }
  return function.emitError("no storage plan after ") << maxRounds << " rounds of copies";
}

int64_t tessera::stateBytes(ModuleOp module) {
  int64_t bytes = 0;
  for (StateOp state : stateTable(module)) bytes += alignedBytes(state.getTensorType().getNumBytes());
  return bytes;
}
