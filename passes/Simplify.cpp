//===- Simplify.cpp - fold, merge, drop; raise mathematics to composites --===//
//
// Before:
//
//   %t = tsr.reduce max %x over ["key"]
//   %d = tsr.sub %x, %t
//   %e = tsr.exp %d
//   %s = tsr.reduce sum %e over ["key"]
//   %p = tsr.div %e, %s
//
// After:
//
//   %p = tsr.softmax %x over "key"
//
//   1. Until nothing changes: rewrite by the patterns of simplify/ (arithmetic, broadcasts, axes; composites while the
//      program has no backward pass, whose use of the parts would keep them alive); merge equal ops; prune repeats.
//   2. Raise attention, once: what stands in its way gets a remark.
//   3. Simplify again what that left.
//
// Postcondition: no dead op, no two equal ops in a block, no constant under an op that folds.
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

/// Whether the forward pass still stands alone.
static bool isBeforeDifferentiate(ModuleOp module) {
  auto phase = module->getAttrOfType<StringAttr>(attrs::phase);
  return !phase || phase == "parse";
}

namespace {
/// What replaces an op takes its name over, so that dumps and kernels speak the user's language. What a pattern makes stays in
/// f32 if the op that it matched does.
struct LabelKeeper : RewriterBase::Listener {
  void notifyPatternBegin(const Pattern &, Operation *op) override { keep = op->getAttr(attrs::keep); }
  void notifyPatternEnd(const Pattern &, LogicalResult) override { keep = {}; }
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (keep && !op->hasTrait<OpTrait::ConstantLike>()) op->setAttr(attrs::keep, keep);
  }
  void notifyOperationReplaced(Operation *op, ValueRange replacement) override {
    Operation *heir = replacement.empty() ? nullptr : replacement.front().getDefiningOp();
    if (heir && !heir->hasTrait<OpTrait::ConstantLike>()) copyUserName(op, heir);
  }

  Attribute keep; ///< of the op that a pattern works on
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
