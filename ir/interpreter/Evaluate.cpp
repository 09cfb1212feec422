//===- Evaluate.cpp - sources, contraction, reduction, axis ops -----------===//

#include "ir/dialect/Attributes.h"
#include "ir/dialect/Gelu.h"
#include "ir/interpreter/Interpreter.h"
#include "ir/interpreter/IterationSpace.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;

using Operands = ArrayRef<TensorValue>;
using Results = MutableArrayRef<TensorValue>;

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::evaluate(Operands, Results results, Interpreter &) {
  llvm::fill(results[0].data, getNumber());
  return success();
}

LogicalResult IndexOp::evaluate(Operands, Results results, Interpreter &) {
  for (auto [i, value] : llvm::enumerate(results[0].data)) value = i;
  return success();
}

LogicalResult SeedOp::evaluate(Operands, Results results, Interpreter &) {
  results[0].data[0] = 1;
  return success();
}

//===----------------------------------------------------------------------===//
// Contraction, reduction, broadcast
//===----------------------------------------------------------------------===//

/// The axes of `type` that `names` lists.
static SmallVector<AxisAttr> axesNamed(NamedTensorType type, ArrayAttr list) {
  return llvm::map_to_vector(names(list), [&](StringRef name) { return type.getAxes()[type.findAxis(name)]; });
}

LogicalResult ContractOp::evaluate(Operands operands, Results results, Interpreter &interpreter) {
  const TensorValue &lhs = operands[0], &rhs = operands[1];
  TensorValue &result = results[0];
  // The order of optional operands is init, bias, aux; of bias and aux there is one at most.
  const TensorValue *init = getInit() ? &operands[2] : nullptr;
  const TensorValue *bias = getBias() ? &operands.back() : nullptr;
  const TensorValue *aux = getAux() ? &operands.back() : nullptr;
  TensorValue *extra = getExtra() ? &results[1] : nullptr;
  bool isGelu = getEpilogue() == Epilogue::Gelu;
  if (extra) llvm::fill(extra->data, 0);
  PartialRounding partial = interpreter.partialRounding(result.type.getElementType());

  // The offsets of the pairs that are summed, from the first of them.
  std::vector<std::pair<int64_t, int64_t>> pairs;
  IterationSpace inner(axesNamed(lhs.type, getOver()));
  inner.add(lhs.type).add(rhs.type).forEach([&](ArrayRef<int64_t> at) { pairs.emplace_back(at[0], at[1]); });

  IterationSpace outer(result.type.getAxes());
  outer.add(result.type)
      .add(lhs.type)
      .add(rhs.type)
      .add(bias ? bias->type : result.type)
      .add(init ? init->type : result.type)
      .add(aux ? aux->type : result.type)
      .add(extra ? extra->type : result.type);
  outer.forEach([&](ArrayRef<int64_t> at) {
    double sum = 0;
    for (auto [l, r] : pairs) sum = partial(sum + partial(lhs.data[at[1] + l] * rhs.data[at[2] + r]));
    if (bias) sum = partial(sum + bias->data[at[3]]);
    if (init) sum = partial(sum + init->data[at[4]]);
    if (isGelu && extra) extra->data[at[6]] = sum;
    if (isGelu) sum = gelu(sum);
    if (aux) sum *= geluDerivative(aux->data[at[5]]);
    if (aux && extra) extra->data[at[6]] = partial(extra->data[at[6]] + sum);
    result.data[at[0]] = sum;
  });
  return success();
}

/// Where a reduction starts.
static double neutral(ReduceKind kind, Type elementType) {
  if (kind == ReduceKind::Sum) return 0;
  double largest = isa<FloatType>(elementType) ? std::numeric_limits<double>::infinity()
                                               : std::ldexp(1.0, elementType.getIntOrFloatBitWidth() - 1) - 1;
  return kind == ReduceKind::Min ? largest : -largest;
}

