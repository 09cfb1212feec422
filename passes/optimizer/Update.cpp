//===- Update.cpp - one optimizer step of one parameter -------------------===//
//
// The table of rules has the formula. Here it is guarded: a step whose gradients are not all finite changes neither the
// parameter nor its state.
//
//===----------------------------------------------------------------------===//

#include "ir/optimizer/OptimizerRules.h"
#include "passes/optimizer/Optimizer.h"

using namespace mlir;
using namespace tessera;

SmallVector<Value> tessera::expandUpdate(UpdateOp update, ArrayRef<Value> state) {
  GraphBuilder b(update);
  Operation *previous = update->getPrevNode();
  UpdateResults next = findOptimizerRule(update.getRule())->formula(UpdateInputs(b, update, state));
  // A norm is not negative, so this is false for infinity and for NaN.
  Value infinity = b.scalar(std::numeric_limits<double>::infinity(), update.getNorm().getType().getElementType());
  Value isFinite = b.compare(Predicate::LT, update.getNorm(), infinity);
  update.getResult().replaceAllUsesWith(b.select(isFinite, next.parameter, update.getParameter()));
  SmallVector<Value> guarded;
  for (auto [after, before] : llvm::zip_equal(next.state, state)) guarded.push_back(b.select(isFinite, after, before));
  setStepPassBetween(previous, update, StepPass::Optimizer);
  update.erase();
  return guarded;
}
