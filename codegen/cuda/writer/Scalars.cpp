//===- Scalars.cpp - element types, literals and ops as C++ expressions -----===//

#include "codegen/cuda/writer/Scalars.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

StringRef cuda::scalarType(Type element) {
  if (element.isF32()) return "float";
  if (element.isF64()) return "double";
  if (element.isBF16()) return "tsr::bf16";
  if (element.isF16()) return "tsr::f16";
  if (isa<Float8E4M3FNType>(element)) return "tsr::e4m3";
  if (isa<Float8E5M2Type>(element)) return "tsr::e5m2";
  if (element.isInteger(1)) return "bool";
  return element.isInteger(64) ? "tsr::i64" : "int";
}

static bool isLowPrecision(Type element) { return isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32; }

Type cuda::accumulatorType(Type element) {
  return isLowPrecision(element) ? Type(Float32Type::get(element.getContext())) : element;
}

int64_t cuda::bytesOf(Type element) { return std::max<int64_t>(element.getIntOrFloatBitWidth() / 8, 1); }

//===----------------------------------------------------------------------===//
// Literals
//===----------------------------------------------------------------------===//

/// The shortest decimal that is parsed as the same number.
static std::string decimal(double number, bool isSingle) {
  std::string text;
  for (int digits = 1; digits <= 17; ++digits) {
    text.clear();
    llvm::raw_string_ostream(text) << llvm::format("%.*g", digits, number);
    double back = std::strtod(text.c_str(), nullptr);
    if (isSingle ? static_cast<float>(back) == static_cast<float>(number) : back == number) break;
  }
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return isSingle ? text + "f" : text;
}

static std::string integerLiteral(int64_t number, Type element) {
  if (element.isInteger(1)) return number ? "true" : "false";
  int64_t lowest = element.isInteger(64) ? INT64_MIN : INT32_MIN;
  std::string suffix = element.isInteger(64) ? "ll" : "";
  if (number == lowest) return "(" + std::to_string(number + 1) + suffix + " - 1)"; // its digits alone exceed the type
  std::string text = std::to_string(number) + suffix;
  return number < 0 ? "(" + text + ")" : text;
}

std::string cuda::literal(double number, Type element) {
  if (isa<IntegerType>(element)) return integerLiteral(static_cast<int64_t>(number), element);
  std::string text = std::isnan(number)   ? "tsr::not_a_number()"
                     : std::isinf(number) ? (number < 0 ? "-tsr::infinity()" : "tsr::infinity()")
                                          : decimal(number, !element.isF64());
  if (element.isF64() && !std::isfinite(number)) return "double(" + text + ")";
  if (isLowPrecision(element)) return (scalarType(element) + "(" + text + ")").str();
  return text.front() == '-' ? "(" + text + ")" : text;
}

