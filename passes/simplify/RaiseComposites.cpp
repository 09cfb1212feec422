//===- RaiseComposites.cpp - softmax, layer norm, cross entropy -----------===//
//
//   softmax        exp(x - c) / sum(exp(x - c))              c: anything constant along the axis, usually the maximum
//   layer_norm     (x - mean x) rsqrt(mean((x - mean x)^2) + epsilon)
//   cross_entropy  log(sum(exp(x - c))) + c - x[axis = label], and -(log softmax x)[axis = label]
//
// Guards against rows that are -inf throughout are looked through: the composites have their own. Canonical forms come
// from the arithmetic patterns: division by a constant is a product, by a square root a product with rsqrt, a square
// the product `x * x`.
//
//===----------------------------------------------------------------------===//

#include "passes/simplify/Match.h"
#include <limits>

using namespace mlir;
using namespace tessera;

namespace {

/// e / sum(e), or e * (1 / sum(e)).
template <typename OpT> struct RaiseSoftmax : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    for (auto [weights, total] : candidates(op)) {
      auto sum = matchExponentialSum(withoutGuard(total, 0));
      if (!sum || sum->exponentials != weights || sum->x.getType() != op.getType()) continue;
      auto softmax = SoftmaxOp::create(rewriter, op.getLoc(), tensorType(op), sum->x, sum->axis);
      softmax->setDiscardableAttrs(op->getDiscardableAttrDictionary());
      rewriter.replaceOp(op, softmax);
      return success();
    }
    return failure();
  }

  /// Pairs (numerator, denominator).
  static SmallVector<std::pair<Value, Value>> candidates(DivOp op) { return {{op.getLhs(), op.getRhs()}}; }
  static SmallVector<std::pair<Value, Value>> candidates(MulOp op) {
    SmallVector<std::pair<Value, Value>> found;
    for (auto [weights, inverse] : bothOrders(op))
      if (auto div = inverse.template getDefiningOp<DivOp>(); div && isConstant(div.getLhs(), 1))
        found.push_back({weights, div.getRhs()});
    return found;
  }
};

/// Starts from rsqrt(variance + epsilon); products of it with the centred values become the normalised result.
struct RaiseLayerNorm : OpRewritePattern<RsqrtOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RsqrtOp op, PatternRewriter &rewriter) const override {
    auto add = op.getX().getDefiningOp<AddOp>();
    if (!add) return failure();
    for (auto [variance, shift] : bothOrders(add)) {
      std::optional<double> epsilon = constantNumber(shift);
      std::optional<MatchedReduction> mean = matchMean(variance);
      if (epsilon && mean) return raise(op, *mean, *epsilon, rewriter);
    }
    return failure();
  }

  static LogicalResult raise(RsqrtOp op, MatchedReduction variance, double epsilon, PatternRewriter &rewriter) {
    auto square = variance.x.getDefiningOp<MulOp>();
    if (!square || square.getLhs() != square.getRhs()) return failure();
    auto centred = square.getLhs().getDefiningOp<SubOp>();
    if (!centred) return failure();
    std::optional<MatchedReduction> mean = matchMean(centred.getRhs());
    if (!mean || mean->x != centred.getLhs() || mean->over != variance.over) return failure();

    SmallVector<std::pair<MulOp, Value>> products = normalised(op, centred);
    if (products.empty()) return failure();
    // At the rsqrt both x and everything that the matched ops read are defined.
    PatternBuilder b(rewriter, op);
    Value x = mean->x;
    auto norm = LayerNormOp::create(rewriter, op.getLoc(), x.getType(), op.getType(), x, b.strings(variance.over),
                                    APFloat(epsilon));
    for (auto [product, gain] : products) {
      if (!gain) norm->setDiscardableAttrs(product->getDiscardableAttrDictionary());
      rewriter.setInsertionPoint(product);
      PatternBuilder at(rewriter, product);
      rewriter.replaceOp(product, gain ? at.mul(norm.getResult(), gain) : norm.getResult());
    }
    rewriter.replaceOp(op, norm.getRstd());
    return success();
  }

  /// Products centred * rstd, and centred * (rstd * gain) with their gain.
  static SmallVector<std::pair<MulOp, Value>> normalised(RsqrtOp rstd, SubOp centred) {
    SmallVector<std::pair<MulOp, Value>> found;
    for (Operation *user : centred->getUsers()) {
      auto product = dyn_cast<MulOp>(user);
      if (!product || product.getType() != centred.getType()) continue;
      for (auto [a, factor] : bothOrders(product)) {
        if (a != centred.getResult()) continue;
        if (factor == rstd.getResult()) found.push_back({product, Value()});
        auto scaled = factor.getDefiningOp<MulOp>();
        if (!scaled) continue;
        for (auto [inner, gain] : bothOrders(scaled))
          if (inner == rstd.getResult()) found.push_back({product, gain});
      }
    }
    // Uses are listed newest first, and a product that uses both sides twice; keep one of each, in program order.
    llvm::sort(found, [](auto &a, auto &b) { return a.first->isBeforeInBlock(b.first); });
    found.erase(llvm::unique(found, [](auto &a, auto &b) { return a.first == b.first; }), found.end());
    return found;
  }
};

