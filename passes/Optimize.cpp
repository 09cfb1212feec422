//===- Optimize.cpp - expands optimizer updates and clipping --------------===//
//
// 1. Expand every `tsr.clip` (optimizer/Clip.cpp).
// 2. For every `tsr.update` enter the state of its rule (ir/optimizer/OptimizerRules.h) in the state table and thread
//    it through `init`, as zeros, and `step` (state/NewState.h).
// 3. Replace the update by the rule's formula (optimizer/Update.cpp).
//
//===----------------------------------------------------------------------===//

#include "ir/optimizer/OptimizerRules.h"
#include "passes/Passes.h"
#include "passes/optimizer/Optimizer.h"
#include "passes/state/NewState.h"

namespace tessera {
#define GEN_PASS_DEF_OPTIMIZEPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Adds the state of an update: entries `PATH.m` …, zero at first. Returns the arguments of `step` that hold it.
static FailureOr<SmallVector<Value>> addMoments(UpdateOp update, NewState &state) {
  if (update->getParentOp() != state.getStep()) return update.emitOpError("expected in the body of `step`");
  StateOp parameter = state.find(update.getState());
  if (!parameter) return update.emitOpError("no state is called `") << update.getState() << "`";
  const OptimizerRule *rule = findOptimizerRule(update.getRule());
  SmallVector<Value> arguments;
  for (StringRef name : rule->stateNames([&](StringRef irName) { return isArgumentUsed(update, irName); })) {
    std::string path = (update.getState() + "." + name).str();
    if (state.find(path)) return update.emitOpError("two states would be called `") << path << "`";
    arguments.push_back(state.add(path, "moment", update.getGradient().getType(), parameter.getOrderAttr(),
                                  /*initial=*/0, parameter.getLoc()));
  }
  return arguments;
}

namespace {
struct OptimizePass : tessera::impl::OptimizePassBase<OptimizePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<ClipOp> clips;
    SmallVector<UpdateOp> updates;
    module.walk([&](ClipOp op) { clips.push_back(op); });
    module.walk([&](UpdateOp op) { updates.push_back(op); });
    for (ClipOp clip : clips) expandClip(clip); // 1.
    NewState state(module);
    for (UpdateOp update : updates) {
      FailureOr<SmallVector<Value>> old = addMoments(update, state); // 2.
      if (failed(old)) return signalPassFailure();
      state.setResults(expandUpdate(update, *old)); // 3.
    }
    state.finish();
  }
};
} // namespace
