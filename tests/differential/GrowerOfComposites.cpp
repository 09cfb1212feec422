//===- GrowerOfComposites.cpp - softmax, norms, attention, repeats --------===//

#include "tests/differential/Grower.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

/// As one op or, as models write it, in long hand.
void Grower::growSoftmax() {
  auto [x, bound] = any();
  Axes names = axesOf(x);
  if (names.empty()) return;
  StringRef over = names[choose.integer(0, names.size() - 1)];
  if (choose.oneIn(2)) return add(SoftmaxOp::create(b, b.getLoc(), x.getType(), x, over), 1);
  Value shifted = choose.oneIn(4) ? x : b.sub(x, b.reduce(ReduceKind::Max, x, over));
  Value exponentials = b.exp(shifted), sum = b.sum(exponentials, over);
  if (choose.oneIn(3)) return add(b.sub(shifted, b.log(sum)), 2 * bound + 2);
  add(b.div(exponentials, sum), 1);
}

void Grower::growNorm() {
  auto [x, bound] = any();
  Axes over = someAxesOf(x);
  int64_t count = 1;
  for (StringRef name : over) count *= tensorType(x).getSize(name);
  if (count < 2) return;
  double root = std::sqrt(count);
  if (choose.oneIn(2)) {
    Value centred = b.sub(x, b.mean(x, over));
    Value variance = b.mean(b.mul(centred, centred), over);
    return add(b.mul(centred, b.rsqrt(b.add(variance, 0.01))), root);
  }
  NamedTensorType rows = tensorType(x).withAxes(b.without(tensorType(x), over));
  auto norm =
      LayerNormOp::create(b, b.getLoc(), TypeRange{x.getType(), rows}, x, b.strings(over), b.getF64FloatAttr(0.01));
  add(norm.getResult(), root);
}

/// Self-attention over positions: projections by weights, scores, a causal mask, values.
void Grower::growAttention() {
  Shapes &s = level.shapes;
  auto [x, bound] = any();
  NamedTensorType type = tensorType(x);
  bool isPlain = type.hasAxis("seq") && type.hasAxis("feat") && !type.hasAxis("key") && !type.hasAxis("head") &&
                 !type.hasAxis("hd");
  if (!isPlain || type.getSize("seq") != s.sizes["seq"] || type.getSize("feat") != s.sizes["feat"]) return;
  double scale = 1 / std::sqrt(s.sizes["feat"]);
  auto project = [&](Value from) {
    return b.contract(from, weight({s.axis("feat"), s.axis("head"), s.axis("hd")}, scale), {"feat"});
  };
  Value past = b.rename(x, {"seq"}, {"key"});
  Value q = project(x), k = project(past), v = project(past);
  NamedTensorType score = b.type(b.unite({tensorType(q), tensorType(k)}), s.element);
  score = score.withAxes(b.without(score, {"hd"}));
  std::optional<Guarded> guarded = makePartialFor(score);
  SmallVector<Value> captures;
  if (guarded) captures = {guarded->x.value, guarded->function};
  bool isCausal = !choose.oneIn(3);
  auto change = [&](GraphBuilder &at, Value score, ValueRange captures) {
    Value scaled = at.mul(score, 1 / std::sqrt(s.sizes["hd"]));
    if (guarded) {
      Value factor = at.mul(captures[1], 1 / std::max(1.0, guarded->reach));
      scaled = at.select(isInside(captures[0]), at.mul(scaled, factor), number(0));
    }
    if (!isCausal) return scaled;
    Value sees = at.compare(Predicate::LE, at.index(s.axis("key")), at.index(s.axis("seq")));
    return at.select(sees, scaled, at.scalar(-std::numeric_limits<double>::infinity(), s.element));
  };
  if (choose.oneIn(2)) { // In long hand.
    Value score = change(b, b.contract(q, k, {"hd"}), captures);
    Value p = SoftmaxOp::create(b, b.getLoc(), score.getType(), score, "key");
    if (choose.oneIn(3))
      p = b.select(b.compare(Predicate::LT, draw(p), number(0.2)), number(0), b.mul(p, number(1.25)));
    return add(b.contract(p, v, {"key"}), 2 * bound);
  }
  NamedTensorType rows = score.withAxes(b.without(score, {"key"}));
  auto op = AttentionOp::create(b, b.getLoc(), TypeRange{q.getType(), rows, rows}, q, k, v, captures, b.strings({"hd"}),
                                b.getStringAttr("key"));
  {
    OpBuilder::InsertionGuard guard(b);
    Block *block = b.createBlock(&op.getScore());
    block->addArgument(score, b.getLoc());
    for (Value capture : captures) block->addArgument(capture.getType(), b.getLoc());
    ValueRange arguments = block->getArguments();
    YieldOp::create(b, b.getLoc(), change(b, arguments.front(), arguments.drop_front()));
  }
  add(op.getResult(), 2 * bound);
}

