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
#include "passes/cost/MachineShare.h"
#include "passes/fusion/Kernels.h"
#include "passes/launch/HorizontalGemms.h"
#include "passes/memory/PlanStorage.h"
#include "passes/rematerialize/FrontierMemory.h"
#include "passes/rematerialize/FrontierRecord.h"
#include "passes/rematerialize/TimeBound.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SaveAndRestore.h"
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
  LogicalResult refuse(const std::string &problem);
  LogicalResult checkPins(const PinPatterns &pins);
  const std::vector<FrontierPoint> *findOnce(func::FuncOp step, PinPatterns &pins, const OpTimes &times);
  void recordPlans(func::FuncOp step, const OpTimes &times);
  void listPlans(func::FuncOp step, const Target &target);
  LogicalResult rewrite(func::FuncOp step, const Target &target);
  size_t choose(ArrayRef<FrontierPoint> frontier, int64_t arena, func::FuncOp step, PinPatterns &pins,
                const OpTimes &times);
  void recordTimes(double seconds, double bound, double step);

  FrontierMemory *memory = nullptr; ///< of several runs; null: of this one
};
} // namespace

std::unique_ptr<Pass> tessera::createRematerializePass(RematerializePassOptions options, FrontierMemory *memory) {
  auto pass = std::make_unique<RematerializePass>(std::move(options));
  pass->memory = memory;
  return pass;
}

