//===- EvaluateComposites.cpp - softmax, norms, losses, attention ---------===//

#include "ir/interpreter/Interpreter.h"
#include "ir/interpreter/IterationSpace.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;

using Operands = ArrayRef<TensorValue>;
using Results = MutableArrayRef<TensorValue>;

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// `type` without the named axes.
static NamedTensorType dropAxes(NamedTensorType type, ArrayRef<StringRef> drop) {
  return type.withAxes(
      llvm::filter_to_vector(type.getAxes(), [&](AxisAttr a) { return !llvm::is_contained(drop, a.getName()); }));
}

namespace {
struct SoftmaxRows {
  TensorValue weights;
  TensorValue shift, sum; ///< of each row: x's axes without that one
};
} // namespace

static SoftmaxRows softmax(const TensorValue &x, StringRef axis, PartialRounding partial) {
  NamedTensorType rows = dropAxes(x.type, axis);
  TensorValue shift(rows), sum(rows), weights(x.type);
  llvm::fill(shift.data, -infinity);
  IterationSpace space(x.type.getAxes());
  space.add(x.type).add(rows);
  // A NaN gets into the sum.
  space.forEach([&](ArrayRef<int64_t> at) { shift.data[at[1]] = std::fmax(shift.data[at[1]], x.data[at[0]]); });
  // In a row that is -inf throughout the difference would be NaN; its weights are 0.
  for (double &row : shift.data)
    if (row == -infinity) row = 0;
  space.forEach([&](ArrayRef<int64_t> at) {
    double weight = partial(std::exp(partial(x.data[at[0]] - shift.data[at[1]])));
    weights.data[at[0]] = weight;
    sum.data[at[1]] = partial(sum.data[at[1]] + weight);
  });
  space.forEach([&](ArrayRef<int64_t> at) {
    if (sum.data[at[1]] != 0) weights.data[at[0]] /= sum.data[at[1]];
  });
  return {weights, shift, sum};
}

LogicalResult SoftmaxOp::evaluate(Operands operands, Results results, Interpreter &interpreter) {
  PartialRounding partial = interpreter.partialRounding(results[0].type.getElementType());
  results[0] = softmax(operands[0], getAxis(), partial).weights.reordered(results[0].type);
  return success();
}

LogicalResult LayerNormOp::evaluate(Operands operands, Results results, Interpreter &interpreter) {
  const TensorValue &x = operands[0];
  TensorValue &result = results[0], &rstd = results[1];
  PartialRounding partial = interpreter.partialRounding(result.type.getElementType());
  TensorValue mean(rstd.type), variance(rstd.type);
  double count = static_cast<double>(x.type.getNumElements()) / rstd.type.getNumElements();
  IterationSpace space(x.type.getAxes());
  space.add(x.type).add(rstd.type).add(result.type);
  space.forEach([&](ArrayRef<int64_t> at) { mean.data[at[1]] = partial(mean.data[at[1]] + x.data[at[0]]); });
  for (double &value : mean.data) value = partial(value / count);
  space.forEach([&](ArrayRef<int64_t> at) {
    double distance = partial(x.data[at[0]] - mean.data[at[1]]);
    variance.data[at[1]] = partial(variance.data[at[1]] + partial(distance * distance));
  });
  double epsilon = getEpsilon().convertToDouble();
  for (auto [scale, sum] : llvm::zip(rstd.data, variance.data))
    scale = partial(1 / std::sqrt(partial(sum / count) + epsilon));
  space.forEach(
      [&](ArrayRef<int64_t> at) { result.data[at[2]] = partial(x.data[at[0]] - mean.data[at[1]]) * rstd.data[at[1]]; });
  return success();
}

LogicalResult CrossEntropyOp::evaluate(Operands operands, Results results, Interpreter &interpreter) {
  const TensorValue &logits = operands[0], &label = operands[1];
  TensorValue &loss = results[0], &shift = results[1], &inverseSum = results[2];
  PartialRounding partial = interpreter.partialRounding(loss.type.getElementType());
  SoftmaxRows rows = softmax(logits, getAxis(), partial);
  int64_t stride = logits.type.getStrides()[logits.type.findAxis(getAxis())];
  double last = logits.type.getSize(getAxis()) - 1;
  IterationSpace space(loss.type.getAxes());
  space.add(loss.type).add(rows.sum.type).add(logits.type, {getAxis()}).add(label.type);
  space.forEach([&](ArrayRef<int64_t> at) {
    auto position = static_cast<int64_t>(std::clamp<double>(label.data[at[3]], 0, last));
    double sum = rows.sum.data[at[1]];
    shift.data[at[0]] = rows.shift.data[at[1]];
    inverseSum.data[at[0]] = 1 / sum; // infinite in a row that is -inf throughout
    double below = partial(logits.data[at[2] + position * stride] - shift.data[at[0]]);
    loss.data[at[0]] = partial(std::log(sum)) - below;
  });
  return success();
}

/// Sum of products over the named axes, of type `type`.
static TensorValue contract(const TensorValue &a, const TensorValue &b, ArrayRef<StringRef> over, NamedTensorType type,
                            PartialRounding partial) {
  TensorValue result(type);
  SmallVector<AxisAttr> axes(type.getAxes());
  for (StringRef name : over) axes.push_back(a.type.getAxes()[a.type.findAxis(name)]);
  IterationSpace space(axes);
  space.add(type).add(a.type).add(b.type).forEach([&](ArrayRef<int64_t> at) {
    result.data[at[0]] = partial(result.data[at[0]] + partial(a.data[at[1]] * b.data[at[2]]));
  });
  return result;
}

LogicalResult AttentionOp::evaluate(Operands operands, Results results, Interpreter &interpreter) {
  const TensorValue &q = operands[0], &k = operands[1], &v = operands[2];
  PartialRounding partial = interpreter.partialRounding(results[0].type.getElementType());
  // What a region makes of a tensor and the captures.
  auto changed = [&](Region &region, TensorValue x) -> FailureOr<TensorValue> {
    if (region.empty()) return x;
    interpreter.round(x);
    SmallVector<TensorValue> arguments{std::move(x)};
    llvm::append_range(arguments, operands.drop_front(3));
    FailureOr<SmallVector<TensorValue>> yielded = interpreter.runBlock(region.front(), arguments);
    if (failed(yielded)) return failure();
    return yielded->front();
  };
  auto score = tensorType(getScore().front().getArgument(0));
  FailureOr<TensorValue> scores = changed(getScore(), contract(q, k, names(getHidden()), score, partial));
  if (failed(scores)) return failure();
  SoftmaxRows rows = softmax(*scores, getKey(), partial);
  FailureOr<TensorValue> weights = changed(getWeight(), rows.weights);
  if (failed(weights)) return failure();
  results[0] = contract(*weights, v, getKey(), results[0].type, partial);
  results[1] = rows.shift.reordered(results[1].type);
  for (double &sum : rows.sum.data) sum = sum == 0 ? 1 : 1 / sum;
  results[2] = rows.sum.reordered(results[2].type);
  return success();
}
