//===- GrowerOfGuards.cpp - functions of limited domain under selects -----===//

#include "tests/differential/Grower.h"
#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {
/// A function that is NaN or infinite for some of what lies below `guardedFrom`.
struct Partial {
  double (*evaluate)(double x);
  Value (*build)(GraphBuilder &b, Value x);
};
} // namespace

static constexpr double guardedFrom = 0.2;

static Value plus(GraphBuilder &b, Value x, double number) { return b.add(x, number); }

static Value scalarLike(GraphBuilder &b, Value x, double number) {
  return b.scalar(number, tensorType(x).getElementType());
}

static constexpr Partial partials[] = {
    {[](double x) { return std::sqrt(x); }, [](GraphBuilder &b, Value x) { return b.sqrt(x); }},
    {[](double x) { return 1 / std::sqrt(x); }, [](GraphBuilder &b, Value x) { return b.rsqrt(x); }},
    {[](double x) { return std::log(x); }, [](GraphBuilder &b, Value x) { return b.log(x); }},
    {[](double x) { return std::log1p(x - 0.9); },
     [](GraphBuilder &b, Value x) { return b.unary<Log1pOp>(plus(b, x, -0.9)); }},
    {[](double x) { return std::pow(x, 1.5); },
     [](GraphBuilder &b, Value x) { return b.pow(x, scalarLike(b, x, 1.5)); }},
    {[](double x) { return std::pow(0.7, x) / x; },
     [](GraphBuilder &b, Value x) { return b.div(b.pow(scalarLike(b, x, 0.7), x), x); }},
    {[](double x) { return std::log(std::sqrt(x) + x); },
     [](GraphBuilder &b, Value x) { return b.log(b.add(b.sqrt(x), x)); }},
};

Grower::Guarded Grower::makePartial(Item of) {
  auto [x, bound] = of;
  const Partial &f = partials[choose.integer(0, std::size(partials) - 1)];
  double start = f.evaluate(guardedFrom), reach = 0;
  constexpr int steps = 64;
  for (int i = 1; i <= steps; ++i)
    reach = std::max(reach, std::abs(f.evaluate(guardedFrom + std::max(bound, 1.0) * i / steps) - start));
  return {of, b.sub(f.build(b, x), number(start)), reach};
}

Value Grower::isInside(Value guard) { return b.compare(Predicate::GT, guard, number(guardedFrom)); }

void Grower::growGuarded() { guard(makePartial(any())); }

/// Its value is continuous, its gradient jumps like that of `max(x, c)`. Between f and the select there may be other
/// ops, and the select may be that of a whole row or inside another one.
void Grower::guard(const Guarded &made) {
  auto [x, bound] = made.x;
  Value guarded = made.function, guard = x;
  double reach = made.reach;
  if (choose.oneIn(3)) guarded = b.unary<TanhOp>(guarded), reach = 1;
  if (choose.oneIn(4)) guarded = b.max(guarded, number(-0.1));
  Axes over = someAxesOf(x);
  if (!over.empty() && choose.oneIn(3)) {
    guard = b.reduce(ReduceKind::Min, x, over);
    if (choose.oneIn(2)) guarded = b.mean(guarded, over);
    guarded = b.mul(guarded, b.sub(guard, number(guardedFrom)));
    reach *= std::max(bound, 1.0);
  } else if (Item other = matching(x); choose.oneIn(2) && fits(other.value, x)) {
    guarded = choose.oneIn(2) ? b.mul(guarded, other.value) : b.div(guarded, b.add(b.mul(x, x), 0.5));
    reach *= std::max(other.bound, 2.0);
  }
  Value inside = isInside(guard), zero = number(0);
  Value result = choose.oneIn(3) ? b.select(b.unary<NotOp>(inside), zero, guarded) : b.select(inside, guarded, zero);
  if (Axes names = axesOf(x); !names.empty() && choose.oneIn(4)) {
    Value at = positions(names.front(), tensorType(x).getSize(names.front()));
    result = b.select(b.compare(Predicate::GT, at, b.scalar(0, b.getI32Type())), b.add(result, 1), result);
  }
  add(result, reach + 1);
}

std::optional<Grower::Guarded> Grower::makePartialFor(NamedTensorType type) {
  if (numbering.extra != Extra::Guards || choose.oneIn(3)) return std::nullopt;
  Item x = any();
  Axes others = llvm::filter_to_vector<6>(axesOf(x.value), [&](StringRef name) { return !type.hasAxis(name); });
  if (!others.empty()) x.value = b.mean(x.value, others);
  for (AxisAttr axis : tensorType(x.value).getAxes())
    if (type.getSize(axis.getName()) != axis.getSize()) return std::nullopt;
  return makePartial(x);
}
