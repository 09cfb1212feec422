//===- Decompose.cpp - decompositions of composites -----------------------------===//
//
// Forms that neither overflow nor turn a wholly masked row into NaN: exponents
// are taken relative to the row's maximum, and relative to 0 where that is -inf.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/GraphBuilder.h"
#include "mlir/IR/IRMapping.h"
#include <limits>

using namespace mlir;
using namespace tessera;

namespace {
/// The parts that softmax, cross entropy and attention share. Row values lack the axis.
struct Exponentials {
  Value isMasked; ///< whether the row is -inf throughout
  Value shift;    ///< the row's largest number, or 0
  Value weights;  ///< exp(x - shift)
  Value sum;      ///< of the weights; at least 1 in a row that is not masked, else 0
};
} // namespace

static Exponentials exponentials(GraphBuilder &b, Value x, StringRef axis) {
  Type element = tensorType(x).getElementType();
  // A NaN gets into the sum, so the shift need not look for it.
  Value largest = b.reduce(ReduceKind::MaxNum, x, axis), zero = b.scalar(0, element);
  Value isNone = b.compare(Predicate::EQ, largest, b.scalar(-std::numeric_limits<double>::infinity(), element));
  Value shift = b.select(isNone, zero, largest);
  Value weights = b.exp(b.sub(x, shift)), sum = b.sum(weights, axis);
  return {b.compare(Predicate::EQ, sum, zero), shift, weights, sum};
}

/// What the weights are multiplied by; 1 in a masked row, where they are 0.
static Value inverseSum(GraphBuilder &b, const Exponentials &e) {
  Value one = b.scalar(1, tensorType(e.sum).getElementType());
  return b.div(one, b.select(e.isMasked, one, e.sum));
}

SmallVector<Value> SoftmaxOp::decompose(GraphBuilder &b) {
  Exponentials e = exponentials(b, getX(), getAxis());
  return {b.mul(e.weights, inverseSum(b, e))};
}

SmallVector<Value> LayerNormOp::decompose(GraphBuilder &b) {
  SmallVector<StringRef> over = names(getOver());
  Value centred = b.sub(getX(), b.mean(getX(), over));
  Value variance = b.mean(b.mul(centred, centred), over);
  Value rstd = b.rsqrt(b.add(variance, getEpsilon().convertToDouble()));
  return {b.mul(centred, rstd), rstd};
}

SmallVector<Value> CrossEntropyOp::decompose(GraphBuilder &b) {
  Exponentials e = exponentials(b, getLogits(), getAxis());
  // Not lse - picked: where the label's score is the largest by far, large scores would cancel after lse was rounded.
  Value below = b.sub(b.gather(getLogits(), getAxis(), getLabel()), e.shift);
  // Infinite in a row that is -inf throughout: it has no probabilities, and its gradient must be NaN as its loss is.
  Value inverse = b.div(b.scalar(1, tensorType(e.sum).getElementType()), e.sum);
  // Row values have the loss's axes, unless only the label brings some of them.
  auto ofRows = [&](Value value) { return b.broadcast(value, getLoss().getType()); };
  return {b.sub(b.log(e.sum), below), ofRows(e.shift), ofRows(inverse)};
}

Value AttentionOp::inlineRegion(GraphBuilder &b, Region &region, Value x, SmallVectorImpl<Operation *> *ops) {
  if (region.empty()) return x;
  Block &block = region.front();
  IRMapping map;
  map.map(block.getArgument(0), x);
  map.map(block.getArguments().drop_front(), getCaptures());
  for (Operation &inner : block.without_terminator()) {
    Operation *copy = b.clone(inner, map);
    if (ops) ops->push_back(copy);
  }
  return map.lookupOrDefault(block.getTerminator()->getOperand(0));
}

SmallVector<Value> AttentionOp::decompose(GraphBuilder &b) {
  Type element = getShift().getType().getElementType();
  Value scores = inlineRegion(b, getScore(), b.contract(getQ(), getK(), names(getHidden()), element));
  Exponentials e = exponentials(b, scores, getKey());
  Value inverse = inverseSum(b, e), p = b.mul(e.weights, inverse);
  Value weights = b.cast(inlineRegion(b, getWeight(), p), getV().getType().getElementType());
  return {b.contract(weights, getV(), getKey(), getResult().getType().getElementType()), e.shift, inverse};
}