static double combine(ReduceKind kind, double a, double b) {
  if (kind == ReduceKind::Sum) return a + b;
  if (kind == ReduceKind::MaxNum) return std::fmax(a, b);
  if (std::isnan(a) || std::isnan(b)) return a + b;
  return kind == ReduceKind::Max ? std::max(a, b) : std::min(a, b);
}

/// The sum of a power of two terms, neighbours first.
static double treeSum(ArrayRef<double> terms, PartialRounding partial) {
  if (terms.size() == 1) return terms.front();
  size_t half = terms.size() / 2;
  return partial(treeSum(terms.take_front(half), partial) + treeSum(terms.drop_front(half), partial));
}

LogicalResult ReduceOp::evaluate(Operands operands, Results results, Interpreter &interpreter) {
  const TensorValue &x = operands[0];
  TensorValue &result = results[0];
  ReduceKind kind = getKind();
  Type type = result.type.getElementType();
  PartialRounding partial = isa<FloatType>(type) ? interpreter.partialRounding(type) : PartialRounding{};
  if ((*this)->hasAttr(attrs::tree)) {
    std::vector<SmallVector<double>> terms(result.data.size());
    IterationSpace space(x.type.getAxes());
    space.add(x.type).add(result.type).forEach([&](ArrayRef<int64_t> at) { terms[at[1]].push_back(x.data[at[0]]); });
    for (auto [sum, ofResult] : llvm::zip(result.data, terms)) sum = treeSum(ofResult, partial);
    return success();
  }
  llvm::fill(result.data, neutral(kind, type));
  IterationSpace space(x.type.getAxes());
  space.add(x.type).add(result.type).forEach([&](ArrayRef<int64_t> at) {
    result.data[at[1]] = partial(combine(kind, result.data[at[1]], x.data[at[0]]));
  });
  return success();
}

/// Reads `x` at every point of the result's axes, by name.
static void copyByName(const TensorValue &x, TensorValue &result) {
  IterationSpace space(result.type.getAxes());
  space.add(result.type).add(x.type).forEach([&](ArrayRef<int64_t> at) { result.data[at[0]] = x.data[at[1]]; });
}

LogicalResult BroadcastOp::evaluate(Operands operands, Results results, Interpreter &) {
  copyByName(operands[0], results[0]);
  return success();
}

LogicalResult ReorderOp::evaluate(Operands operands, Results results, Interpreter &) {
  copyByName(operands[0], results[0]);
  return success();
}

//===----------------------------------------------------------------------===//
// Axis operations: the operand under another type, then a copy by name
//===----------------------------------------------------------------------===//

LogicalResult RenameOp::evaluate(Operands operands, Results results, Interpreter &) {
  TensorValue renamed = operands[0];
  SmallVector<AxisAttr> axes;
  for (AxisAttr axis : renamed.type.getAxes()) {
    StringRef name = axis.getName();
    for (auto [from, to] : llvm::zip(names(getFrom()), names(getTo())))
      if (axis.getName() == from) name = to;
    axes.push_back(AxisAttr::get(getContext(), name, axis.getSize()));
  }
  renamed.type = renamed.type.withAxes(axes);
  copyByName(renamed, results[0]);
  return success();
}

/// `type` with axis `one` replaced, in place, by the axes `many` of `sizes`, major first.
static NamedTensorType splitAxis(NamedTensorType type, StringRef one, SmallVector<AxisAttr> many) {
  SmallVector<AxisAttr> axes;
  for (AxisAttr axis : type.getAxes())
    if (axis.getName() == one)
      axes.append(many.begin(), many.end());
    else
      axes.push_back(axis);
  return type.withAxes(axes);
}

LogicalResult SplitOp::evaluate(Operands operands, Results results, Interpreter &) {
  TensorValue parts = operands[0];
  parts.type = splitAxis(parts.type, getAxis(), axesNamed(results[0].type, getInto()));
  copyByName(parts, results[0]);
  return success();
}

