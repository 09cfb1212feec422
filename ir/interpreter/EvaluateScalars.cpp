//===- EvaluateScalars.cpp - elementwise ops at one point -----------------===//

#include "ir/interpreter/Interpreter.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;

static constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

double NegOp::applyScalar(ArrayRef<double> x) { return -x[0]; }
double ExpOp::applyScalar(ArrayRef<double> x) { return std::exp(x[0]); }
double LogOp::applyScalar(ArrayRef<double> x) { return std::log(x[0]); }
double SqrtOp::applyScalar(ArrayRef<double> x) { return std::sqrt(x[0]); }
double RsqrtOp::applyScalar(ArrayRef<double> x) { return 1 / std::sqrt(x[0]); }
double TanhOp::applyScalar(ArrayRef<double> x) { return std::tanh(x[0]); }
double SigmoidOp::applyScalar(ArrayRef<double> x) {
  double e = std::exp(-std::abs(x[0]));
  return (x[0] < 0 ? e : 1) / (1 + e);
}
double ErfOp::applyScalar(ArrayRef<double> x) { return std::erf(x[0]); }
double SinOp::applyScalar(ArrayRef<double> x) { return std::sin(x[0]); }
double CosOp::applyScalar(ArrayRef<double> x) { return std::cos(x[0]); }
double AbsOp::applyScalar(ArrayRef<double> x) { return std::abs(x[0]); }
double FloorOp::applyScalar(ArrayRef<double> x) { return std::floor(x[0]); }
double CeilOp::applyScalar(ArrayRef<double> x) { return std::ceil(x[0]); }
double SignOp::applyScalar(ArrayRef<double> x) { return std::isnan(x[0]) ? notANumber : (x[0] > 0) - (x[0] < 0); }
double NotOp::applyScalar(ArrayRef<double> x) { return x[0] == 0; }

double AddOp::applyScalar(ArrayRef<double> x) { return x[0] + x[1]; }
double SubOp::applyScalar(ArrayRef<double> x) { return x[0] - x[1]; }
double MulOp::applyScalar(ArrayRef<double> x) { return x[0] * x[1]; }
double DivOp::applyScalar(ArrayRef<double> x) { return x[0] / x[1]; }
double MaxOp::applyScalar(ArrayRef<double> x) { return std::isnan(x[0]) || x[0] >= x[1] ? x[0] : x[1]; }
double MinOp::applyScalar(ArrayRef<double> x) { return std::isnan(x[0]) || x[0] <= x[1] ? x[0] : x[1]; }
double PowOp::applyScalar(ArrayRef<double> x) { return std::pow(x[0], x[1]); }
double FloorDivOp::applyScalar(ArrayRef<double> x) { return std::floor(x[0] / x[1]); }
double ModOp::applyScalar(ArrayRef<double> x) {
  double remainder = std::fmod(x[0], x[1]);
  return remainder != 0 && (remainder < 0) != (x[1] < 0) ? remainder + x[1] : remainder;
}
double AndOp::applyScalar(ArrayRef<double> x) { return x[0] != 0 && x[1] != 0; }
double OrOp::applyScalar(ArrayRef<double> x) { return x[0] != 0 || x[1] != 0; }

double CompareOp::applyScalar(ArrayRef<double> x) {
  switch (getPredicate()) {
  case Predicate::EQ:
    return x[0] == x[1];
  case Predicate::NE:
    return x[0] != x[1];
  case Predicate::LT:
    return x[0] < x[1];
  case Predicate::LE:
    return x[0] <= x[1];
  case Predicate::GT:
    return x[0] > x[1];
  case Predicate::GE:
    return x[0] >= x[1];
  }
  llvm_unreachable("all predicates are handled");
}

double SelectOp::applyScalar(ArrayRef<double> x) { return x[0] != 0 ? x[1] : x[2]; }

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
    evaluateElementwise(*this, operands, results[0]);
  else
    results[0].data = operands[0].reordered(results[0].type.withElementType(operands[0].type.getElementType())).data;
  return success();
}
