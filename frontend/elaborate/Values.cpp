//===- Values.cpp - arithmetic at compile time -----------------------------===//

#include "frontend/elaborate/Values.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace tessera;
using ast::BinaryOp;
using llvm::StringRef;

std::string Number::str() const {
  if (isBool()) return integer ? "true" : "false";
  if (!isFloat()) return std::to_string(integer);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", real);
  return text;
}

static std::optional<Number> foldIntegers(BinaryOp op, int64_t a, int64_t b, StringRef &why) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
  case BinaryOp::Add:
    overflow = __builtin_add_overflow(a, b, &result);
    break;
  case BinaryOp::Sub:
    overflow = __builtin_sub_overflow(a, b, &result);
    break;
  case BinaryOp::Mul:
    overflow = __builtin_mul_overflow(a, b, &result);
    break;
  case BinaryOp::FloorDiv:
  case BinaryOp::Mod: {
    if (b == 0) return why = "division by zero", std::nullopt;
    if (b == -1) return op == BinaryOp::Mod ? Number::ofInt(0) : foldIntegers(BinaryOp::Sub, 0, a, why);
    int64_t quotient = a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
    result = op == BinaryOp::FloorDiv ? quotient : a - quotient * b;
    break;
  }
  default:
    llvm_unreachable("not an operator of whole numbers");
  }
  if (overflow) return why = "the result does not fit 64 bits", std::nullopt;
  return Number::ofInt(result);
}

/// A result of floats: a number, and finite where the operands are.
static std::optional<Number> finiteLike(double result, double lhs, double rhs, StringRef &why) {
  if (std::isnan(result)) return why = "the result is not a number", std::nullopt;
  if (std::isinf(result) && std::isfinite(lhs) && std::isfinite(rhs))
    return why = "the result is too large", std::nullopt;
  return Number::ofFloat(result);
}

static std::optional<Number> foldPower(Number lhs, Number rhs, StringRef &why) {
  if (lhs.asDouble() == 0 && rhs.asDouble() < 0) return why = "division by zero", std::nullopt;
  double power = std::pow(lhs.asDouble(), rhs.asDouble());
  if (std::isnan(power)) return why = "the power is not a real number", std::nullopt;
  bool whole = !lhs.isFloat() && !rhs.isFloat() && rhs.integer >= 0;
  if (!whole) return finiteLike(power, lhs.asDouble(), rhs.asDouble(), why);
  if (std::fabs(power) > 9e15) return why = "the result does not fit 64 bits", std::nullopt;
  return Number::ofInt(static_cast<int64_t>(power));
}

static bool compareNumbers(BinaryOp op, Number lhs, Number rhs) {
  double a = lhs.asDouble(), b = rhs.asDouble();
  switch (op) {
  case BinaryOp::Eq:
    return a == b;
  case BinaryOp::Ne:
    return a != b;
  case BinaryOp::Lt:
    return a < b;
  case BinaryOp::Le:
    return a <= b;
  case BinaryOp::Gt:
    return a > b;
  default:
    return a >= b;
  }
}

std::optional<Number> tessera::foldBinary(BinaryOp op, Number lhs, Number rhs, StringRef &why) {
  double a = lhs.asDouble(), b = rhs.asDouble();
  switch (op) {
  case BinaryOp::Or:
    return Number::ofBool(a != 0 || b != 0);
  case BinaryOp::And:
    return Number::ofBool(a != 0 && b != 0);
  case BinaryOp::Eq:
  case BinaryOp::Ne:
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
    return Number::ofBool(compareNumbers(op, lhs, rhs));
  case BinaryOp::Div:
    if (b == 0) return why = "division by zero", std::nullopt;
    return finiteLike(a / b, a, b, why);
  case BinaryOp::Pow:
    return foldPower(lhs, rhs, why);
  default:
    break;
  }
  if (!lhs.isFloat() && !rhs.isFloat()) return foldIntegers(op, lhs.integer, rhs.integer, why);
  switch (op) {
  case BinaryOp::Add:
    return finiteLike(a + b, a, b, why);
  case BinaryOp::Sub:
    return finiteLike(a - b, a, b, why);
  case BinaryOp::Mul:
    return finiteLike(a * b, a, b, why);
  default:
    if (b == 0) return why = "division by zero", std::nullopt;
    return finiteLike(op == BinaryOp::FloorDiv ? std::floor(a / b) : a - std::floor(a / b) * b, a, b, why);
  }
}

