//===- NonFinite.cpp - values that may be infinite or NaN -----------------===//

#include "ir/autodiff/NonFinite.h"
#include "ir/autodiff/RegionArguments.h"
#include "ir/dialect/Reshape.h"
#include "ir/program/IndexRange.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;

static constexpr double unbounded = -std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Lower bounds
//===----------------------------------------------------------------------===//

// So that `rsqrt(mean[a](x * x) + 1e-5)`, `log(exp(x) + 1)` and `x / max(y, 1e-6)` are known to be finite.

static double lowerBound(Value value, int depth = 0);

static double lowerBoundOfProduct(Value a, Value b, int depth) {
  if (a == b) return 0;
  double low = std::min(lowerBound(a, depth), lowerBound(b, depth));
  return low >= 0 ? low * low : unbounded;
}

/// Of booleans and integers. A float may be rounded on the way, towards 0 too.
static double lowerBoundOfCast(CastOp cast, int depth) {
  if (hasGradient(cast.getX())) return lowerBound(cast.getX(), depth) >= 0 ? 0 : unbounded;
  std::optional<Interval> range = indexRange(cast.getX());
  return range ? static_cast<double>(range->low) : unbounded;
}

/// What the value is not below, if it is not NaN; -infinity if nothing is known.
static double lowerBound(Value value, int depth) {
  constexpr int maxDepth = 8;
  if (++depth > maxDepth) return unbounded;
  auto of = [&](Value operand) { return lowerBound(operand, depth); };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    SmallVector<double> lows = llvm::map_to_vector(valuesOf(argument), of);
    return lows.empty() ? unbounded : *llvm::min_element(lows);
  }
  Operation *op = value.getDefiningOp();
  if (isReshape(op)) return of(op->getOperand(0));
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case<ConstantOp>([](ConstantOp c) { return c.getNumber(); })
      .Case<AddOp>([&](AddOp add) { return of(add.getLhs()) + of(add.getRhs()); })
      .Case<MulOp>([&](MulOp mul) { return lowerBoundOfProduct(mul.getLhs(), mul.getRhs(), depth); })
      .Case<ContractOp>([&](ContractOp product) {
        return product.getInit() || product.getBias() ? unbounded
                                                      : lowerBoundOfProduct(product.getLhs(), product.getRhs(), depth);
      })
      .Case<MaxOp>([&](MaxOp max) { return std::max(of(max.getLhs()), of(max.getRhs())); })
      .Case<MinOp>([&](MinOp min) { return std::min(of(min.getLhs()), of(min.getRhs())); })
      .Case<SelectOp>([&](SelectOp select) { return std::min(of(select.getYes()), of(select.getNo())); })
      .Case<ReduceOp>([&](ReduceOp reduce) {
        double low = of(reduce.getX());
        return reduce.getKind() != ReduceKind::Sum ? low : low >= 0 ? low : unbounded;
      })
      .Case<SqrtOp>([&](SqrtOp root) { return std::sqrt(std::max(0.0, of(root.getX()))); })
      .Case<CastOp>([&](CastOp cast) { return lowerBoundOfCast(cast, depth); })
      .Case<AbsOp, ExpOp, SigmoidOp, SoftmaxOp>([](auto) { return 0.0; })
      .Default([](Operation *) { return unbounded; });
}

/// Whether an exponent cannot be positive.
static bool isNeverPositive(Value value) {
  auto negated = value.getDefiningOp<NegOp>();
  return negated && lowerBound(negated.getX()) >= 0;
}

//===----------------------------------------------------------------------===//
// Non-finite values
//===----------------------------------------------------------------------===//

bool tessera::mayBeNonFinite(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<ConstantOp>([](ConstantOp c) { return !std::isfinite(c.getNumber()); })
      .Case<SqrtOp>([](SqrtOp root) { return lowerBound(root.getX()) < 0; })
      .Case<RsqrtOp, LogOp>([](auto op) { return lowerBound(op.getX()) <= 0; })
      .Case<Log1pOp>([](Log1pOp log) { return lowerBound(log.getX()) <= -1; })
      .Case<ExpOp, Expm1Op>([](auto op) { return !isNeverPositive(op.getX()); })
      .Case<DivOp, ModOp, FloorDivOp>([](auto op) { return lowerBound(op.getRhs()) <= 0; })
      .Default([](Operation *op) { return isa<ElementwiseOpInterface>(op) && op->hasTrait<traits::MayBeNonFinite>(); });
}

/// Whether the results of the op are finite as far as `NonFiniteValues` is concerned.
static bool endsChain(Operation *op) { return isa_and_nonnull<MultiplyOpInterface, RepeatOp>(op); }

/// What the value is computed from, or stands for.
static SmallVector<Value> predecessors(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) return valuesOf(argument);
  return llvm::to_vector(value.getDefiningOp()->getOperands());
}

bool NonFiniteValues::contains(Value value) {
  DenseMap<Value, Value> user; // of each value on the walk: the one that it was reached from
  SmallVector<Value> work;
  auto reach = [&](Value next, Value from) {
    // A repeat may be replaced by another during the walk of reverse mode, so nothing is kept of its results.
    if (hasGradient(next) && !endsChain(next.getDefiningOp()) && user.try_emplace(next, from).second)
      work.push_back(next);
  };
  reach(value, Value());
  while (!work.empty()) {
    Value next = work.pop_back_val();
    Operation *op = next.getDefiningOp();
    auto it = known.find(next);
    if (it != known.end() && !it->second) continue;
    if (it != known.end() || (op && mayBeNonFinite(op))) {
      for (; next; next = user.lookup(next)) known[next] = true;
      return true;
    }
    for (Value before : predecessors(next)) reach(before, next);
  }
  for (auto [visited, from] : user) known[visited] = false;
  return false;
}
