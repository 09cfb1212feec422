//===- AdjointsElementwise.cpp - reverse-mode derivatives, point by point -===//
//
// Those of ops of one operand are in TsrElementwise.td. `d` is the gradient of the
// result, `y` the result itself. Gradients have the axes of the result: ReverseMode.cpp
// sums over those that an operand lacks.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/GraphBuilder.h"

using namespace mlir;
using namespace tessera;

using Needed = function_ref<bool(unsigned)>;
using Accumulate = function_ref<void(unsigned, Value)>;

static Value zeroLike(GraphBuilder &b, Value x) { return b.scalar(0, tensorType(x).getElementType()); }

/// The value of a constant operand.
static std::optional<double> constantNumber(Value x) {
  auto constant = x.getDefiningOp<ConstantOp>();
  return constant ? std::optional(constant.getNumber()) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Two operands, and select
//===----------------------------------------------------------------------===//

void AddOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed needed, Accumulate accumulate) {
  for (unsigned i : {0, 1})
    if (needed(i)) accumulate(i, d[0]);
}

void SubOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed needed, Accumulate accumulate) {
  if (needed(0)) accumulate(0, d[0]);
  if (needed(1)) accumulate(1, b.neg(b.sumTo(d[0], getRhs().getType())));
}

// da = d b, db = d a
void MulOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed needed, Accumulate accumulate) {
  if (needed(0)) accumulate(0, b.mul(d[0], getRhs()));
  if (needed(1)) accumulate(1, b.mul(d[0], getLhs()));
}

// da = d / b, db = -(d / b) y
void DivOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed needed, Accumulate accumulate) {
  Value quotient = b.div(d[0], getRhs());
  if (needed(0)) accumulate(0, quotient);
  if (needed(1)) accumulate(1, b.neg(b.mul(quotient, getResult())));
}

// da = d, db = -d floor(a / b)
void ModOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed needed, Accumulate accumulate) {
  if (needed(0)) accumulate(0, d[0]);
  if (needed(1)) accumulate(1, b.neg(b.mul(d[0], b.binary<FloorDivOp>(getLhs(), getRhs()))));
}

/// The side that the comparison picks gets the gradient; at a tie that is the left one.
static void flowToPicked(Operation *op, Predicate predicate, GraphBuilder &b, Value d, Needed needed,
                         Accumulate accumulate) {
  Value isLeft = b.compare(predicate, op->getOperand(0), op->getOperand(1)), zero = zeroLike(b, d);
  if (needed(0)) accumulate(0, b.select(isLeft, d, zero));
  if (needed(1)) accumulate(1, b.select(isLeft, zero, d));
}

void MaxOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed needed, Accumulate accumulate) {
  flowToPicked(*this, Predicate::GE, b, d[0], needed, accumulate);
}

void MinOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed needed, Accumulate accumulate) {
  flowToPicked(*this, Predicate::LE, b, d[0], needed, accumulate);
}

/// d(x^n)/dx = n x^(n-1), and 0 where n is 0, whatever x is.
static Value powerSlope(GraphBuilder &b, Value x, Value n) {
  if (auto number = constantNumber(n)) {
    if (*number == 0) return zeroLike(b, x);
    if (*number == 1) return b.scalar(1, tensorType(x).getElementType());
    if (*number == 2) return b.mul(x, 2);
    return b.mul(b.pow(x, b.add(n, -1)), n);
  }
  Value zero = zeroLike(b, x);
  return b.select(b.compare(Predicate::EQ, n, zero), zero, b.mul(b.pow(x, b.add(n, -1)), n));
}

// dx = d n x^(n-1); dn = d y log x where x > 0, else 0
void PowOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed needed, Accumulate accumulate) {
  if (needed(0)) accumulate(0, b.mul(d[0], powerSlope(b, getLhs(), getRhs())));
  if (!needed(1)) return;
  Value x = getLhs(), zero = zeroLike(b, x);
  Value isPositive = b.compare(Predicate::GT, x, zero);
  Value slope = b.mul(getResult(), b.log(x));
  accumulate(1, b.select(isPositive, b.mul(d[0], slope), zero));
}

// The side not selected gets zero, even where the other factor of its gradient is not finite.
void SelectOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed needed, Accumulate accumulate) {
  Value zero = zeroLike(b, d[0]);
  if (needed(1)) accumulate(1, b.select(getCondition(), d[0], zero));
  if (needed(2)) accumulate(2, b.select(getCondition(), zero, d[0]));
}

//===----------------------------------------------------------------------===//
// Type and order
//===----------------------------------------------------------------------===//

// Floats only: integers have no gradient.
void CastOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed needed, Accumulate accumulate) {
  if (needed(0)) accumulate(0, b.cast(d[0], getX().getType().getElementType()));
}

void ReorderOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed, Accumulate accumulate) {
  accumulate(0, ReorderOp::create(b, b.getLoc(), getX().getType(), d[0]));
}
