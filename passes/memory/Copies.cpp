//===- Copies.cpp - explicit copies where storage cannot be shared -----------------===//

#include "passes/memory/Copies.h"
#include "ir/program/Program.h"
#include "passes/analysis/LaunchGroups.h"
#include "passes/analysis/StepPasses.h"
#include "passes/analysis/Views.h"
#include "passes/memory/Storage.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tessera;

static Operation *copyAt(OpBuilder &builder, OpOperand &use) {
  Value value = use.get();
  auto copy = ReorderOp::create(builder, use.getOwner()->getLoc(), value.getType(), value);
  if (Operation *op = value.getDefiningOp()) copyUserName(op, copy);
  setStepPass(copy, stepPassOf(value));
  use.set(copy);
  return copy;
}

void tessera::copyBefore(OpOperand &use) {
  OpBuilder builder(launchOf(use.getOwner()).front()); // not between ops that run together
  Operation *copy = copyAt(builder, use);
  setStepPass(copy, std::max(stepPass(copy), stepPass(use.getOwner())));
}

/// Copies early, so that the value's own storage is free for what is yielded in its place.
static void copyAfterDefinition(OpOperand &use) {
  OpBuilder builder(use.getOwner()->getContext());
  builder.setInsertionPointAfterValue(use.get());
  copyAt(builder, use);
}

/// Whether a yielded value can be written to a place of its own: made by an op of the block, as a whole, and not
/// yielded before.
static bool hasOwnStorage(Value value, llvm::DenseSet<Value> &taken) {
  Value root = viewRoot(value);
  return root.getDefiningOp() && coversRoot(value) && taken.insert(root).second;
}

static unsigned copyYields(RepeatOp repeat) {
  unsigned count = 0;
  llvm::DenseSet<Value> taken;
  llvm::DenseSet<unsigned> carryingStacks; // for look-up only
  unsigned carried = repeat.getCarried().size();
  for (unsigned i = 0; i < carried; ++i)
    if (int stack = stackOfCarried(repeat, i); stack >= 0) carryingStacks.insert(stack);
  for (OpOperand &use : repeat.getYield()->getOpOperands()) {
    unsigned i = use.getOperandNumber();
    if (i < carried && use.get() == repeat.getCarriedArgs()[i]) continue;
    if (carryingStacks.contains(i) || hasOwnStorage(use.get(), taken)) continue;
    copyAfterDefinition(use);
    ++count;
  }
  return count;
}

static unsigned copyReturns(func::FuncOp function) {
  unsigned count = 0;
  llvm::DenseSet<Value> taken;
  for (OpOperand &use : function.getBody().front().getTerminator()->getOpOperands()) {
    StringRef path = resultState(function, use.getOperandNumber());
    if (path.empty()) continue;
    auto argument = dyn_cast<BlockArgument>(use.get());
    if (argument && argumentState(function, argument.getArgNumber()) == path) continue;
    if (hasOwnStorage(use.get(), taken)) continue;
    copyAfterDefinition(use);
    ++count;
  }
  return count;
}

unsigned tessera::insertStructuralCopies(func::FuncOp function) {
  unsigned count = copyReturns(function);
  function.walk([&](RepeatOp repeat) { count += copyYields(repeat); });
  return count;
}
