//===- Conditions.cpp - what the condition of a `where` proves --------------===//

#include "frontend/elaborate/Conditions.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace tessera;

/// The predicate of `b ? a` for `a ? b`.
static Predicate swapped(Predicate predicate) {
  switch (predicate) {
  case Predicate::LT:
    return Predicate::GT;
  case Predicate::LE:
    return Predicate::GE;
  case Predicate::GT:
    return Predicate::LT;
  case Predicate::GE:
    return Predicate::LE;
  case Predicate::EQ:
  case Predicate::NE:
    return predicate;
  }
  llvm_unreachable("all predicates are handled");
}

/// The predicate that holds of numbers where this one does not.
static Predicate negated(Predicate predicate) {
  switch (predicate) {
  case Predicate::LT:
    return Predicate::GE;
  case Predicate::LE:
    return Predicate::GT;
  case Predicate::GT:
    return Predicate::LE;
  case Predicate::GE:
    return Predicate::LT;
  case Predicate::EQ:
    return Predicate::NE;
  case Predicate::NE:
    return Predicate::EQ;
  }
  llvm_unreachable("all predicates are handled");
}

/// The part of the range for which `x ? bound` holds, NaN aside. Of integers, the next one is 1 away.
static FloatRange restricted(FloatRange range, Predicate predicate, double bound, bool isInteger) {
  auto next = [&](float direction) {
    return isInteger ? bound + direction : std::nextafter(static_cast<float>(bound), direction * INFINITY);
  };
  bool isBelow = predicate == Predicate::LT || predicate == Predicate::LE || predicate == Predicate::EQ;
  bool isAbove = predicate == Predicate::GT || predicate == Predicate::GE || predicate == Predicate::EQ;
  if (isBelow) range.high = std::min<double>(range.high, predicate == Predicate::LT ? next(-1) : bound);
  if (isAbove) range.low = std::max<double>(range.low, predicate == Predicate::GT ? next(1) : bound);
  return range;
}

static FloatRange rangeWhere(mlir::Value condition, bool holds, mlir::Value value, FloatRange range) {
  mlir::Operation *op = condition.getDefiningOp();
  if (!op) return range;
  if (auto inverted = llvm::dyn_cast<NotOp>(op)) return rangeWhere(inverted.getX(), !holds, value, range);
  if (holds ? llvm::isa<AndOp>(op) : llvm::isa<OrOp>(op))
    return rangeWhere(op->getOperand(1), holds, value, rangeWhere(op->getOperand(0), holds, value, range));
  auto compare = llvm::dyn_cast<CompareOp>(op);
  if (!compare) return range;
  bool isLeft = compare.getLhs() == value;
  auto bound = (isLeft ? compare.getRhs() : compare.getLhs()).getDefiningOp<ConstantOp>();
  if (!bound || std::isnan(bound.getNumber()) || (!isLeft && compare.getRhs() != value)) return range;
  Predicate predicate = isLeft ? compare.getPredicate() : swapped(compare.getPredicate());
  if (!holds) predicate = negated(predicate);
  // NaN satisfies `!=` only, and fails everything else.
  if (holds == (compare.getPredicate() != Predicate::NE)) range.mayBeNan = false;
  return restricted(range, predicate, bound.getNumber(), tensorType(value).getElementType().isInteger());
}

std::optional<Interval> tessera::integerRangeWhere(mlir::Value condition, bool holds, const LanguageValue &value) {
  std::optional<Interval> known = integerRangeOf(value);
  if (!value.isTensor() || !value.tensor.element().isInteger(32)) return known;
  Interval all = known.value_or(Interval::int32());
  FloatRange range{static_cast<double>(all.low), static_cast<double>(all.high), false};
  range = rangeWhere(condition, holds, value.tensor.value, range);
  if (range.low > range.high) return known; // never selected
  return bounds::bounded({static_cast<int64_t>(range.low), static_cast<int64_t>(range.high)});
}

FloatRange tessera::floatRangeWhere(mlir::Value condition, bool holds, const LanguageValue &value) {
  FloatRange known = floatRangeOf(value);
  if (!value.isTensor() || value.tensor.element().isInteger()) return known;
  FloatRange range = rangeWhere(condition, holds, value.tensor.value, known);
  return range.low > range.high ? known : range;
}

static void collectCompared(mlir::Value condition, llvm::SmallPtrSetImpl<mlir::Value> &compared) {
  mlir::Operation *op = condition.getDefiningOp();
  if (llvm::isa_and_nonnull<CompareOp>(op)) compared.insert(op->operand_begin(), op->operand_end());
  if (!llvm::isa_and_nonnull<NotOp, AndOp, OrOp>(op)) return;
  for (mlir::Value operand : op->getOperands()) collectCompared(operand, compared);
}

bool tessera::comparesAnotherValue(mlir::Value chosen) {
  while (auto cast = chosen.getDefiningOp<CastOp>()) chosen = cast.getX();
  auto select = chosen.getDefiningOp<SelectOp>();
  if (!select) return false;
  llvm::SmallPtrSet<mlir::Value, 4> compared;
  collectCompared(select.getCondition(), compared);
  return !compared.empty() && !compared.contains(select.getYes()) && !compared.contains(select.getNo());
}