/// log(sum(exp(x - c))) + c, and without c where none was taken off.
struct LogSumExp {
  Value x;
  StringRef axis;
};

static std::optional<LogSumExp> matchLogSumExp(Value value) {
  auto matchLog = [](Value v) -> std::optional<ExponentialSum> {
    auto log = v.getDefiningOp<LogOp>();
    return log ? matchExponentialSum(log.getX()) : std::nullopt;
  };
  if (auto plain = matchLog(value)) return LogSumExp{plain->exponentials.getDefiningOp<ExpOp>().getX(), plain->axis};
  auto add = value.getDefiningOp<AddOp>();
  if (!add) return std::nullopt;
  for (auto [log, shift] : bothOrders(add))
    if (auto sum = matchLog(log); sum && sum->shift == shift) return LogSumExp{sum->x, sum->axis};
  return std::nullopt;
}

/// The label, where `value` reads `x` at one position along the axis, the same for all other axes.
static Value matchPick(Value value, Value x, StringRef axis) {
  auto gather = value.getDefiningOp<GatherOp>();
  if (!gather || gather.getX() != x || gather.getIndices().size() != 1 || names(gather.getAxes())[0] != axis) return {};
  Value label = gather.getIndices()[0];
  return tensorType(label).hasAxis(axis) ? Value() : label;
}

static Value createCrossEntropy(PatternRewriter &rewriter, Operation *op, Value x, Value label, StringRef axis) {
  Type type = op->getResult(0).getType();
  auto loss = CrossEntropyOp::create(rewriter, op->getLoc(), type, type, type, x, label, axis);
  loss->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return loss.getLoss();
}

/// lse - x[label], and log(sum(exp(x - c))) + (c - x[label]) in other groupings.
struct RaiseCrossEntropy : OpRewritePattern<SubOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SubOp op, PatternRewriter &rewriter) const override {
    auto lse = matchLogSumExp(op.getLhs());
    if (!lse) return failure();
    Value label = matchPick(op.getRhs(), lse->x, lse->axis);
    if (!label) return failure();
    rewriter.replaceOp(op, createCrossEntropy(rewriter, op, lse->x, label, lse->axis));
    return success();
  }
};

/// log + (c - x[label]), where the log lacks its c: grouped as (log + c) - x[label].
struct RegroupCrossEntropy : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    for (auto [log, rest] : bothOrders(op)) {
      auto logOp = log.getDefiningOp<LogOp>();
      auto difference = rest.getDefiningOp<SubOp>();
      if (!logOp || !difference) continue;
      auto sum = matchExponentialSum(logOp.getX());
      if (!sum || sum->shift != difference.getLhs()) continue;
      Value label = matchPick(difference.getRhs(), sum->x, sum->axis);
      if (!label) continue;
      rewriter.replaceOp(op, createCrossEntropy(rewriter, op, sum->x, label, sum->axis));
      return success();
    }
    return failure();
  }
};

/// (y - lse(y))[label] = -cross_entropy(y, label)
struct RaisePickedLogSoftmax : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op, PatternRewriter &rewriter) const override {
    auto difference = op.getX().getDefiningOp<SubOp>();
    if (!difference) return failure();
    auto lse = matchLogSumExp(difference.getRhs());
    if (!lse || lse->x != difference.getLhs()) return failure();
    Value label = matchPick(op, op.getX(), lse->axis);
    if (!label) return failure();
    PatternBuilder b(rewriter, op);
    rewriter.replaceOp(op, b.neg(createCrossEntropy(rewriter, op, lse->x, label, lse->axis)));
    return success();
  }
};

/// A composite does its own shifting: softmax(x - c) = softmax(x); so for cross entropy, if only its loss is read.
template <typename OpT> struct DropShift : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    auto difference = op->getOperand(0).template getDefiningOp<SubOp>();
    if (!difference || difference.getLhs().getType() != difference.getType()) return failure();
    // Only the row's own maximum: it is the shift that the composite takes again.
    auto maximum =
        matchReduction(withoutGuard(difference.getRhs(), -std::numeric_limits<double>::infinity()), ReduceKind::Max);
    if (!maximum || maximum->x != difference.getLhs() || maximum->over != SmallVector<StringRef>{op.getAxis()})
      return failure();
    if (!op->getResults().drop_front().use_empty()) return failure();
    rewriter.modifyOpInPlace(op, [&] { op->setOperand(0, difference.getLhs()); });
    return success();
  }
};

} // namespace

void tessera::addCompositePatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseSoftmax<DivOp>, RaiseSoftmax<MulOp>, RaiseLayerNorm, RaiseCrossEntropy, RegroupCrossEntropy,
               RaisePickedLogSoftmax, DropShift<SoftmaxOp>, DropShift<CrossEntropyOp>>(patterns.getContext());
}