std::optional<Number> tessera::foldUnary(StringRef function, Number x, StringRef &why) {
  double v = x.asDouble();
  auto real = [&](double result) -> std::optional<Number> {
    if (std::isnan(result)) return why = "the argument is outside the function's domain", std::nullopt;
    return finiteLike(result, v, 0, why);
  };
  if (function == "floor" || function == "ceil" || function == "int") {
    double rounded = function == "floor" ? std::floor(v) : function == "ceil" ? std::ceil(v) : std::trunc(v);
    if (!x.isFloat()) return Number::ofInt(x.integer);
    if (!(std::fabs(rounded) < 9e15)) return why = "the result does not fit 64 bits", std::nullopt;
    return Number::ofInt(static_cast<int64_t>(rounded));
  }
  if (function == "abs" && !x.isFloat()) {
    if (x.integer == INT64_MIN) return why = "the result does not fit 64 bits", std::nullopt;
    return Number::ofInt(std::abs(x.integer));
  }
  if (function == "sign" && !x.isFloat()) return Number::ofInt((x.integer > 0) - (x.integer < 0));
  if (function == "rsqrt") return v > 0 ? real(1 / std::sqrt(v)) : real(std::nan(""));
  if (function == "log" && v <= 0) return why = "the argument is outside the function's domain", std::nullopt;
  static const std::pair<StringRef, double (*)(double)> table[] = {
      {"exp", std::exp}, {"log", std::log}, {"sqrt", std::sqrt}, {"tanh", std::tanh},
      {"erf", std::erf}, {"sin", std::sin}, {"cos", std::cos},   {"abs", std::fabs},
  };
  for (auto &[name, compute] : table)
    if (name == function) return real(compute(v));
  if (function == "sign") return Number::ofFloat((v > 0) - (v < 0));
  return Number::ofFloat(v); // float, f32
}

static std::optional<Interval> hull(std::initializer_list<__int128> candidates) {
  __int128 low = *candidates.begin(), high = low;
  for (__int128 candidate : candidates) {
    low = std::min(low, candidate);
    high = std::max(high, candidate);
  }
  if (low < INT32_MIN || high > INT32_MAX) return std::nullopt;
  return Interval{static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

std::optional<Interval> tessera::intervalOf(BinaryOp op, Interval lhs, Interval rhs) {
  auto floorDiv = [](int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); };
  __int128 a = lhs.low, b = lhs.high, c = rhs.low, d = rhs.high;
  switch (op) {
  case BinaryOp::Add:
    return hull({a + c, b + d});
  case BinaryOp::Sub:
    return hull({a - d, b - c});
  case BinaryOp::Mul:
    return hull({a * c, a * d, b * c, b * d});
  case BinaryOp::FloorDiv:
    if (rhs.low <= 0) return std::nullopt;
    return hull({floorDiv(lhs.low, rhs.low), floorDiv(lhs.low, rhs.high), floorDiv(lhs.high, rhs.low),
                 floorDiv(lhs.high, rhs.high)});
  case BinaryOp::Mod:
    if (rhs.low <= 0) return std::nullopt;
    if (lhs.low >= 0 && lhs.high < rhs.low) return lhs;
    return Interval{0, rhs.high - 1};
  default:
    return std::nullopt;
  }
}

std::string tessera::describeAxes(NamedTensorType type) {
  std::string text = "[";
  for (AxisAttr axis : type.getAxes()) text += (text.size() > 1 ? ", " : "") + axis.getName().str();
  return text + "]";
}

std::string tessera::describe(const Value &value) {
  switch (value.kind) {
  case Value::Kind::Number:
    return "the number " + value.number.str();
  case Value::Kind::Tensor: {
    mlir::Type element = value.tensor.element();
    std::string kind = element.isInteger(1) ? "bools" : element.isInteger() ? "integers" : "floats";
    return value.tensor.type().isScalar() ? "a scalar of type " + kind.substr(0, kind.size() - 1)
                                          : kind + " " + describeAxes(value.tensor.type());
  }
  case Value::Kind::Function:
    return ("the function `" + value.function.name + "`").str();
  case Value::Kind::Tuple:
    return "a tuple";
  case Value::Kind::Data:
    return "a data source";
  case Value::Kind::Text:
    return "text";
  case Value::Kind::None:
    return "`none`";
  case Value::Kind::Error:
    break;
  }
  return "an erroneous value";
}
