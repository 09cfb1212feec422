//===- AdjointsComposites.cpp - reverse-mode derivatives of composites ----===//
//
// A composite keeps what its backward pass needs: softmax its result, layer_norm
// its result and rstd, cross_entropy and attention the shift and the inverse sum of the exponentials of each row.
//
//===----------------------------------------------------------------------===//

#include "ir/autodiff/ReverseMode.h"

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

/// The gradient of the elements x of rows along an axis, given those of what is kept of each row, of which one at least
/// is there. With p the probabilities:
///   dx = [x == shift] (dshift + inverseSum dinverseSum) - p inverseSum dinverseSum
static Value gradientOfRowValues(GraphBuilder &b, Value x, StringRef axis, Value p, Value inverseSum, Value dShift,
                                 Value dInverseSum) {
  Value scaled = dInverseSum ? b.mul(inverseSum, dInverseSum) : Value(), dx;
  Value ofLargest = !dShift ? scaled : !scaled ? dShift : b.add(dShift, scaled);
  auto largest = b.reduce(ReduceKind::MaxNum, x, axis).getDefiningOp<ReduceOp>();
  largest.buildAdjoint(b, ofLargest, [](unsigned) { return true; }, [&](unsigned, Value gradient) { dx = gradient; });
  return scaled ? b.sub(dx, b.mul(p, scaled)) : dx;
}

// With exponential = exp(logits - shift):
//   dlogits = exponential (inverseSum dloss) - [position == label] dloss
void CrossEntropyOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed needed, Accumulate accumulate) {
  if (!needed(0)) return;
  NamedTensorType type = getLogits().getType();
  Value exponential = b.exp(b.sub(getLogits(), getShift())), gradient;
  if (d[1] || d[2])
    gradient = gradientOfRowValues(b, getLogits(), getAxis(), b.mul(exponential, getInverseSum()), getInverseSum(),
                                   d[1], d[2]);
  if (d[0]) {
    gradient = addIfAny(b, gradient, b.mul(exponential, b.mul(getInverseSum(), d[0])));
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
///   s = q k             S = score(s, captures)        p = exp(S - shift) inverseSum, 0 in a masked row
///   dv = w dout         dw = dout v                   w = weight(p, captures), else p
///   dp: the weight region differentiated              dS = p (dp - sum(dout out)), and by what is kept of rows
///   ds, dcaptures: the score region differentiated    dq = ds k, dk = ds q
///
/// sum(p dp) = sum(dout out), also with weights, which are multiples of p.
struct AttentionAdjoint {
  GraphBuilder &b;
  AttentionOp op;
  Value dout, dShift, dInverseSum; ///< gradients of the results; null: none
  Needed needed;
  Accumulate accumulate;

  /// `x` times `y`, summed over the axes that `to` lacks.
  Value contractTo(Value x, Value y, Type to) {
    SmallVector<StringRef> over;
    for (AxisAttr axis : b.unite({tensorType(x), tensorType(y)}))
      if (!cast<NamedTensorType>(to).hasAxis(axis.getName())) over.push_back(axis.getName());
    return b.contract(x, y, over);
  }

  Value probabilities(Value scores) { return b.mul(b.exp(b.sub(scores, op.getShift())), op.getInverseSum()); }

  Value scoreGradient(Value scores, Value p, Value dp) {
    Value gradient;
    if (dp) gradient = b.mul(p, b.sub(dp, b.sumTo(b.mul(dout, op.getResult()), op.getShift().getType())));
    if (!dShift && !dInverseSum) return gradient;
    Value ofRows = gradientOfRowValues(b, scores, op.getKey(), p, op.getInverseSum(), dShift, dInverseSum);
    return addIfAny(b, gradient, ofRows);
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

  void build() {
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
    Value ds = flowBack(scores, scoreGradient(scores.result, p, dp), needsScores);
    if (ds && needed(0)) accumulate(0, contractTo(ds, op.getK(), op.getQ().getType()));
    if (ds && needed(1)) accumulate(1, contractTo(ds, op.getQ(), op.getK().getType()));
  }
};
} // namespace

void AttentionOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed needed, Accumulate accumulate) {
  AttentionAdjoint{b, *this, d[0], d[1], d[2], needed, accumulate}.build();
}