std::string cuda::literal(Attribute number, Type element) {
  if (auto integer = dyn_cast<IntegerAttr>(number)) {
    int64_t whole = integer.getValue().getSExtValue();
    return integerLiteral(element.isInteger(1) ? whole != 0 : whole, element);
  }
  return literal(cast<FloatAttr>(number).getValueAsDouble(), element);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

std::string cuda::castTo(StringRef expression, Type from, Type to) {
  if (from == to) return expression.str();
  auto call = [](StringRef function, const Twine &argument) { return (function + "(" + argument + ")").str(); };
  std::string wide = isLowPrecision(from) ? call("float", expression) : expression.str();
  Type wideType = accumulatorType(from);
  if (to.isInteger(1)) return "(" + wide + " != 0)";
  if (isa<IntegerType>(to)) {
    if (isa<FloatType>(from)) return call(to.isInteger(64) ? "tsr::to_long" : "tsr::to_int", wide);
    return call(to.isInteger(64) ? "tsr::i64" : "int", wide);
  }
  if (from == to) return wide;
  if (isLowPrecision(to)) return call(scalarType(to), wideType.isF32() ? wide : call("float", wide));
  return wideType == to ? wide : call(scalarType(to), wide);
}

/// An op without a C++ operator is the function of its name in device/scalars.cuh.
static std::string functionOf(Operation *op) {
  return isa<ElementwiseOpInterface>(op) ? "tsr::" + op->getName().stripDialect().str() : "";
}

static StringRef operatorOf(Operation *op) {
  static constexpr llvm::StringLiteral predicates[] = {"==", "!=", "<", "<=", ">", ">="};
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<AddOp>([](auto) { return "+"; })
      .Case<SubOp>([](auto) { return "-"; })
      .Case<MulOp>([](auto) { return "*"; })
      .Case<DivOp>([](auto) { return "/"; })
      .Case<AndOp>([](auto) { return "&&"; })
      .Case<OrOp>([](auto) { return "||"; })
      .Case<CompareOp>(
          [](CompareOp compare) -> StringRef { return predicates[static_cast<unsigned>(compare.getPredicate())]; })
      .Default(StringRef());
}

/// Signed sums and products wrap around: they are computed with unsigned integers, for which C++ defines that.
static std::string wrapping(StringRef symbol, StringRef a, StringRef b, Type element) {
  StringRef wide = element.isInteger(64) ? "unsigned long long" : "unsigned";
  return (cuda::scalarType(element) + "((" + wide + ")" + a + " " + symbol + " (" + wide + ")" + b + ")").str();
}

/// Powers with exponents 1, 2 and -1 are products and quotients, which are as accurate as `pow`.
static std::string power(PowOp op, StringRef base, StringRef exponent) {
  if (auto constant = op.getRhs().getDefiningOp<ConstantOp>()) {
    if (constant.getNumber() == 1) return base.str();
    if (constant.getNumber() == 2) return (base + " * " + base).str();
    if (constant.getNumber() == -1)
      return (cuda::literal(1.0, cuda::accumulatorType(op.getType().getElementType())) + " / " + base).str();
  }
  return ("tsr::pow(" + base + ", " + exponent + ")").str();
}

std::string cuda::elementwise(Operation *op, ArrayRef<std::string> operands) {
  Type element = tensorType(op->getResult(0)).getElementType();
  auto typeOf = [&](unsigned i) { return tensorType(op->getOperand(i)).getElementType(); };
  if (op->hasTrait<traits::PointwiseIdentity>()) return operands[0];
  if (isa<CastOp>(op)) return castTo(operands[0], typeOf(0), element);
  if (isa<SelectOp>(op)) return operands[0] + " ? " + operands[1] + " : " + operands[2];
  if (isa<NotOp>(op)) return "!" + operands[0];
  // Arithmetic on low-precision types is done in f32 and rounded.
  SmallVector<std::string> wide;
  for (auto [i, operand] : llvm::enumerate(operands))
    wide.push_back(castTo(operand, typeOf(i), accumulatorType(typeOf(i))));
  auto rounded = [&](const std::string &expression) {
    return isLowPrecision(element) ? (scalarType(element) + "(" + expression + ")").str() : expression;
  };
  if (isa<NegOp>(op)) {
    if (isa<IntegerType>(element)) return wrapping("-", "0", wide[0], element);
    return rounded("-" + wide[0]);
  }
  if (auto pow = dyn_cast<PowOp>(op)) return rounded(power(pow, wide[0], wide[1]));
  if (StringRef symbol = operatorOf(op); !symbol.empty()) {
    if (isa<AddOp, SubOp, MulOp>(op) && isa<IntegerType>(element)) return wrapping(symbol, wide[0], wide[1], element);
    std::string expression = (wide[0] + " " + symbol + " " + wide[1]).str();
    return isa<CompareOp>(op) ? expression : rounded(expression);
  }
  std::string function = functionOf(op);
  if (function.empty()) return "";
  std::string call = function + "(" + llvm::join(wide, ", ") + ")";
  return isa<StochasticRoundOp>(op) ? call : rounded(call);
}

StringRef cuda::reduction(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return "tsr::Sum";
  case ReduceKind::Max:
    return "tsr::Max";
  case ReduceKind::Min:
    return "tsr::Min";
  case ReduceKind::MaxNum:
    return "tsr::MaxNum";
  }
  llvm_unreachable("all kinds are handled");
}

std::string cuda::neutral(ReduceKind kind, Type element) {
  element = accumulatorType(element);
  bool isFloat = isa<FloatType>(element);
  int64_t largest = element.isInteger(64) ? INT64_MAX : INT32_MAX;
  switch (kind) {
  case ReduceKind::Sum:
    return literal(0.0, element);
  case ReduceKind::Max:
  case ReduceKind::MaxNum:
    return isFloat ? literal(-INFINITY, element) : integerLiteral(-largest - 1, element);
  case ReduceKind::Min:
    return isFloat ? literal(INFINITY, element) : integerLiteral(largest, element);
  }
  llvm_unreachable("all kinds are handled");
}
