//===- Differentiate.cpp - reverse mode over the block of each gradient ---===//
//
// 1. Take the ops of the block before the gradient; those inside a repeat belong to its adjoint.
// 2. Seed: the gradient of the loss with respect to itself is a `tsr.seed`, not a constant, so that loss scaling
//    (passes/precision/LossScaling.cpp) can multiply it.
// 3. Walk back along what depends on `wrt` (ir/autodiff/ReverseMode.h).
// 4. A value of `wrt` that the loss does not depend on has the gradient 0.
// 5. Warn of selects below which a gradient may be NaN (ir/autodiff/LostMasks.h).
// 6. All that was built, in repeats too, belongs to the backward pass (`tsr.pass`).
// 7. Last, in all functions: each `tsr.stop` is its operand.
//
//===----------------------------------------------------------------------===//

#include "ir/autodiff/LostMasks.h"
#include "ir/autodiff/ReverseMode.h"
#include "ir/dialect/Attributes.h"
#include "ir/program/Program.h"
#include "passes/Passes.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

namespace tessera {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// How a model calls the function, and how it keeps the operand in the domain.
static std::pair<std::string, std::string> nameAndRemedy(Operation *function) {
  std::string name = function->getName().stripDialect().str();
  if (isa<DivOp>(function)) return {"/", "x / where(z > 0, z, 1)"};
  if (isa<ModOp>(function)) return {"%", "x % where(z > 0, z, 1)"};
  if (isa<FloorDivOp>(function)) return {"//", "x // where(z > 0, z, 1)"};
  if (isa<PowOp>(function)) return {"^", "where(z > 0, z, 1)^p"};
  if (isa<ExpOp, Expm1Op>(function)) return {name, name + "(where(z < 80, z, 0))"};
  if (isa<Log1pOp>(function)) return {name, name + "(where(z > -1, z, 0))"};
  return {name, name + "(where(z > 0, z, 1))"};
}

/// 5. `told` holds what was said before, with the line: a function of the model may be called many times.
static void warnOfLostMasks(ArrayRef<Operation *> ops, Value loss, llvm::StringSet<> &told) {
  ValueSet useful{loss};
  addUseful(ops, useful);
  auto isUseful = [&](Operation *op) {
    return llvm::any_of(op->getResults(), [&](Value result) { return useful.contains(result); });
  };
  SmallVector<Operation *> active = llvm::filter_to_vector(ops, isUseful);
  for (LostMask lost : findLostMasks(active)) {
    auto [name, remedy] = nameAndRemedy(lost.function);
    std::string text =
        llvm::formatv("the gradient of `{0}` may be NaN where its operand is out of its domain, although "
                      "this condition does not select it there: `{1}`, between the two, mixes elements",
                      name, lost.mixer->getName().stripDialect());
    Location loc = lost.select.getLoc();
    if (!told.insert(userLine(loc) + text).second) continue;
    InFlightDiagnostic warning = emitWarning(loc) << text;
    warning.getUnderlyingDiagnostic()->getMetadata().emplace_back(StringRef("E0231"));
    warning.attachNote() << "keep the operand in the domain too, as in `" << remedy << "`";
  }
}

static void differentiate(GradientOp gradient, llvm::StringSet<> &told) {
  GraphBuilder builder(gradient);
  SmallVector<Operation *> ops; // 1.
  for (Operation &op : llvm::make_range(gradient->getBlock()->begin(), gradient->getIterator())) ops.push_back(&op);
  warnOfLostMasks(ops, gradient.getLoss(), told); // 5., before the adjoints are among the ops
  Value seed = SeedOp::create(builder, gradient.getLoc(), gradient.getLoss().getType()); // 2.
  ReverseMode reverse(builder, ops, gradient.getWrt());                                  // 3.
  reverse.accumulate(gradient.getLoss(), seed);
  reverse.run();
  for (auto [i, result] : llvm::enumerate(gradient.getGradients())) { // 4.
    Value found = reverse.getGradient(i);
    result.replaceAllUsesWith(found ? found : builder.constant(0, tensorType(result)));
  }
  setStepPassBetween(seed.getDefiningOp(), gradient, StepPass::Backward); // 6.
  gradient.erase();
}

static void removeStops(ModuleOp module) {
  module.walk([](StopOp stop) {
    if (Operation *made = stop.getX().getDefiningOp()) copyUserName(stop, made);
    stop.getResult().replaceAllUsesWith(stop.getX());
    stop.erase();
  });
}

namespace {
struct DifferentiatePass : tessera::impl::DifferentiatePassBase<DifferentiatePass> {
  void runOnOperation() override {
    // In program order: a gradient of a gradient finds the first one already expanded.
    SmallVector<GradientOp> gradients;
    getOperation().walk([&](GradientOp op) { gradients.push_back(op); });
    llvm::StringSet<> told;
    for (GradientOp gradient : gradients) {
      if (!hasGradient(gradient.getLoss())) {
        gradient.emitOpError("expected a loss of float type, got ") << gradient.getLoss().getType();
        return signalPassFailure();
      }
      differentiate(gradient, told);
    }
    removeStops(getOperation()); // 7.
  }
};
} // namespace