/// What is wrong with what the user pinned; empty if nothing is.
static std::string problemOf(const PinPatterns &pins) {
  if (!pins.getContradiction().empty())
    return "`" + pins.getContradiction() + "` is named by --save and by --recompute";
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
const std::vector<FrontierPoint> *RematerializePass::findOnce(func::FuncOp step, PinPatterns &pins,
                                                              const OpTimes &times) {
  if (const std::vector<FrontierPoint> *frontier = memory->find(step)) return frontier;
  std::vector<FrontierPoint> found = findFrontier(step, pins, times);
  if (failed(checkPins(pins)) || found.empty()) return nullptr;
  return memory->remember(step, std::move(found));
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

/// The first point that fits into an arena. If none does, the one with the least memory: what the program needs in all
/// is known after `schedule`.
size_t RematerializePass::choose(ArrayRef<FrontierPoint> frontier, int64_t arena, func::FuncOp step, PinPatterns &pins,
                                 const OpTimes &times) {
  int64_t room = arena - stateBytes(getOperation());
  size_t chosen = firstWithin(frontier, room - MemorySettings::of(getOperation()).exchanges, step);
  // The bound is for the order of ops here: a plan that fits only if ops move is compared with others of its size.
  int64_t live = std::max(room, frontier[chosen].live);
  double bound = TimeBound(step, pins, times).secondsWithin(live), whole = 0;
  if (std::isinf(bound)) bound = 0; // none of the order of ops here fits: nothing is known of others
  for (Operation &op : step.getBody().front()) whole += times.secondsOf(&op);
  recordTimes(frontier[chosen].seconds, bound, whole);
  return chosen;
}

/// Where a point that the search did not find has its place, by its memory.
static size_t insertPoint(std::vector<FrontierPoint> &frontier, FrontierPoint point) {
  auto place = llvm::find_if(frontier, [&](const FrontierPoint &other) { return other.bytes < point.bytes; });
  return frontier.insert(place, std::move(point)) - frontier.begin();
}

static bool recomputesAny(const RecomputePlan &plan) {
  return llvm::any_of(plan.blocks, [](const llvm::BitVector &units) { return units.any(); }) ||
         llvm::any_of(plan.pairs, [](const std::vector<LayerSpan> &spans) { return !spans.empty(); });
}

/// Records what the plans would be if there were a budget, and the first is the step as it is.
void RematerializePass::recordPlans(func::FuncOp step, const OpTimes &times) {
  PinPatterns names(step, {}, {});
  const std::vector<FrontierPoint> *found = findOnce(step, names, times);
  if (!found) return;
  std::vector<FrontierPoint> frontier = *found;
  // The fastest plan may recompute what the backward pass computes anyway.
  if (recomputesAny(frontier.front().plan)) frontier.insert(frontier.begin(), measure(step, {}, 0));
  recordFrontier(step, frontier, 0, names, times, pricesValues);
}

/// The same on a copy with fused GEMMs, where the target has them: `step` and its code stay as they are.
void RematerializePass::listPlans(func::FuncOp step, const Target &target) {
  MachineShare share = MachineShare::of(target, std::max<int>(1, threads), ranksOfMachine(getOperation()));
  OpTimes times(share.target, share.threads);
  if (!target.fusesGemms) return recordPlans(step, times);
  ScopedDiagnosticHandler silent(&getContext(), [](Diagnostic &) { return success(); });
  auto copy = cast<func::FuncOp>(OpBuilder(step).clone(*step));
  std::string name = step.getName().str();
  step.setName("step.original"); // so that the copy is the step that a later run rewrites
  if (succeeded(fuseGemmsEarly(copy, stateBytes(getOperation())))) recordPlans(copy, times);
  copy.erase();
  step.setName(name);
}

LogicalResult RematerializePass::rewrite(func::FuncOp step, const Target &target) {
  MachineShare share = MachineShare::of(target, std::max<int>(1, threads), ranksOfMachine(getOperation()));
  OpTimes times(share.target, share.threads);
  MemorySettings settings = MemorySettings::of(getOperation());
  if (target.fusesGemms && failed(fuseGemmsEarly(step, stateBytes(getOperation())))) return failure();
  RematMode mode = settings.getMode();
  PinPatterns pins(step, settings.saved, settings.recomputed);
  std::vector<FrontierPoint> frontier;
  size_t chosen = 0;
  bool isUniform = mode == RematMode::Layer || mode == RematMode::Sqrt;
  if (!isUniform || findsFrontier) {
    const std::vector<FrontierPoint> *found = findOnce(step, pins, times);
    if (!found) return failure();
    frontier = *found;
  }
  if (isUniform) {
    chosen = insertPoint(frontier, findUniform(step, pins, times, mode == RematMode::Sqrt));
    if (failed(checkPins(pins))) return failure();
  }
  if (mode == RematMode::Auto && settings.arena) chosen = choose(frontier, *settings.arena, step, pins, times);
  if (!isUniform || findsFrontier) recordFrontier(step, frontier, chosen, pins, times, pricesValues);
  applyPlan(step, frontier[chosen].plan);
  renameKernels(getOperation());
  return success();
}

void RematerializePass::runOnOperation() {
  ModuleOp module = getOperation();
  MemorySettings settings = MemorySettings::of(module);
  auto step = module.lookupSymbol<func::FuncOp>("step");
  RematMode mode = settings.getMode();
  bool isAsked = settings.hasPins() || (mode == RematMode::Auto ? settings.arena.has_value() : mode != RematMode::None);
  if (hasShadow(module)) { // its values are compared with those of `step`, call by call
    bool mustRecompute = settings.hasPins() || mode == RematMode::Layer || mode == RematMode::Sqrt;
    if (mustRecompute && failed(refuse("a program for audits of its precision recomputes nothing; leave out --remat, "
                                       "--save and --recompute, or --audit-precision")))
      signalPassFailure();
    return;
  }
  if (!step || (!isAsked && !findsFrontier)) return;
  FailureOr<Target> target = Target::read(module);
  if (failed(target)) return signalPassFailure();
  FrontierMemory ofThisRun;
  llvm::SaveAndRestore<FrontierMemory *> known(memory, memory ? memory : &ofThisRun);
  if (!isAsked) return listPlans(step, *target);
  if (failed(rewrite(step, *target))) signalPassFailure();
}
