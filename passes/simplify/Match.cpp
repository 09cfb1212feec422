//===- Match.cpp - matchers of open-coded mathematics ---------------------===//

#include "passes/simplify/Match.h"

using namespace mlir;
using namespace tessera;

Value tessera::withoutGuard(Value value, double special) {
  auto select = value.getDefiningOp<SelectOp>();
  auto compare = select ? select.getCondition().getDefiningOp<CompareOp>() : CompareOp();
  if (!compare) return value;
  bool isEqual = compare.getPredicate() == Predicate::EQ;
  if (!isEqual && compare.getPredicate() != Predicate::NE) return value;
  Value passed = isEqual ? select.getNo() : select.getYes();
  for (auto [a, b] : bothOrders(compare))
    if (a == passed && passed.getType() == value.getType() && isConstant(b, special)) return passed;
  return value;
}

std::optional<MatchedReduction> tessera::matchReduction(Value value, ReduceKind kind) {
  auto reduce = value.getDefiningOp<ReduceOp>();
  if (!reduce || reduce.getKind() != kind) return std::nullopt;
  return MatchedReduction{reduce.getX(), names(reduce.getOver())};
}

std::optional<MatchedReduction> tessera::matchMean(Value value) {
  auto scaled = value.getDefiningOp<MulOp>();
  if (!scaled) return std::nullopt;
  for (auto [sum, factor] : bothOrders(scaled)) {
    std::optional<double> number = constantNumber(factor);
    std::optional<MatchedReduction> reduction = matchReduction(sum, ReduceKind::Sum);
    if (!number || !reduction) continue;
    double count = 1;
    for (StringRef name : reduction->over) count *= tensorType(reduction->x).getSize(name);
    // The constant is rounded to the element type.
    if (std::abs(*number * count - 1) < 1e-6) return reduction;
  }
  return std::nullopt;
}

std::optional<ExponentialSum> tessera::matchExponentialSum(Value value) {
  std::optional<MatchedReduction> sum = matchReduction(value, ReduceKind::Sum);
  if (!sum || sum->over.size() != 1) return std::nullopt;
  auto exp = sum->x.getDefiningOp<ExpOp>();
  if (!exp) return std::nullopt;
  ExponentialSum result{exp, exp.getX(), Value(), sum->over.front()};
  if (auto difference = exp.getX().getDefiningOp<SubOp>())
    if (difference.getLhs().getType() == exp.getType() && !tensorType(difference.getRhs()).hasAxis(result.axis)) {
      result.x = difference.getLhs();
      result.shift = difference.getRhs();
    }
  return result;
}
