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
    if (b == -1) return op == BinaryOp::Mod ? Number::ofInt(0) : foldIntegers(BinaryOp::Sub, 0, a, why);
    int64_t quotient = floorDiv(a, b);
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
  double power = PowOp::valueAt(lhs.asDouble(), rhs.asDouble());
  if (std::isnan(power)) return why = "the power is not a real number", std::nullopt;
  bool whole = !lhs.isFloat() && !rhs.isFloat() && rhs.integer >= 0;
  if (!whole) return finiteLike(power, lhs.asDouble(), rhs.asDouble(), why);
  if (std::fabs(power) > 9e15) return why = "the result does not fit 64 bits", std::nullopt;
  return Number::ofInt(static_cast<int64_t>(power));
}

const BinaryFunction &tessera::arithmeticOp(BinaryOp op) {
  static const std::pair<BinaryOp, StringRef> table[] = {
      {BinaryOp::Add, AddOp::getOperationName()},           {BinaryOp::Sub, SubOp::getOperationName()},
      {BinaryOp::Mul, MulOp::getOperationName()},           {BinaryOp::Div, DivOp::getOperationName()},
      {BinaryOp::FloorDiv, FloorDivOp::getOperationName()}, {BinaryOp::Mod, ModOp::getOperationName()},
      {BinaryOp::Pow, PowOp::getOperationName()},
  };
  const auto *entry = llvm::find_if(table, [&](const auto &entry) { return entry.first == op; });
  assert(entry != std::end(table) && "expected an arithmetic operator");
  StringRef mnemonic = entry->second.split('.').second;
  return *llvm::find_if(binaryFunctions(), [&](const BinaryFunction &function) { return function.op == mnemonic; });
}

std::optional<Predicate> tessera::predicateOf(BinaryOp op) {
  switch (op) {
  case BinaryOp::Eq:
    return Predicate::EQ;
  case BinaryOp::Ne:
    return Predicate::NE;
  case BinaryOp::Lt:
    return Predicate::LT;
  case BinaryOp::Le:
    return Predicate::LE;
  case BinaryOp::Gt:
    return Predicate::GT;
  case BinaryOp::Ge:
    return Predicate::GE;
  default:
    return std::nullopt;
  }
}

std::optional<Number> tessera::foldBinary(BinaryOp op, Number lhs, Number rhs, StringRef &why) {
  double a = lhs.asDouble(), b = rhs.asDouble();
  if (op == BinaryOp::Or) return Number::ofBool(OrOp::valueAt(a, b) != 0);
  if (op == BinaryOp::And) return Number::ofBool(AndOp::valueAt(a, b) != 0);
  if (std::optional<Predicate> predicate = predicateOf(op)) return Number::ofBool(CompareOp::holds(*predicate, a, b));
  if (op == BinaryOp::Pow) return foldPower(lhs, rhs, why);
  bool divides = op == BinaryOp::Div || op == BinaryOp::FloorDiv || op == BinaryOp::Mod;
  if (divides && b == 0) return why = "division by zero", std::nullopt;
  // Integers are exact in 64 bits, which doubles do not hold.
  if (op != BinaryOp::Div && !lhs.isFloat() && !rhs.isFloat()) return foldIntegers(op, lhs.integer, rhs.integer, why);
  return finiteLike(arithmeticOp(op).evaluate(a, b), a, b, why);
}

std::optional<Number> tessera::foldCall(const BinaryFunction &function, Number lhs, Number rhs, StringRef &why) {
  double a = lhs.asDouble(), b = rhs.asDouble(), result = function.evaluate(a, b);
  if (function.takesIntegers && result == a) return lhs;
  if (function.takesIntegers && result == b) return rhs;
  if (std::isnan(result)) return why = "the arguments are outside the function's domain", std::nullopt;
  return finiteLike(result, a, b, why);
}

/// A float that is a whole number, as an integer.
static std::optional<Number> toInteger(double whole, StringRef &why) {
  if (!(std::fabs(whole) < 9e15)) return why = "the result does not fit 64 bits", std::nullopt;
  return Number::ofInt(static_cast<int64_t>(whole));
}

std::optional<Number> tessera::foldUnary(const UnaryFunction &function, Number x, StringRef &why) {
  if (!x.isFloat() && function.evaluateInteger) {
    if (std::optional<int64_t> result = function.evaluateInteger(x.integer)) return Number::ofInt(*result);
    return why = "the result does not fit 64 bits", std::nullopt;
  }
  double argument = x.asDouble(), result = function.evaluate(argument);
  if (function.roundsToInteger) return toInteger(result, why);
  // A result that is infinite for a small argument is no overflow: the argument is a pole.
  bool isPole = std::isinf(result) && std::fabs(argument) <= 1;
  if (std::isnan(result) || isPole) return why = "the argument is outside the function's domain", std::nullopt;
  return finiteLike(result, argument, 0, why);
}

std::optional<Number> tessera::foldToInteger(Number x, StringRef &why) {
  return x.isFloat() ? toInteger(std::trunc(x.real), why) : Number::ofInt(x.integer);
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

std::optional<Interval> tessera::integerRangeOf(const LanguageValue &value) {
  if (value.isTensor()) return value.tensor.element().isInteger(1) ? Interval{0, 1} : value.tensor.range;
  if (value.number.isFloat() || !Interval::int32().contains(Interval::point(value.number.integer))) return std::nullopt;
  return Interval::point(value.number.integer);
}

FloatRange tessera::floatRangeOf(const LanguageValue &value) {
  if (value.isNumber()) return FloatRange::ofNumber(value.number.asDouble());
  if (!value.tensor.element().isInteger()) return value.tensor.floatRange.value_or(FloatRange());
  return FloatRange::ofIntegers(integerRangeOf(value).value_or(Interval::int32()));
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

std::string tessera::describeAxes(NamedTensorType type) {
  std::string text = "[";
  for (AxisAttr axis : type.getAxes()) text += (text.size() > 1 ? ", " : "") + axis.getName().str();
  return text + "]";
}

std::string tessera::describe(const LanguageValue &value) {
  switch (value.kind) {
  case LanguageValue::Kind::Number:
    return "the number " + value.number.str();
  case LanguageValue::Kind::Tensor: {
    mlir::Type element = value.tensor.element();
    std::string kind = element.isInteger(1) ? "bools" : element.isInteger() ? "integers" : "floats";
    return value.tensor.type().isScalar() ? "a scalar of type " + kind.substr(0, kind.size() - 1)
                                          : kind + " " + describeAxes(value.tensor.type());
  }
  case LanguageValue::Kind::Function:
    return ("the function `" + value.function.name + "`").str();
  case LanguageValue::Kind::Tuple:
    return "a tuple";
  case LanguageValue::Kind::Data:
    return "a data source";
  case LanguageValue::Kind::Text:
    return "text";
  case LanguageValue::Kind::None:
    return "`none`";
  case LanguageValue::Kind::Error:
    break;
  }
  return "an erroneous value";
}
