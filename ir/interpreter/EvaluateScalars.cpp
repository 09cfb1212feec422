//===- EvaluateScalars.cpp - elementwise ops at one point -----------------===//
//
// Those whose evaluation is no expression in TsrElementwise.td.
//
//===----------------------------------------------------------------------===//

#include "ir/interpreter/Interpreter.h"
#include "llvm/ADT/bit.h"
#include <cmath>

using namespace mlir;
using namespace tessera;

double tessera::floorRemainder(double a, double b) {
  double remainder = std::fmod(a, b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

bool CompareOp::holds(Predicate predicate, double a, double b) {
  switch (predicate) {
  case Predicate::EQ:
    return a == b;
  case Predicate::NE:
    return a != b;
  case Predicate::LT:
    return a < b;
  case Predicate::LE:
    return a <= b;
  case Predicate::GT:
    return a > b;
  case Predicate::GE:
    return a >= b;
  }
  llvm_unreachable("all predicates are handled");
}

double CompareOp::applyScalar(ArrayRef<double> x) { return holds(getPredicate(), x[0], x[1]); }

double SelectOp::applyScalar(ArrayRef<double> x) { return x[0] != 0 ? x[1] : x[2]; }
std::optional<Interval> SelectOp::inferBounds(ArrayRef<Interval> x) { return bounds::hull(x[1], x[2]); }

double CastOp::applyScalar(ArrayRef<double> x) {
  Type to = getType().getElementType();
  if (to.isInteger(1)) return x[0] != 0;
  if (!isa<IntegerType>(to)) return x[0];
  if (!isa<FloatType>(getX().getType().getElementType())) return x[0];
  if (std::isnan(x[0])) return 0;
  double beyond = std::ldexp(1.0, static_cast<int>(to.getIntOrFloatBitWidth()) - 1);
  double largest = to.isInteger(64) ? std::nextafter(beyond, 0.0) : beyond - 1;
  return std::clamp(std::trunc(x[0]), -beyond, largest);
}

double ReorderOp::applyScalar(ArrayRef<double> x) { return x[0]; }

double StopOp::applyScalar(ArrayRef<double> x) { return x[0]; }

LogicalResult StopOp::evaluate(ArrayRef<TensorValue> operands, MutableArrayRef<TensorValue> results,
                               Interpreter &interpreter) {
  results[0].data = interpreter.atStop(operands[0]).data;
  return success();
}

/// Of the magnitude's bits below bf16's, as many as f32 has; an f64 number between two of f32 counts as the lower.
double StochasticRoundOp::applyScalar(ArrayRef<double> x) {
  auto bits = llvm::bit_cast<uint32_t>(static_cast<float>(x[0]));
  if ((bits & 0x7f800000) == 0x7f800000) return x[0]; // infinity and NaN
  bits += static_cast<uint32_t>(x[1] * 65536);
  return llvm::bit_cast<float>(bits & 0xffff0000);
}

LogicalResult StochasticRoundOp::evaluate(ArrayRef<TensorValue> operands, MutableArrayRef<TensorValue> results,
                                          Interpreter &interpreter) {
  // In f64 nothing is rounded.
  bool isRounding = interpreter.partialRounding(getX().getType().getElementType()).interpreter != nullptr;
  if (isRounding)
    evaluateElementwise(*this, operands, results);
  else
    results[0].data = operands[0].reordered(results[0].type.withElementType(operands[0].type.getElementType())).data;
  return success();
}
