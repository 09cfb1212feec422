//===- Samples.cpp - random instances of simple ops -----------------------===//

#include "tests/ir/Samples.h"
#include "ir/dialect/BinaryFunction.h"
#include "ir/dialect/UnaryFunction.h"
#include <algorithm>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

Sample::Sample(ModuleOp module, unsigned seed)
    : GraphBuilder(module, UnknownLoc::get(module.getContext())), random(seed) {
  setInsertionPointToEnd(module.getBody());
  function = func::FuncOp::create(*this, getLoc(), "loss", getFunctionType({}, {}));
  setInsertionPointToEnd(function.addEntryBlock());
}

Sample::Axes Sample::choose(const Axes &from, int least, int most) {
  std::vector<size_t> order(from.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  order.resize(integer(least, std::min<int>(most, from.size())));
  std::sort(order.begin(), order.end());
  Axes chosen;
  for (size_t i : order) chosen.push_back(from[i]);
  return chosen;
}

AxisAttr Sample::axis(StringRef name) {
  auto [it, isNew] = sizes.try_emplace(name, 0);
  if (it->second == 0) it->second = integer(1, 4);
  return tessera::axis(getContext(), name, it->second);
}

NamedTensorType Sample::tensor(const Axes &axes, Type elementType) {
  return type(llvm::map_to_vector(axes, [&](const std::string &name) { return axis(name); }), elementType);
}

TensorValue &Sample::addArgument(NamedTensorType type) {
  function.getBody().front().addArgument(type, getLoc());
  return arguments.emplace_back(type);
}

Value Sample::argument(NamedTensorType type, double low, double high) {
  for (double &number : addArgument(type).data) number = real(low, high);
  return function.getBody().front().getArguments().back();
}

Value Sample::positions(const Axes &axes, int low, int high) {
  for (double &number : addArgument(tensor(axes, getI32Type())).data) number = integer(low, high);
  return function.getBody().front().getArguments().back();
}

Value Sample::awayFromZero(const Axes &axes, double low, double high) {
  for (double &number : addArgument(floats(axes)).data) number = real(low, high) * (coin() ? 1 : -1);
  return function.getBody().front().getArguments().back();
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

static void addUnary(SampleTable &table, const UnaryFunction &function) {
  table["tsr." + function.op.str()] = [&function](Sample &s) -> SmallVector<Value> {
    return {function.build(s, s.input(s.someAxes(), function.sampleLow, function.sampleHigh))};
  };
}

/// Two operands, each with some axes; sometimes one value is both.
static void addBinary(SampleTable &table, const BinaryFunction &function) {
  table["tsr." + function.op.str()] = [&function](Sample &s) -> SmallVector<Value> {
    double low = function.rhsSampleLow, high = function.rhsSampleHigh;
    Value lhs = s.input(s.someAxes(), function.lhsSampleLow, function.lhsSampleHigh);
    if (function.rhsHasEitherSign) return {function.build(s, lhs, s.awayFromZero(s.someAxes(), low, high))};
    bool mayBeSame = low <= function.lhsSampleLow && function.lhsSampleHigh <= high;
    Value rhs = mayBeSame && s.integer(0, 5) == 0 ? lhs : s.input(s.someAxes(), low, high);
    return {function.build(s, lhs, rhs)};
  };
}

void tessera::test::addElementwiseSamples(SampleTable &table) {
  for (const UnaryFunction &function : unaryFunctions())
    if (function.isDifferentiable) addUnary(table, function);
  for (const BinaryFunction &function : binaryFunctions())
    if (function.isDifferentiable) addBinary(table, function);
  table["tsr.select"] = [](Sample &s) -> SmallVector<Value> {
    Value condition = s.compare(Predicate::LT, s.input(s.someAxes()), s.input(s.someAxes()));
    Value yes = s.input(s.someAxes());
    return {s.select(condition, yes, s.input(s.someAxes()))};
  };
  table["tsr.cast"] = [](Sample &s) -> SmallVector<Value> {
    Value x = s.cast(s.input(s.someAxes()), s.coin() ? s.getF32Type() : s.getBF16Type());
    return {s.cast(x, s.getF64Type())};
  };
}

//===----------------------------------------------------------------------===//
// Contraction, reduction, axes
//===----------------------------------------------------------------------===//

static SmallVector<Value> contractSample(Sample &s) {
  auto join = [](Sample::Axes a, const Sample::Axes &b) { return a.insert(a.end(), b.begin(), b.end()), a; };
  Sample::Axes batch = s.choose({"a", "b"}, 0, 2), over = s.choose({"c", "d"}, 1, 2);
  Value lhs = s.input(join(join(batch, over), s.choose({"e", "f"}, 0, 2)));
  Value rhs = s.integer(0, 5) ? s.input(join(join(batch, over), s.choose({"g", "h"}, 0, 2))) : lhs;
  return {s.contract(lhs, rhs, refs(over))};
}

static SmallVector<Value> reduceSample(Sample &s) {
  Sample::Axes axes = s.someAxes(1);
  auto kind = static_cast<ReduceKind>(s.integer(0, 3));
  return {s.reduce(kind, s.input(axes), refs(s.choose(axes, 1, 3)))};
}

static SmallVector<Value> broadcastSample(Sample &s) {
  Sample::Axes axes = s.someAxes(1, 4);
  Value x = s.input(s.choose(axes, 0, axes.size() - 1));
  return {s.broadcast(x, s.floats(axes))};
}

static SmallVector<Value> renameSample(Sample &s) {
  Value x = s.input({"a", "b", "c"});
  if (s.coin()) return {s.rename(x, {"a", "b"}, {"b", "a"})};
  if (s.coin()) return {s.rename(x, {"a", "b"}, {"h", "e"})};
  return {s.rename(x, {"c"}, {"d"})};
}

static SmallVector<Value> splitSample(Sample &s) {
  s.setSize("a", 6 * s.integer(1, 2));
  SmallVector<AxisAttr> into{AxisAttr::get(s.getContext(), "h", 2),
                             AxisAttr::get(s.getContext(), "e", s.axis("a").getSize() / 2)};
  if (s.coin()) std::swap(into[0], into[1]);
  return {s.split(s.input(s.coin() ? Sample::Axes{"a"} : Sample::Axes{"a", "c"}), "a", into)};
}

static SmallVector<Value> mergeSample(Sample &s) {
  Sample::Axes axes = s.someAxes(2, 4), merged = s.choose(axes, 2, 3);
  Value x = s.input(axes);
  if (s.coin()) std::reverse(merged.begin(), merged.end());
  return {s.merge(x, refs(merged), "h")};
}

/// There and back: the rest of the sample is in canonical order.
static SmallVector<Value> reorderSample(Sample &s) {
  Value x = s.input(s.someAxes(1));
  SmallVector<AxisAttr> axes(tensorType(x).getAxes());
  std::rotate(axes.begin(), axes.begin() + s.integer(0, axes.size() - 1), axes.end());
  Value other = ReorderOp::create(s, s.getLoc(), tensorType(x).withAxes(axes), x);
  return {ReorderOp::create(s, s.getLoc(), x.getType(), other)};
}

static SmallVector<Value> sliceSample(Sample &s) {
  Sample::Axes axes = s.someAxes(1);
  std::string name = s.choose(axes, 1, 1)[0];
  s.setSize(name, 5);
  int size = s.integer(1, 5);
  return {s.slice(s.input(axes), name, s.integer(0, 5 - size), size)};
}

static SmallVector<Value> padSample(Sample &s) {
  Sample::Axes axes = s.someAxes(1);
  std::string name = s.choose(axes, 1, 1)[0];
  int64_t size = s.axis(name).getSize(), offset = s.integer(0, 3);
  return {s.pad(s.input(axes), name, offset, size + offset + s.integer(0, 3))};
}

/// Reads along one or two axes, in and out of range; the indices may share axes with what is read.
static SmallVector<Value> gatherSample(Sample &s) {
  Sample::Axes axes = s.someAxes(1, 4), at = s.choose(axes, 1, 2);
  SmallVector<Value> indices;
  for (const std::string &name : at)
    indices.push_back(s.positions(s.choose({"a", "b", "e"}, 0, 3), -1, s.axis(name).getSize()));
  return {s.gather(s.input(axes), refs(at), indices)};
}

static SmallVector<Value> scatterSample(Sample &s) {
  Sample::Axes axes = s.someAxes(1, 4), at = s.choose(axes, 1, 2);
  NamedTensorType to = s.floats(axes);
  SmallVector<Value> indices;
  SmallVector<NamedTensorType> parts{to.withAxes(s.without(to, refs(at)))};
  for (const std::string &name : at) {
    indices.push_back(s.positions(s.choose({"a", "b", "e"}, 0, 3), -1, s.axis(name).getSize()));
    parts.push_back(tensorType(indices.back()));
  }
  Sample::Axes updates;
  for (AxisAttr a : s.unite(parts)) updates.push_back(a.getName().str());
  return {s.scatterAdd(s.input(updates), refs(at), indices, to)};
}

void tessera::test::addAxisSamples(SampleTable &table) {
  table["tsr.contract"] = contractSample;
  table["tsr.reduce"] = reduceSample;
  table["tsr.broadcast"] = broadcastSample;
  table["tsr.rename"] = renameSample;
  table["tsr.split"] = splitSample;
  table["tsr.merge"] = mergeSample;
  table["tsr.reorder"] = reorderSample;
  table["tsr.slice"] = sliceSample;
  table["tsr.pad"] = padSample;
  table["tsr.gather"] = gatherSample;
  table["tsr.scatter_add"] = scatterSample;
}
