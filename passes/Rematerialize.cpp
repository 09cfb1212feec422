//===- Rematerialize.cpp - the driver of `tsr-rematerialize` --------------===//
//
// 1. Find plans of recomputation for `step`, from the fastest to the one with the least memory (`findFrontier`).
// 2. Choose one: the first that fits into the arena, or what the user asked for.
// 3. Fuse GEMMs as `schedule` would without recomputation, so that none is computed with others in one plan and alone
//    in another, which may add in another order.
// 4. Rewrite `step`, and record the plans in the module.
//
//===----------------------------------------------------------------------===//

#include "ir/program/MemorySettings.h"
#include "ir/program/Program.h"
#include "ir/program/Target.h"
#include "passes/Passes.h"
#include "passes/fusion/Kernels.h"
#include "passes/launch/HorizontalGemms.h"
#include "passes/memory/PlanStorage.h"
#include "passes/rematerialize/FrontierMemory.h"
#include "llvm/ADT/StringExtras.h"

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
  LogicalResult refuse(const std::string &problem);
  LogicalResult checkPins(const PinPatterns &pins);
  const std::vector<FrontierPoint> *findOnce(FrontierMemory &known, func::FuncOp step, PinPatterns &pins,
                                             const OpTimes &times);
  void recordFrontier(ArrayRef<FrontierPoint> frontier, size_t chosen);

  FrontierMemory *memory = nullptr;
};
} // namespace

std::unique_ptr<Pass> tessera::createRematerializePass(RematerializePassOptions options, FrontierMemory *memory) {
  auto pass = std::make_unique<RematerializePass>(std::move(options));
  pass->memory = memory;
  return pass;
}

/// What is wrong with what the user pinned; empty if nothing is.
static std::string problemOf(const PinPatterns &pins) {
  if (!pins.getContradiction().empty()) return "`" + pins.getContradiction() + "` is to be saved and to be recomputed";
  std::vector<std::string> unmatched = pins.unmatched();
  if (unmatched.empty()) return "";
  std::string problem = "no value of a stack of layers is called `" + unmatched.front() + "`; ";
  if (pins.getNames().empty()) return problem + "the step has no stack of layers (`repeat`) with a backward pass";
  return problem + "those that can be saved or recomputed are " + llvm::join(pins.getNames(), ", ");
}

/// An error of the user.
LogicalResult RematerializePass::refuse(const std::string &problem) {
  getOperation()->setAttr(attrs::problem, StringAttr::get(&getContext(), problem));
  return getOperation().emitError(problem);
}

LogicalResult RematerializePass::checkPins(const PinPatterns &pins) {
  std::string problem = problemOf(pins);
  return problem.empty() ? success() : refuse(problem);
}

/// Null after an error: about pins, or because no storage can be planned.
const std::vector<FrontierPoint> *RematerializePass::findOnce(FrontierMemory &known, func::FuncOp step,
                                                              PinPatterns &pins, const OpTimes &times) {
  if (const std::vector<FrontierPoint> *frontier = known.find(step)) return frontier;
  std::vector<FrontierPoint> found = findFrontier(step, pins, times);
  if (failed(checkPins(pins)) || found.empty()) return nullptr;
  return known.remember(step, std::move(found));
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
  if (hasShadow(module)) { // its values are compared with those of `step`, call by call
    bool mustRecompute = settings.hasPins() || mode == RematMode::Layer || mode == RematMode::Sqrt;
    if (mustRecompute && failed(refuse("a program for audits of its precision recomputes nothing; leave out --remat, "
                                       "--save and --recompute, or --audit-precision")))
      signalPassFailure();
    return;
  }
  if (!step || !isAsked) return;
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
  FrontierMemory ofThisRun;
  const std::vector<FrontierPoint> *found = findOnce(memory ? *memory : ofThisRun, step, pins, times);
  if (!found) return signalPassFailure();
  ArrayRef<FrontierPoint> frontier = *found;
  // If none fits, the one with the least memory: what the program needs in all is known after `schedule`.
  size_t chosen = 0;
  int64_t room = settings.arena.value_or(std::numeric_limits<int64_t>::max()) - stateBytes(module);
  if (mode == RematMode::Auto)
    while (chosen + 1 < frontier.size() && frontier[chosen].bytes > room) ++chosen;
  applyPlan(step, frontier[chosen].plan);
  renameKernels(module);
  recordFrontier(frontier, chosen);
}
