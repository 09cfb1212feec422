//===- Grower.cpp - grows a forward pass op by op -------------------------===//

#include "tests/differential/Grower.h"
#include "ir/dialect/UnaryFunction.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

static constexpr int64_t maxElements = 600;

//===----------------------------------------------------------------------===//
// The pool
//===----------------------------------------------------------------------===//

void Grower::add(Value value, double bound) {
  if (tensorType(value).getNumElements() > maxElements) return;
  if (bound > 3) {
    value = choose.oneIn(2) ? b.mul(value, 2 / bound) : b.unary<TanhOp>(b.mul(value, 1.5 / bound));
    bound = 2;
  }
  pool.push_back({value, bound});
  --numbering.budget;
}

Grower::Item Grower::any() {
  // Recent values more often: deep graphs rather than broad ones.
  int last = static_cast<int>(pool.size()) - 1;
  return pool[choose.oneIn(3) ? choose.integer(0, last) : choose.integer(std::max(0, last - 3), last)];
}

bool Grower::fits(Value x, Value y) {
  int64_t elements = tensorType(x).getNumElements();
  for (AxisAttr axis : tensorType(y).getAxes()) {
    if (!tensorType(x).hasAxis(axis.getName()))
      elements *= axis.getSize();
    else if (tensorType(x).getSize(axis.getName()) != axis.getSize())
      return false;
  }
  return elements <= maxElements;
}

Grower::Item Grower::matching(Value with) {
  for (int attempt = 0; attempt < 8; ++attempt)
    if (Item item = any(); fits(item.value, with)) return item;
  return {with, 3};
}

Grower::Axes Grower::axesOf(Value value) {
  return llvm::map_to_vector<6>(tensorType(value).getAxes(), [](AxisAttr axis) { return axis.getName(); });
}

Grower::Axes Grower::someAxesOf(Value value) {
  Axes all = axesOf(value), some;
  for (StringRef name : all)
    if (choose.oneIn(2)) some.push_back(name);
  if (some.empty() && !all.empty()) some.push_back(all[choose.integer(0, all.size() - 1)]);
  return some;
}