LogicalResult MergeOp::evaluate(Operands operands, Results results, Interpreter &) {
  NamedTensorType type = results[0].type;
  TensorValue parts(splitAxis(type, getInto(), axesNamed(operands[0].type, getAxes())));
  copyByName(operands[0], parts);
  results[0].data = std::move(parts.data);
  return success();
}

/// Elements between one step along the axis.
static int64_t strideAlong(NamedTensorType type, StringRef axis) { return type.getStrides()[type.findAxis(axis)]; }

LogicalResult SliceOp::evaluate(Operands operands, Results results, Interpreter &) {
  const TensorValue &x = operands[0];
  TensorValue &result = results[0];
  int64_t start = getOffset() * strideAlong(x.type, getAxis());
  IterationSpace space(result.type.getAxes());
  space.add(result.type).add(x.type).forEach([&](ArrayRef<int64_t> at) { result.data[at[0]] = x.data[at[1] + start]; });
  return success();
}

LogicalResult PadOp::evaluate(Operands operands, Results results, Interpreter &) {
  const TensorValue &x = operands[0];
  TensorValue &result = results[0];
  int64_t start = getOffset() * strideAlong(result.type, getAxis());
  IterationSpace space(x.type.getAxes());
  space.add(result.type).add(x.type).forEach([&](ArrayRef<int64_t> at) { result.data[at[0] + start] = x.data[at[1]]; });
  return success();
}

LogicalResult JoinOp::evaluate(Operands operands, Results results, Interpreter &) {
  TensorValue &result = results[0];
  for (auto [i, part] : llvm::enumerate(operands)) {
    int64_t start = getStart(i) * strideAlong(result.type, getAxis());
    IterationSpace space(part.type.getAxes());
    space.add(result.type).add(part.type).forEach([&](ArrayRef<int64_t> at) {
      result.data[at[0] + start] = part.data[at[1]];
    });
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Reading and writing at positions
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::evaluate(Operands operands, Results results, Interpreter &) {
  const TensorValue &x = operands[0];
  Operands indices = operands.drop_front();
  TensorValue &result = results[0];
  SmallVector<StringRef> at = names(getAxes());
  IterationSpace space(result.type.getAxes());
  space.add(result.type).add(x.type, at);
  for (const TensorValue &index : indices) space.add(index.type);
  space.forEach([&](ArrayRef<int64_t> offsets) {
    int64_t from = offsets[1];
    for (size_t k = 0; k < at.size(); ++k) {
      double position = indices[k].data[offsets[2 + k]];
      position = std::clamp<double>(position, 0, x.type.getSize(at[k]) - 1);
      from += static_cast<int64_t>(position) * strideAlong(x.type, at[k]);
    }
    result.data[offsets[0]] = x.data[from];
  });
  return success();
}

LogicalResult ScatterAddOp::evaluate(Operands operands, Results results, Interpreter &interpreter) {
  const TensorValue &updates = operands[0];
  Operands indices = operands.slice(1, getIndices().size());
  TensorValue &result = results[0];
  Type type = result.type.getElementType();
  PartialRounding partial = isa<FloatType>(type) ? interpreter.partialRounding(type) : PartialRounding{};
  if (getInit()) copyByName(operands.back(), result);
  SmallVector<StringRef> at = names(getAxes());
  IterationSpace space(updates.type.getAxes());
  space.add(updates.type).add(result.type, at);
  for (const TensorValue &index : indices) space.add(index.type);
  space.forEach([&](ArrayRef<int64_t> offsets) {
    int64_t to = offsets[1];
    for (size_t k = 0; k < at.size(); ++k) {
      double position = indices[k].data[offsets[2 + k]];
      if (position < 0 || position >= result.type.getSize(at[k])) return;
      to += static_cast<int64_t>(position) * strideAlong(result.type, at[k]);
    }
    result.data[to] = partial(result.data[to] + updates.data[offsets[0]]);
  });
  return success();
}
