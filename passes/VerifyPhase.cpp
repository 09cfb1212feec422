//===- VerifyPhase.cpp - what must hold after each phase ------------------===//
//
// First the ops get the marks that follow from the dataflow (`tsr.pass`, passes/analysis/StepPasses.h).
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/GraphBuilder.h"
#include "ir/program/Program.h"
#include "ir/program/VerifyProgram.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "passes/analysis/StepPasses.h"
#include "passes/fusion/VerifyKernels.h"
#include "passes/layout/VerifyLayout.h"
#include "passes/memory/VerifyPlaces.h"
#include "passes/precision/VerifyPrecision.h"
#include "passes/sharding/Sharding.h"
#include "passes/sharding/VerifyExchanges.h"
#include "passes/tile/VerifyTiles.h"

namespace tessera {
#define GEN_PASS_DEF_VERIFYPHASEPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Before `layout` the axes of every type are in canonical order, and none has an allocated size, so that types with
/// equal axes are equal.
static LogicalResult verifyCanonicalAxes(ModuleOp module) {
  AxisOrder order(module);
  auto check = [&](Operation *op, Type type) -> LogicalResult {
    auto tensor = dyn_cast<NamedTensorType>(type);
    if (tensor && !tensor.isDense()) return op->emitOpError("has allocated sizes before layout: ") << tensor;
    if (!tensor || order.isCanonical(tensor)) return success();
    return op->emitOpError("axes of ") << tensor << " are not in canonical order";
  };
  WalkResult result = module.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (failed(check(op, type))) return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Type type : block.getArgumentTypes())
          if (failed(check(op, type))) return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// There is no op of the given types or interfaces.
template <typename... OpTs> static LogicalResult verifyNone(ModuleOp module, StringRef phase) {
  WalkResult result = module.walk([&](Operation *op) {
    if (!isa<OpTs...>(op)) return WalkResult::advance();
    op->emitOpError("must not exist after ") << phase;
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// What a phase introduces does not exist before it.
static LogicalResult verifyBefore(ModuleOp module, int index) {
  auto check = [&](Operation *op, bool isIntroduced, StringRef phase) -> LogicalResult {
    if (!isIntroduced || index >= phaseIndex(phase)) return success();
    return op->emitOpError("must not exist before ") << phase;
  };
  WalkResult result = module.walk([&](Operation *op) {
    bool isAllowed = succeeded(check(op, isa<StartOp, WaitOp>(op), "localize")) &&
                     succeeded(check(op, isa<ReorderOp, JoinOp>(op), "layout")) &&
                     succeeded(check(op, isa<KernelOp>(op), "fuse")) && succeeded(check(op, isa<TiledOp>(op), "tile"));
    return isAllowed ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (index < phaseIndex("schedule") && module->hasAttr(attrs::arena))
    return module.emitError("`tsr.arena` must not exist before schedule");
  return failure(result.wasInterrupted());
}

static LogicalResult verifyAfter(ModuleOp module, StringRef phase) {
  int index = phaseIndex(phase);
  if (index < 0) return module.emitError("unknown phase `") << phase << "`";
  if (failed(verifyProgram(module)) || failed(verifyBefore(module, index))) return failure();
  if (index < phaseIndex("layout") && failed(verifyCanonicalAxes(module))) return failure();
  if (index >= phaseIndex("differentiate") && failed(verifyNone<GradientOp, StopOp>(module, phase))) return failure();
  if (index >= phaseIndex("precision") && index < phaseIndex("layout") && failed(verifyPrecision(module)))
    return failure();
  if (index >= phaseIndex("optimize") && failed(verifyNone<ClipOp, UpdateOp>(module, phase))) return failure();
  ProgramMesh mesh = ProgramMesh::of(module);
  if (index == phaseIndex("partition") && failed(verifyWideForm(module, mesh))) return failure();
  if (index >= phaseIndex("partition") && failed(verifyDividedStates(module, mesh))) return failure();
  if (index >= phaseIndex("localize") && failed(verifyExchanges(module))) return failure();
  if (index >= phaseIndex("layout") && failed(verifyNone<DecomposeOpInterface>(module, phase))) return failure();
  if (index >= phaseIndex("layout") && failed(verifyLayout(module))) return failure();
  if (index >= phaseIndex("fuse") && failed(verifyNone<SeedOp>(module, phase))) return failure();
  if (index >= phaseIndex("fuse") && failed(verifyKernels(module))) return failure();
  if (index >= phaseIndex("tile") && failed(verifyTiles(module))) return failure();
  if (index >= phaseIndex("schedule") && failed(verifyPlaces(module))) return failure();
  return success();
}

namespace {
struct VerifyPhasePass : tessera::impl::VerifyPhasePassBase<VerifyPhasePass> {
  using Base::Base;
  void runOnOperation() override {
    if (phaseIndex(phase) >= phaseIndex("differentiate")) inheritStepPasses(getOperation());
    if (failed(verifyAfter(getOperation(), phase))) return signalPassFailure();
    getOperation()->setAttr(attrs::phase, StringAttr::get(&getContext(), phase));
  }
};
} // namespace
