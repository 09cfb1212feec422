//===- Simplify.cpp - the driver of `tsr-simplify` ------------------------===//
//
// 1. Until nothing changes: apply the patterns of simplify/ (arithmetic, broadcasts, axes; composites while there is no
//    backward pass, whose uses would keep the parts alive), eliminate common subexpressions, prune repeats.
// 2. Raise attention, once: where it is nearly matched, a remark says what prevents it.
// 3. Simplify again.
//
//===----------------------------------------------------------------------===//

#include "ir/program/Program.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Passes.h"
#include "passes/simplify/Patterns.h"

namespace tessera {
#define GEN_PASS_DEF_SIMPLIFYPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// More rounds than any program needs; each goes through all patterns to their own fixed point.
static constexpr int maxRounds = 10;

/// Whether there is no backward pass yet: the module is as `parse` left it, or written by hand without a phase.
static bool isBeforeDifferentiate(ModuleOp module) {
  auto phase = module->getAttrOfType<StringAttr>(attrs::phase);
  return !phase || phase == "parse";
}

namespace {
/// The replacement of an op inherits its name, so that dumps and kernels show the user's names. Ops that a pattern
/// creates belong to the pass of the op that it matched, and are exempt from reduced precision if that is.
struct LabelKeeper : RewriterBase::Listener {
  void notifyPatternBegin(const Pattern &, Operation *op) override {
    precision = op->getAttr(attrs::precision), pass = stepPass(op);
  }
  void notifyPatternEnd(const Pattern &, LogicalResult) override { precision = {}, pass = StepPass::Forward; }
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (pass > stepPass(op)) setStepPass(op, pass);
    if (precision && !op->hasTrait<OpTrait::ConstantLike>()) op->setAttr(attrs::precision, precision);
  }
  void notifyOperationReplaced(Operation *op, ValueRange replacement) override {
    Operation *heir = replacement.empty() ? nullptr : replacement.front().getDefiningOp();
    if (heir && !heir->hasTrait<OpTrait::ConstantLike>()) copyUserName(op, heir);
  }

  Attribute precision; ///< of the op that a pattern works on
  StepPass pass = StepPass::Forward;
};
} // namespace

/// More rewrites than any program needs: patterns that undo each other end in an error, not in a loop that fills
/// memory.
static int64_t rewriteBudget(ModuleOp module) {
  int64_t ops = 0;
  module.walk([&](Operation *) { ++ops; });
  return 1000 + 50 * ops;
}

static LogicalResult simplify(ModuleOp module, const FrozenRewritePatternSet &patterns) {
  for (int round = 0; round < maxRounds; ++round) {
    bool isChanged = false;
    LabelKeeper labels;
    GreedyRewriteConfig config;
    config.setListener(&labels);
    config.setUseTopDownTraversal(true);
    config.setMaxNumRewrites(rewriteBudget(module));
    if (failed(applyPatternsGreedily(module, patterns, config, &isChanged)))
      return module.emitError("simplification does not end");
    isChanged |= eliminateCommonSubexpressions(module);
    isChanged |= pruneRepeats(module);
    if (!isChanged) break;
  }
  return success();
}

namespace {
struct SimplifyPass : tessera::impl::SimplifyPassBase<SimplifyPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool raises = isBeforeDifferentiate(module);
    RewritePatternSet patterns(&getContext());
    addArithmeticPatterns(patterns);
    addBroadcastPatterns(patterns);
    addAxisPatterns(patterns);
    if (raises) addCompositePatterns(patterns);
    FrozenRewritePatternSet frozen(std::move(patterns));
    if (failed(simplify(module, frozen))) return signalPassFailure(); // 1.
    if (!raises) return;
    raiseAttention(module);                                    // 2.
    if (failed(simplify(module, frozen))) signalPassFailure(); // 3.
  }
};
} // namespace