StringRef Grower::freshAxis(Value value) {
  static constexpr StringRef names[] = {"feat", "hid", "cls", "out"};
  for (int attempt = 0; attempt < 8; ++attempt)
    if (StringRef name = names[choose.integer(0, 3)]; !tensorType(value).hasAxis(name)) return name;
  return {};
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

void Grower::addData() {
  Shapes &s = level.shapes;
  Value x = level.data("x", {s.axis("batch"), s.axis("seq"), s.axis("feat")}, s.element);
  pool.push_back({x, 1});
  if (choose.oneIn(2)) pool.push_back({level.data("z", {s.axis("batch"), s.axis("hid")}, s.element), 1});
  if (choose.oneIn(2)) growEmbedding();
}

Value Grower::tokens() {
  Shapes &s = level.shapes;
  return level.data("tokens", {s.axis("batch"), s.axis("seq")}, b.getI32Type());
}

Value Grower::weight(ArrayRef<AxisAttr> axes, double scale) {
  return level.parameter("w" + std::to_string(numbering.parameters++), axes, scale);
}

Value Grower::draw(Value like) {
  return b.random(Distribution::Uniform, ++numbering.sites, level.seed(), level.step(), level.salts(),
                  tensorType(like));
}

Value Grower::positions(StringRef name, int64_t size) { return b.index(axis(b.getContext(), name, size)); }

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// Of a value brought to where the function is sampled.
void Grower::growSmoothFunction() {
  static const auto functions = llvm::filter_to_vector<32>(
      unaryFunctions(), [](const UnaryFunction &f) { return f.isDifferentiable && f.isSmooth; });
  const UnaryFunction &function = functions[choose.integer(0, functions.size() - 1)];
  auto [x, bound] = any();
  double middle = (function.sampleLow + function.sampleHigh) / 2,
         reach = (function.sampleHigh - function.sampleLow) / 2;
  double largest = 0;
  constexpr int steps = 64;
  for (int i = -steps; i <= steps; ++i)
    largest = std::max(largest, std::abs(function.evaluate(middle + reach * i / steps)));
  Value inside = b.add(b.mul(x, reach / std::max(1.0, bound)), middle);
  add(function.build(b, inside), largest);
}

void Grower::growUnary() {
  auto [x, bound] = any();
  switch (choose.integer(0, 9)) {
  case 0:
    return add(b.unary<AbsOp>(x), bound);
  case 1:
    return add(b.max(x, number(0)), bound);
  case 2: { // GELU by tanh, as models write it.
    Value inner = b.mul(b.add(x, b.mul(b.mul(b.mul(x, x), x), 0.044715)), 0.7978845608028654);
    return add(b.mul(b.mul(x, b.add(b.unary<TanhOp>(inner), 1)), 0.5), bound);
  }
  case 3: {
    Value positive = b.add(b.mul(x, x), 0.5);
    double square = bound * bound + 0.5;
    if (choose.oneIn(2)) return add(b.rsqrt(positive), 1.5);
    return add(b.log(positive), 0.7 + std::log(square));
  }
  default:
    return growSmoothFunction();
  }
}

void Grower::growBinary() {
  auto [x, bx] = any();
  auto [y, by] = matching(x);
  switch (choose.integer(0, 6)) {
  case 0:
    return add(b.add(x, y), bx + by);
  case 1:
    return add(b.sub(x, y), bx + by);
  case 2:
    return add(b.mul(x, y), bx * by);
  case 3:
    return add(b.div(x, b.add(b.mul(y, y), 0.7)), bx / 0.7);
  case 4:
    return add(b.max(x, y), std::max(bx, by));
  case 5:
    return add(b.min(x, y), std::max(bx, by));
  default:
    return add(b.pow(b.add(b.unary<AbsOp>(x), 0.5), b.mul(y, 1 / by)), bx + 2.5);
  }
}

void Grower::growPosition() {
  auto [x, bound] = any();
  Axes names = axesOf(x);
  if (names.empty()) return;
  StringRef name = names[choose.integer(0, names.size() - 1)];
  int64_t size = tensorType(x).getSize(name);
  Value at = positions(name, size), two = b.scalar(2, b.getI32Type());
  if (choose.oneIn(2)) at = choose.oneIn(2) ? b.binary<FloorDivOp>(at, two) : b.binary<ModOp>(at, two);
  Value feature = b.mul(b.cast(at, level.shapes.element), 1.0 / size);
  add(choose.oneIn(2) ? b.add(x, feature) : b.mul(x, feature), bound + 1);
}

//===----------------------------------------------------------------------===//
// Contraction, reduction, axes
//===----------------------------------------------------------------------===//

void Grower::growDense() {
  auto [x, bound] = any();
  Axes names = axesOf(x);
  StringRef to = freshAxis(x);
  if (names.empty() || to.empty()) return;
  StringRef over = names[choose.integer(0, names.size() - 1)];
  AxisAttr from = axis(b.getContext(), over, tensorType(x).getSize(over)), out = level.shapes.axis(to);
  if (from.getSize() == level.shapes.sizes.lookup(over) || depth == 0) {
    double scale = 1 / std::sqrt(from.getSize());
    Value y = b.contract(x, weight({from, out}, scale), over);
    if (choose.oneIn(2)) y = b.add(y, weight({out}, 0.1));
    if (choose.oneIn(3)) y = b.max(y, number(0));
    add(y, 2 * bound);
  }
}

/// Two products with GELU between them, wide enough for a library to compute them.
void Grower::growMlp() {
  auto [x, bound] = any();
  Axes names = axesOf(x);
  if (names.empty()) return;
  // Over the innermost axis it is a single product.
  StringRef over = choose.oneIn(4) ? names[choose.integer(0, names.size() - 1)] : names.back();
  AxisAttr from = axis(b.getContext(), over, tensorType(x).getSize(over));
  AxisAttr wide = axis(b.getContext(), "ff", choose.oneIn(4) ? 60 : 64);
  Value y = b.contract(x, weight({from, wide}, 1 / std::sqrt(from.getSize())), over);
  if (!choose.oneIn(4)) y = b.add(y, weight({wide}, 0.1));
  Value cube = choose.oneIn(2) ? b.mul(b.mul(y, y), y) : b.mul(y, b.mul(y, y));
  Value tanh = b.unary<TanhOp>(b.mul(b.add(y, b.mul(cube, 0.044715)), 0.7978845608028654));
  Value gelu = b.mul(b.mul(y, 0.5), b.add(tanh, 1));
  if (choose.oneIn(6)) gelu = b.mul(gelu, b.unary<CosOp>(y)); // what no library has
  Value back = b.contract(gelu, weight({from, wide}, 1 / std::sqrt(wide.getSize())), {"ff"});
  add(choose.oneIn(2) ? b.add(x, back) : back, 2 * bound);
}

void Grower::growProduct() {
  auto [x, bx] = any();
  auto [y, by] = matching(x);
  Axes shared;
  double terms = 1;
  for (StringRef name : axesOf(x))
    if (tensorType(y).hasAxis(name) && choose.oneIn(2)) shared.push_back(name), terms *= tensorType(x).getSize(name);
  if (shared.empty()) return;
  add(b.mul(b.contract(x, y, shared), 1 / std::sqrt(terms)), bx * by);
}

void Grower::growReduce() {
  auto [x, bound] = any();
  Axes over = someAxesOf(x);
  if (over.empty()) return;
  if (over.size() == axesOf(x).size() && over.size() > 1) over.pop_back();
  switch (choose.integer(0, 3)) {
  case 0:
    return add(b.mean(x, over), bound);
  case 1:
    return add(b.reduce(ReduceKind::Max, x, over), bound);
  case 2:
    return add(b.reduce(ReduceKind::Min, x, over), bound);
  default:
    return add(b.mul(b.sum(x, over), 0.5), bound * 2);
  }
}

void Grower::growBroadcast() {
  auto [x, bound] = any();
  StringRef name = freshAxis(x);
  if (!name.empty()) add(b.broadcast(x, b.type(level.shapes.axis(name), level.shapes.element)), bound);
}

void Grower::growRename() {
  auto [x, bound] = any();
  NamedTensorType type = tensorType(x);
  if (type.hasAxis("seq") && type.hasAxis("key") && type.getSize("seq") == type.getSize("key"))
    return add(b.rename(x, {"seq", "key"}, {"key", "seq"}), bound);
  if (type.hasAxis("seq") && !type.hasAxis("key")) return add(b.rename(x, {"seq"}, {"key"}), bound);
  if (type.hasAxis("key") && !type.hasAxis("seq")) add(b.rename(x, {"key"}, {"seq"}), bound);
}

void Grower::growSplitOrMerge() {
  auto [x, bound] = any();
  NamedTensorType type = tensorType(x);
  Shapes &s = level.shapes;
  if (type.hasAxis("feat") && !type.hasAxis("head") && !type.hasAxis("hd") && type.getSize("feat") == s.sizes["feat"])
    return add(b.split(x, "feat", {s.axis("head"), s.axis("hd")}), bound);
  if (type.hasAxis("head") && type.hasAxis("hd") && !type.hasAxis("feat"))
    return add(b.merge(x, {"head", "hd"}, "feat"), bound);
  if (type.hasAxis("seq") && type.hasAxis("hid") && !type.hasAxis("part"))
    add(choose.oneIn(2) ? b.merge(x, {"seq", "hid"}, "part") : b.merge(x, {"hid", "seq"}, "part"), bound);
}

void Grower::growSliceAndPad() {
  auto [x, bound] = any();
  Axes names = axesOf(x);
  if (names.empty()) return;
  StringRef name = names[choose.integer(0, names.size() - 1)];
  int size = tensorType(x).getSize(name);
  if (size < 2) return;
  int part = choose.integer(1, size - 1), offset = choose.integer(0, size - part);
  Value y = b.slice(x, name, offset, part);
  if (choose.oneIn(3)) return add(y, bound);
  if (choose.oneIn(2)) y = b.unary<SinOp>(y);
  add(b.pad(y, name, choose.integer(0, size - part), size), bound);
}

//===----------------------------------------------------------------------===//
// Positions and masks
//===----------------------------------------------------------------------===//

void Grower::growEmbedding() {
  Shapes &s = level.shapes;
  Value table = weight({s.axis("vocab"), s.axis(choose.oneIn(2) ? "feat" : "hid")}, 0.7);
  add(b.gather(table, {"vocab"}, tokens()), 2);
}

/// Reads at a neighbour's position along an axis; the last reads out of range.
void Grower::growShift() {
  auto [x, bound] = any();
  Axes names = axesOf(x);
  if (names.empty()) return;
  StringRef name = names[choose.integer(0, names.size() - 1)];
  Value at = b.add(positions(name, tensorType(x).getSize(name)), b.scalar(choose.integer(-2, 2), b.getI32Type()));
  add(b.gather(x, name, at), bound);
}

void Grower::growScatter() {
  auto [x, bound] = any();
  NamedTensorType type = tensorType(x);
  Shapes &s = level.shapes;
  if (type.hasAxis("vocab") || !type.hasAxis("batch") || !type.hasAxis("seq") || !fits(x, tokens())) return;
  SmallVector<AxisAttr> axes = b.without(type, {"batch", "seq"});
  axes.push_back(s.axis("vocab"));
  add(b.scatterAdd(x, {"vocab"}, tokens(), b.type(axes, s.element)), bound * 3);
}

void Grower::growMask() {
  auto [x, bound] = any();
  Axes names = axesOf(x);
  if (names.empty()) return;
  StringRef name = names[choose.integer(0, names.size() - 1)];
  auto predicate = static_cast<Predicate>(choose.integer(0, 5));
  Value at = positions(name, tensorType(x).getSize(name)), condition;
  if (name == "seq" && tensorType(x).hasAxis("key"))
    condition = b.compare(predicate, at, positions("key", tensorType(x).getSize("key")));
  else if (name == "seq" && fits(x, tokens()))
    condition = b.compare(predicate, tokens(), b.scalar(2, b.getI32Type()));
  else
    condition = b.compare(predicate, at, b.scalar(choose.integer(0, 2), b.getI32Type()));
  if (choose.oneIn(3)) condition = b.unary<NotOp>(condition);
  Item other = matching(x);
  Value no = choose.oneIn(2) ? number(0.25) : other.value;
  if (fits(condition, x) && fits(condition, no)) add(b.select(condition, x, no), std::max(bound, other.bound));
}

void Grower::growDropout() {
  auto [x, bound] = any();
  Value kept = b.compare(Predicate::LT, draw(x), number(0.75));
  add(b.select(kept, b.mul(x, 4.0 / 3), number(0)), bound * 1.4);
}

//===----------------------------------------------------------------------===//
// Growth
//===----------------------------------------------------------------------===//

void Grower::grow(int count) {
  using Kind = void (Grower::*)();
  static constexpr Kind kinds[] = {
      &Grower::growUnary,   &Grower::growUnary,        &Grower::growUnary,       &Grower::growBinary,
      &Grower::growBinary,  &Grower::growBinary,       &Grower::growDense,       &Grower::growDense,
      &Grower::growDense,   &Grower::growProduct,      &Grower::growReduce,      &Grower::growBroadcast,
      &Grower::growRename,  &Grower::growSplitOrMerge, &Grower::growSliceAndPad, &Grower::growEmbedding,
      &Grower::growShift,   &Grower::growScatter,      &Grower::growMask,        &Grower::growDropout,
      &Grower::growSoftmax, &Grower::growNorm,         &Grower::growAttention,   &Grower::growRepeat,
      &Grower::growPosition};
  int until = numbering.budget - count;
  for (int attempts = 0; numbering.budget > until && attempts < 4 * count; ++attempts) {
    Kind kind = kinds[choose.integer(0, std::size(kinds) - 1)];
    if (numbering.extra == Extra::Mlps && choose.oneIn(5)) kind = &Grower::growMlp;
    if (numbering.extra == Extra::Guards && choose.oneIn(3)) kind = &Grower::growGuarded;
    if (numbering.extra == Extra::States && choose.oneIn(4))
      kind = choose.oneIn(3) ? &Grower::growStop : &Grower::growState;
    if (numbering.extra == Extra::Stacks && choose.oneIn(depth == 0 ? 4 : 10)) kind = &Grower::growRepeat;
    (this->*kind)();
  }
}

Value Grower::loss() {
  Value total;
  auto addTerm = [&](Value term) { total = total ? b.add(total, term) : term; };
  for (int i = choose.integer(1, 3); i > 0; --i) {
    auto [x, bound] = i == 1 ? last() : any();
    if (tensorType(x).hasAxis("cls") && choose.oneIn(2)) {
      int64_t classes = tensorType(x).getSize("cls");
      Value label = level.data("label" + std::to_string(classes), {level.shapes.axis("batch")}, b.getI32Type());
      NamedTensorType rows = tensorType(x).withAxes(b.without(tensorType(x), {"cls"}));
      NamedTensorType type = b.type(b.unite({rows, tensorType(label)}), level.shapes.element);
      if (!fits(label, x)) continue;
      x = CrossEntropyOp::create(b, b.getLoc(), TypeRange{type, type, type}, x, label, "cls").getLoss();
      addTerm(b.mean(x, axesOf(x)));
    } else
      addTerm(b.mean(b.mul(x, b.add(x, 0.3)), axesOf(x)));
  }
  return total ? total : b.mean(last().value, axesOf(last().value));
}
