//===- Differentiate.cpp - reverse mode over the block of each gradient ---===//
//
// 1. Take the ops of the block before the gradient; those inside a repeat belong to its adjoint.
// 2. Seed: the gradient of the loss with respect to itself is a `tsr.seed`, not a constant, so that loss scaling
//    (passes/precision/LossScaling.cpp) can multiply it.
// 3. Walk back along what depends on `wrt` (ir/autodiff/ReverseMode.h).
// 4. A value of `wrt` that the loss does not depend on has the gradient 0.
// 5. Warn of selects below which a gradient may be NaN (ir/autodiff/LostMasks.h).
// 6. Last, in all functions: each `tsr.stop` is its operand.
//
//===----------------------------------------------------------------------===//

#include "ir/autodiff/LostMasks.h"
#include "ir/autodiff/ReverseMode.h"
#include "ir/dialect/Attributes.h"
#include "passes/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// 5.
static void warnOfLostMasks(ArrayRef<Operation *> ops, Value loss) {
  ValueSet useful{loss};
  addUseful(ops, useful);
  auto isUseful = [&](Operation *op) {
    return llvm::any_of(op->getResults(), [&](Value result) { return useful.contains(result); });
  };
  SmallVector<Operation *> active = llvm::filter_to_vector(ops, isUseful);
  for (LostMask lost : findLostMasks(active)) {
    StringRef function = lost.function->getName().stripDialect(), mixer = lost.mixer->getName().stripDialect();
    emitWarning(lost.select.getLoc()) << "the gradient of `" << function
                                      << "` may be NaN where its operand is out of its domain, although this "
                                      << "condition does not select it there: `" << mixer
                                      << "`, between the two, mixes elements; keep the operand "
                                      << "in the domain too, as in `where(z > 0, sqrt(where(z > 0, z, 1)), 0)`";
  }
}

static void differentiate(GradientOp gradient) {
  GraphBuilder builder(gradient);
  SmallVector<Operation *> ops; // 1.
  for (Operation &op : llvm::make_range(gradient->getBlock()->begin(), gradient->getIterator())) ops.push_back(&op);
  warnOfLostMasks(ops, gradient.getLoss()); // 5., before the adjoints are among the ops
  Value seed = SeedOp::create(builder, gradient.getLoc(), gradient.getLoss().getType()); // 2.
  ReverseMode reverse(builder, ops, gradient.getWrt());                                  // 3.
  reverse.accumulate(gradient.getLoss(), seed);
  reverse.run();
  for (auto [i, result] : llvm::enumerate(gradient.getGradients())) { // 4.
    Value found = reverse.getGradient(i);
    result.replaceAllUsesWith(found ? found : builder.constant(0, tensorType(result)));
  }
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
    for (GradientOp gradient : gradients) {
      if (!hasGradient(gradient.getLoss())) {
        gradient.emitOpError("expected a loss of float type, got ") << gradient.getLoss().getType();
        return signalPassFailure();
      }
      differentiate(gradient);
    }
    removeStops(getOperation()); // 6.
  }
};
} // namespace