/// A stack of layers that carries one or two values, with the layers' own parameters, and perhaps stacks its values.
void Grower::growRepeat() {
  if (depth >= 2) return;
  Shapes &s = level.shapes;
  auto [x, bound] = any();
  StringRef name = depth == 0 ? "layer" : "inner";
  if (tensorType(x).hasAxis(name)) return;
  Item kept = any(), second = any();
  if (tensorType(kept.value).hasAxis(name) || tensorType(second.value).hasAxis(name)) return;
  SmallVector<Value> carried{x};
  bool hasSecond = choose.oneIn(3);
  if (hasSecond) carried.push_back(second.value);
  std::optional<Guarded> outside;
  if (numbering.extra == Extra::Guards && choose.oneIn(2)) outside = makePartial(any());
  Level body(level, s.axis(name), carried);
  Grower inner(body, choose, numbering, depth + 1);
  inner.add(body.getCarried(0), bound);
  if (hasSecond) inner.add(body.getCarried(1), second.bound);
  if (choose.oneIn(2)) inner.add(body.keep(kept.value), kept.bound);
  if (outside) {
    auto import = [&](Value value) { return tensorType(value).hasAxis(name) ? body.slice(value) : body.keep(value); };
    inner.guard({{import(outside->x.value), outside->x.bound}, import(outside->function), outside->reach});
  }
  inner.grow(choose.integer(2, 6));

  SmallVector<Value> yielded;
  for (unsigned i = 0; i < carried.size(); ++i) {
    NamedTensorType type = tensorType(carried[i]);
    Value grown = inner.pool[inner.pool.size() - 1 - std::min<size_t>(i, inner.pool.size() - 1)].value;
    // To the carried type: the mean over axes that it lacks, repeated along those that only it has.
    Axes drop = llvm::filter_to_vector<6>(inner.axesOf(grown), [&](StringRef axis) { return !type.hasAxis(axis); });
    Value change = body.getCarried(i);
    if (inner.fits(grown, change)) change = body.b.broadcast(drop.empty() ? grown : body.b.mean(grown, drop), type);
    yielded.push_back(body.b.add(body.b.mul(body.getCarried(i), 0.5), body.b.mul(body.b.unary<TanhOp>(change), 0.5)));
  }
  bool stacks = choose.oneIn(2) && !tensorType(inner.last().value).hasAxis(name);
  if (stacks) yielded.push_back(inner.last().value);
  ValueRange results = body.finishRepeat(yielded, choose.oneIn(4));
  add(results[0], std::max(1.0, bound));
  if (hasSecond) add(results[1], std::max(1.0, second.bound));
  if (stacks && choose.oneIn(2))
    add(b.mean(results.back(), name), 3);
  else if (stacks)
    add(results.back(), 3);
}

//===----------------------------------------------------------------------===//
// States and stops
//===----------------------------------------------------------------------===//

/// A state without the axis of the batch, that a value or its square moves; reads are added, multiplied, or summed over
/// with products.
void Grower::growState() {
  auto [x, bound] = any();
  SmallVector<AxisAttr> axes = b.without(tensorType(x), {"batch"});
  Axes over = axesOf(x);
  llvm::erase_if(over, [&](StringRef name) { return name != "batch"; });
  std::string name = "s" + std::to_string(numbering.states++);
  Value before = level.modelState(name, axes);
  Value seen = choose.oneIn(3) ? b.mul(b.mul(x, x), 1 / bound) : x;
  if (!over.empty()) seen = b.mean(seen, over);
  double momentum = choose.oneIn(4) ? 1 : 0.25; // with 1, what is read is what the step before has seen
  level.assign(name, b.add(b.mul(before, 1 - momentum), b.mul(seen, momentum / bound)));
  switch (choose.integer(0, 3)) {
  case 0:
    return add(b.mul(x, before), bound);
  case 1:
    if (axes.empty()) return;
    return add(b.contract(x, before, axes.front().getName()), bound * axes.front().getSize());
  default:
    return add(b.sub(x, before), bound + 1);
  }
}

void Grower::growStop() {
  auto [x, bound] = any();
  Value stopped = b.unary<StopOp>(x);
  if (choose.oneIn(2)) return add(stopped, bound);
  auto [y, by] = matching(x);
  if (choose.oneIn(2)) return add(b.mul(stopped, y), bound * by);
  add(b.add(y, b.unary<StopOp>(b.sub(x, y))), bound + by); // straight through
}
