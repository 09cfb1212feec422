//===- AdjointsComposites.cpp - reverse-mode derivatives of composites ----===//
//
// A composite keeps what its backward pass needs: softmax its result, layer_norm
// its result and rstd, cross_entropy and attention the log-sum-exp.
//
//===----------------------------------------------------------------------===//

#include "ir/autodiff/ReverseMode.h"
#include <limits>

using namespace mlir;
using namespace tessera;

using Needed = function_ref<bool(unsigned)>;
using Accumulate = function_ref<void(unsigned, Value)>;

static Value addIfAny(GraphBuilder &b, Value sum, Value term) { return sum ? b.add(sum, term) : term; }

// dx = p (d - sum(p d))
void SoftmaxOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed, Accumulate accumulate) {
  Value p = getResult();
  Value inner = b.sum(b.mul(p, d[0]), getAxis());
  accumulate(0, b.mul(p, b.sub(d[0], inner)));
}

// With y the result and n elements in a row:
//   dx = rstd (dy - mean(dy) - y mean(dy y)) - drstd rstd^2 y / n
void LayerNormOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed, Accumulate accumulate) {
  Value y = getResult(), rstd = getRstd(), dx;
  SmallVector<StringRef> over = names(getOver());
  if (d[0]) {
    Value centred = b.sub(d[0], b.mean(d[0], over));
    dx = b.mul(b.sub(centred, b.mul(y, b.mean(b.mul(d[0], y), over))), rstd);
  }
  if (d[1]) {
    double count = getX().getType().getNumElements() / getRstd().getType().getNumElements();
    Value slope = b.mul(b.mul(d[1], b.mul(rstd, rstd)), -1 / count);
    dx = addIfAny(b, dx, b.mul(y, slope));
  }
  accumulate(0, dx);
}

// dlogits = exp(logits - lse) (dloss + dlse) - [position == label] dloss
void CrossEntropyOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed needed, Accumulate accumulate) {
  if (!needed(0)) return;
  NamedTensorType type = getLogits().getType();
  Value p = b.exp(b.sub(getLogits(), getLse()));
  Value weight = !d[0] ? d[1] : !d[1] ? d[0] : b.add(d[0], d[1]);
  Value gradient = b.mul(p, weight);
  if (d[0]) {
    int64_t size = type.getSize(getAxis());
    Value label = clampIndex(b, getLabel(), size);
    Value position = b.cast(b.index(axis(getContext(), getAxis(), size)), tensorType(label).getElementType());
    Value isLabel = b.compare(Predicate::EQ, position, label);
    gradient = b.sub(gradient, b.select(isLabel, d[0], b.scalar(0, type.getElementType())));
  }
  accumulate(0, b.sumTo(gradient, type));
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {
/// Builds the adjoint of one attention. The scores are computed again; nothing of their size was kept.
///
///   s = q k             S = score(s, captures)        p = exp(S - lse), 0 in a masked row
///   dv = w dout         dw = dout v                   w = weight(p, captures), else p
///   dp: the weight region differentiated              dS = p (dp - sum(dout out) + dlse)
///   ds, dcaptures: the score region differentiated    dq = ds k, dk = ds q
///
/// sum(p dp) = sum(dout out), also with weights, which are multiples of p.
struct AttentionAdjoint {
  GraphBuilder &b;
  AttentionOp op;
  Needed needed;
  Accumulate accumulate;

  /// `x` times `y`, summed over the axes that `to` lacks.
  Value contractTo(Value x, Value y, Type to) {
    SmallVector<StringRef> over;
    for (AxisAttr axis : b.unite({tensorType(x), tensorType(y)}))
      if (!cast<NamedTensorType>(to).hasAxis(axis.getName())) over.push_back(axis.getName());
    return b.contract(x, y, over);
  }

  /// Exponentials of the scores, normalised by the log-sum-exp that was kept.
  Value probabilities(Value scores) {
    Type element = tensorType(scores).getElementType();
    Value lowest = b.scalar(-std::numeric_limits<double>::infinity(), element);
    Value isMasked = b.compare(Predicate::EQ, op.getLse(), lowest);
    return b.select(isMasked, b.scalar(0, element), b.exp(b.sub(scores, op.getLse())));
  }

  Value scoreGradient(Value p, Value dp, Value dout, Value dlse) {
    NamedTensorType rows = op.getLse().getType();
    Value spread;
    if (dp) spread = b.sub(dp, b.sumTo(b.mul(dout, op.getResult()), rows));
    if (dlse) spread = addIfAny(b, spread, dlse);
    return spread ? b.mul(p, spread) : Value();
  }

  /// A region that was inlined.
  struct InlinedRegion {
    Value from, result;
    SmallVector<Operation *> ops;
  };
  InlinedRegion inlined(Region &region, Value x) {
    InlinedRegion out{x, {}, {}};
    out.result = op.inlineRegion(b, region, x, &out.ops);
    return out;
  }

  /// The gradient of what a region started from, given that of its result; null where nothing flows back. Accumulates
  /// those of captures.
  Value flowBack(const InlinedRegion &region, Value gradient, bool wantsStart) {
    if (!gradient || region.result == region.from) return gradient;
    SmallVector<Value> wrt;
    SmallVector<unsigned> operands; // of the attention
    if (wantsStart) wrt.push_back(region.from);
    for (unsigned i = 3; i < op->getNumOperands(); ++i)
      if (needed(i) && !llvm::is_contained(wrt, op->getOperand(i)))
        wrt.push_back(op->getOperand(i)), operands.push_back(i);
    if (wrt.empty()) return {};
    ReverseMode reverse(b, region.ops, wrt);
    reverse.assumeFinite(region.from); // a score, or a probability
    reverse.accumulate(region.result, gradient);
    reverse.run();
    for (auto [i, operand] : llvm::enumerate(operands))
      if (Value ofCapture = reverse.getGradient(i + wantsStart)) accumulate(operand, ofCapture);
    return wantsStart ? reverse.getGradient(0) : Value();
  }

  void build(Value dout, Value dlse) {
    InlinedRegion scores = inlined(op.getScore(), b.contract(op.getQ(), op.getK(), names(op.getHidden())));
    Value p = probabilities(scores.result);
    InlinedRegion weights = inlined(op.getWeight(), p);
    if (dout && needed(2)) accumulate(2, contractTo(weights.result, dout, op.getV().getType()));

    bool needsScores = needed(0) || needed(1);
    bool needsCaptures = false;
    for (unsigned i = 3; i < op->getNumOperands(); ++i) needsCaptures |= needed(i);
    if (!needsScores && !needsCaptures) return;
    Value dw = dout ? contractTo(dout, op.getV(), p.getType()) : Value();
    Value dp = flowBack(weights, dw, true);
    Value ds = flowBack(scores, scoreGradient(p, dp, dout, dlse), needsScores);
    if (ds && needed(0)) accumulate(0, contractTo(ds, op.getK(), op.getQ().getType()));
    if (ds && needed(1)) accumulate(1, contractTo(ds, op.getQ(), op.getK().getType()));
  }
};
} // namespace

void AttentionOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed needed, Accumulate accumulate) {
  AttentionAdjoint{b, *this, needed, accumulate}.build(d[0], d[1]);
}
