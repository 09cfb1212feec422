//===- Rematerialize.cpp - the driver of `tsr-rematerialize` --------------===//
//
// 1. Find plans of recomputation for `step`, from the fastest to the one with the least memory (`findFrontier`).
// 2. Choose one: the first that fits into the arena, or what the user asked for.
// 3. Fuse GEMMs as `schedule` would without recomputation, so that none is computed with others in one plan and alone
//    in another, which may add in another order.
// 4. Compare it with the least time that any plan needs (`TimeBound`).
// 5. Rewrite `step`, and record the plans in the module.
//
//===----------------------------------------------------------------------===//

#include "ir/program/MemorySettings.h"
#include "ir/program/Program.h"
#include "ir/program/Target.h"
#include "passes/Passes.h"
#include "passes/fusion/Kernels.h"
#include "passes/launch/HorizontalGemms.h"
#include "passes/memory/PlanStorage.h"
#include "passes/rematerialize/Frontier.h"
#include "passes/rematerialize/TimeBound.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

namespace tessera {
#define GEN_PASS_DEF_REMATERIALIZEPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct RematerializePass : tessera::impl::RematerializePassBase<RematerializePass> {
  using Base::Base;
  void runOnOperation() override;
  LogicalResult checkPins(const PinPatterns &pins);
  void recordFrontier(ArrayRef<FrontierPoint> frontier, size_t chosen);
  void recordTimes(double seconds, double bound, double step);
};
} // namespace

/// What is wrong with what the user pinned; empty if nothing is.
static std::string problemOf(const PinPatterns &pins) {
  if (!pins.getContradiction().empty()) return "`" + pins.getContradiction() + "` is to be saved and to be recomputed";
  std::vector<std::string> unmatched = pins.unmatched();
  if (unmatched.empty()) return "";
  std::string problem = "no value of a stack of layers is called `" + unmatched.front() + "`; ";
  if (pins.getNames().empty()) return problem + "the step has no stack of layers (`repeat`) with a backward pass";
  return problem + "those that can be saved or recomputed are " + llvm::join(pins.getNames(), ", ");
}

LogicalResult RematerializePass::checkPins(const PinPatterns &pins) {
  std::string problem = problemOf(pins);
  if (problem.empty()) return success();
  getOperation()->setAttr(attrs::problem, StringAttr::get(&getContext(), problem));
  return getOperation().emitError(problem);
}

/// As `tsr.frontier`: for each point the bytes of the arena, those that are live at most, and the predicted seconds
/// that a step takes longer.
void RematerializePass::recordFrontier(ArrayRef<FrontierPoint> frontier, size_t chosen) {
  Builder builder(&getContext());
  int64_t state = stateBytes(getOperation());
  SmallVector<Attribute> points;
  for (auto [i, point] : llvm::enumerate(frontier)) {
    SmallVector<NamedAttribute> fields{
        builder.getNamedAttr("arena", builder.getI64IntegerAttr(state + point.bytes)),
        builder.getNamedAttr("live", builder.getI64IntegerAttr(state + point.live)),
        builder.getNamedAttr("seconds", builder.getF64FloatAttr(point.seconds)),
    };
    if (i == chosen) fields.push_back(builder.getNamedAttr("chosen", builder.getUnitAttr()));
    points.push_back(builder.getDictionaryAttr(fields));
  }
  getOperation()->setAttr(attrs::frontier, builder.getArrayAttr(points));
}

/// As `tsr.recomputation`.
void RematerializePass::recordTimes(double seconds, double bound, double step) {
  Builder builder(&getContext());
  auto field = [&](StringRef name, double value) {
    return builder.getNamedAttr(name, builder.getF64FloatAttr(std::max(0.0, value)));
  };
  getOperation()->setAttr(
      attrs::recomputation,
      builder.getDictionaryAttr({field("seconds", seconds), field("step", step), field("bound", bound)}));
}

/// Kernels that lost results are other kernels.
static void renameKernels(ModuleOp module) {
  KernelNames names;
  module.walk([&](KernelOp kernel) { names.keep(kernel); });
  module.walk([&](KernelOp kernel) { names.assign(kernel, kernel.getName()); });
}

void RematerializePass::runOnOperation() {
  ModuleOp module = getOperation();
  MemorySettings settings = MemorySettings::of(module);
  auto step = module.lookupSymbol<func::FuncOp>("step");
  RematMode mode = settings.getMode();
  bool isAsked = settings.hasPins() || findsFrontier ||
                 (mode == RematMode::Auto ? settings.arena.has_value() : mode != RematMode::None);
  if (!step || hasShadow(module) || !isAsked) return;
  FailureOr<Target> target = Target::read(module);
  if (failed(target)) return signalPassFailure();
  OpTimes times(*target, threads > 0 ? threads : 1);
  if (target->fusesGemms && failed(fuseGemmsEarly(step, stateBytes(module)))) return signalPassFailure();

  PinPatterns pins(step, settings.saved, settings.recomputed);
  if (mode == RematMode::Layer || mode == RematMode::Sqrt) {
    RecomputePlan plan = uniformPlan(step, pins, times, mode == RematMode::Sqrt);
    if (failed(checkPins(pins))) return signalPassFailure();
    applyPlan(step, plan);
    return renameKernels(module);
  }
  std::vector<FrontierPoint> frontier = findFrontier(step, pins, times);
  if (failed(checkPins(pins))) return signalPassFailure();
  // If none fits, the one with the least memory: what the program needs in all is known after `schedule`.
  size_t chosen = 0;
  int64_t room = settings.arena.value_or(std::numeric_limits<int64_t>::max()) - stateBytes(module);
  if (mode == RematMode::Auto) chosen = firstWithin(frontier, room, step);
  if (settings.arena) {
    // The bound is for the order of ops here: a plan that fits only if ops move is compared with others of its size.
    int64_t live = std::max(room, frontier[chosen].bytes <= room ? 0 : frontier[chosen].live);
    double bound = TimeBound(step, pins, times).secondsWithin(live), whole = 0;
    for (Operation &op : step.getBody().front()) whole += times.secondsOf(&op);
    recordTimes(frontier[chosen].seconds, bound, whole);
  }
  applyPlan(step, frontier[chosen].plan);
  renameKernels(module);
  recordFrontier(frontier, chosen);
}
