//===- Operators.cpp - arithmetic, comparison, logic -----------------------===//

#include "frontend/elaborate/Operators.h"

using namespace tessera;
using ast::BinaryOp;
using llvm::StringRef;
using llvm::Twine;

mlir::Type Operators::commonType(llvm::ArrayRef<const LanguageValue *> values, bool isFloat) {
  unsigned rank = isFloat ? 2 : 0;
  for (const LanguageValue *value : values) {
    if (value->isNumber())
      rank = std::max(rank, value->number.isFloat() ? 2u : value->number.isBool() ? 0u : 1u);
    else if (value->isTensor())
      rank = std::max(rank, value->tensor.element().isInteger(1) ? 0u : value->tensor.element().isInteger() ? 1u : 2u);
  }
  return rank == 2 ? f32 : rank == 1 ? i32 : i1;
}

mlir::Value Operators::materialize(const LanguageValue &value, mlir::Type element) {
  if (value.isNumber()) {
    Number number = value.number;
    if (element == i32 && (number.asDouble() < INT32_MIN || number.asDouble() > INT32_MAX)) {
      error(DiagnosticCode::E0220, calls.currentSpan(),
            "the number " + number.str() + " does not fit 32 bits, which integers in tensors have")
          .help("compute in floats: `float(…)` of the other side, or a number with a point");
      number = Number::ofInt(0);
    }
    if (element == f32 && std::isfinite(number.asDouble()) && !isFiniteF32(number))
      error(DiagnosticCode::E0220, calls.currentSpan(),
            "the number " + number.str() + " does not fit f32, which floats in tensors have")
          .help("the largest is 3.4e38; infinity is written `inf`");
    return builder.scalar(number.asDouble(), element);
  }
  return builder.cast(value.tensor.value, element);
}

Tensor Operators::materializeScalar(const LanguageValue &number) {
  Tensor scalar;
  scalar.value = materialize(number, commonType({&number}));
  scalar.level = regions.level();
  return scalar;
}

static bool contains(NamedTensorType large, NamedTensorType small) {
  return llvm::all_of(small.getAxes(), [&](AxisAttr axis) { return large.hasAxis(axis.getName()); });
}

bool Operators::checkSameSizes(const Tensor &a, const Tensor &b, Span span) {
  for (AxisAttr axis : a.type().getAxes())
    if (b.type().hasAxis(axis.getName()) && b.type().getSize(axis.getName()) != axis.getSize()) {
      error(DiagnosticCode::E0208, span,
            "the axis `" + axis.getName() + "` has size " + Twine(axis.getSize()) + " on one side and " +
                Twine(b.type().getSize(axis.getName())) + " on the other");
      return false;
    }
  return true;
}

/// One operand must have all axes, or all must be computed from positions.
bool Operators::checkAxes(llvm::ArrayRef<std::pair<const LanguageValue *, Span>> operands, StringRef what) {
  llvm::SmallVector<NamedTensorType> types;
  bool arePositional = true;
  for (auto &[value, span] : operands)
    if (value->isTensor()) {
      types.push_back(value->tensor.type());
      arePositional &= value->tensor.isPositional;
    }
  if (types.size() < 2 || arePositional) return true;
  for (NamedTensorType large : types)
    if (llvm::all_of(types, [&](NamedTensorType small) { return contains(large, small); })) return true;
  auto message = error(
      DiagnosticCode::E0210, operands.front().second,
      "`" + what + "` would make an outer product: " +
          (types.size() == 2 ? "neither side's axes contain the other's" : "no operand's axes contain the others'"));
  llvm::SmallVector<AxisAttr> missing;
  for (auto &[value, span] : operands)
    if (value->isTensor()) {
      message.label(span, describeAxes(value->tensor.type()));
      for (AxisAttr axis : value->tensor.type().getAxes())
        if (!contains(types.front(), value->tensor.type().withAxes({axis}))) missing.push_back(axis);
    }
  calls.noteDims(message, missing);
  // In a product the axis that both sides have is the one to sum over.
  if (what == "*" && types.size() == 2)
    for (AxisAttr axis : types.front().getAxes())
      if (types.back().hasAxis(axis.getName())) {
        message.help("sum over what both sides have: `sum[" + axis.getName() + "](" +
                     diagnostics.sources().text(operands.front().second) + " * " +
                     diagnostics.sources().text(operands.back().second) + ")`");
        return false;
      }
  if (missing.empty()) return false;
  std::string axes = llvm::join(llvm::map_range(missing, [](AxisAttr axis) { return axis.getName(); }), ", ");
  message.help("contract it first, as in `sum[" + missing.front().getName() +
               "](… * …)`, or say that it is meant: with `over[" + axes + "](" +
               diagnostics.sources().text(operands.front().second) + ")` in its place");
  return false;
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

LanguageValue Operators::unary(const ast::UnaryExpr &expr, const LanguageValue &value) {
  bool negate = expr.op == ast::UnaryOp::Negate;
  if (!value.isArithmetic())
    return failed(DiagnosticCode::E0205, expr.operand->span, "expected a number or tensor, got " + describe(value));
  if (value.isNumber()) {
    if (!negate && !value.number.isBool())
      return failed(DiagnosticCode::E0217, expr.operand->span, "`not` needs bools, got " + describe(value));
    if (!negate) return Number::ofBool(value.number.integer == 0);
    if (value.number.isFloat()) return Number::ofFloat(NegOp::valueAt(value.number.real));
    if (std::optional<int64_t> result = NegOp::valueAtInteger(value.number.integer)) return Number::ofInt(*result);
    return failed(DiagnosticCode::E0220, expr.span, "the result does not fit 64 bits");
  }
  Tensor result = value.tensor;
  result.forgetOrigin();
  if (!negate) {
    if (!result.element().isInteger(1))
      return failed(DiagnosticCode::E0217, expr.operand->span, "`not` needs bools, got " + describe(value));
    result.value = builder.unary<NotOp>(result.value);
    return result;
  }
  result.value = builder.neg(materialize(value, result.element().isInteger(1) ? i32 : result.element()));
  if (result.range) result.range = bounds::negated(*result.range);
  if (result.floatRange) result.floatRange = bounds::negated(*result.floatRange);
  return result;
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

/// What is known of an integer: its bounds and whether it is a shifted position.
static void inferPosition(BinaryOp op, const LanguageValue &a, const LanguageValue &b, Tensor &result) {
  std::optional<Interval> ra = integerRangeOf(a), rb = integerRangeOf(b);
  // `%` floors: whatever is on the left, the result is in 0 … n - 1.
  if (op == BinaryOp::Mod && rb && rb->low > 0 && !ra) ra = Interval::int32();
  if (ra && rb) result.range = arithmeticOp(op).boundsOf(*ra, *rb);
  // pos + n, n + pos, pos - n
  const LanguageValue *position = a.isTensor() && a.tensor.affine && b.isNumber()                          ? &a
                                  : b.isTensor() && b.tensor.affine && a.isNumber() && op == BinaryOp::Add ? &b
                                                                                                           : nullptr;
  if (position && (op == BinaryOp::Add || op == BinaryOp::Sub) && result.range) {
    int64_t n = (position == &a ? b : a).number.integer;
    result.affine =
        Affine{position->tensor.affine->axis, position->tensor.affine->offset + (op == BinaryOp::Add ? n : -n)};
  }
}

/// What is known of a sum, difference or product of floats.
static std::optional<FloatRange> floatRangeOfResult(BinaryOp op, const LanguageValue &a, const LanguageValue &b) {
  if (op == BinaryOp::Add) return bounds::sum(floatRangeOf(a), floatRangeOf(b));
  if (op == BinaryOp::Sub) return bounds::difference(floatRangeOf(a), floatRangeOf(b));
  if (op == BinaryOp::Mul) return bounds::product(floatRangeOf(a), floatRangeOf(b));
  return std::nullopt;
}

LanguageValue Operators::binary(BinaryOp op, Span opSpan, Span lhsSpan, Span rhsSpan, const LanguageValue &a,
                                const LanguageValue &b) {
  for (auto [value, span] : {std::pair(&a, lhsSpan), std::pair(&b, rhsSpan)})
    if (!value->isArithmetic())
      return failed(value->kind == LanguageValue::Kind::Function ? DiagnosticCode::E0228 : DiagnosticCode::E0205, span,
                    "`" + spelling(op) + "` needs numbers or tensors, got " + describe(*value));
  bool isLogic = op == BinaryOp::And || op == BinaryOp::Or;
  if (isLogic && commonType({&a, &b}) != i1)
    return failed(DiagnosticCode::E0217, opSpan,
                  "`" + spelling(op) + "` needs bools, got " + describe(a) + " and " + describe(b));
  if (a.isNumber() && b.isNumber()) {
    StringRef why;
    if (std::optional<Number> folded = foldBinary(op, a.number, b.number, why)) return *folded;
    return failed(DiagnosticCode::E0220, opSpan,
                  "`" + a.number.str() + " " + spelling(op) + " " + b.number.str() + "`: " + why);
  }
  if (a.isTensor() && b.isTensor() && !checkSameSizes(a.tensor, b.tensor, opSpan)) return LanguageValue();
  if (!checkAxes({{&a, lhsSpan}, {&b, rhsSpan}}, spelling(op))) return LanguageValue();
  Tensor result;
  result.level = regions.level();
  result.isPositional = (a.isNumber() || a.tensor.isPositional) && (b.isNumber() || b.tensor.isPositional);
  if (std::optional<Predicate> predicate = predicateOf(op)) {
    mlir::Type type = commonType({&a, &b});
    result.value = builder.compare(*predicate, materialize(a, type), materialize(b, type));
    result.range = Interval{0, 1};
    return result;
  }
  if (isLogic) {
    mlir::Value x = materialize(a, i1), y = materialize(b, i1);
    result.value = op == BinaryOp::And ? builder.logicalAnd(x, y) : builder.binary<OrOp>(x, y);
    return result;
  }
  bool byZero = b.isNumber() && b.number.asDouble() == 0;
  if (byZero && (op == BinaryOp::Div || op == BinaryOp::FloorDiv || op == BinaryOp::Mod))
    return failed(DiagnosticCode::E0220, opSpan, "division by zero");
  result.value = buildArithmetic(op, a, b);
  if (result.element().isInteger(32))
    inferPosition(op, a, b, result);
  else
    result.floatRange = floatRangeOfResult(op, a, b);
  return result;
}

mlir::Value Operators::buildArithmetic(BinaryOp op, const LanguageValue &a, const LanguageValue &b) {
  if (op == BinaryOp::Pow) return buildPower(a, b);
  mlir::Type type = commonType({&a, &b}, /*isFloat=*/op == BinaryOp::Div);
  if (type == i1) type = i32;
  // Integers: x - c is x + (-c), the form that shifted positions have everywhere.
  if (op == BinaryOp::Sub && type == i32 && b.isNumber())
    return builder.add(materialize(a, type), materialize(Number::ofInt(-b.number.asInteger()), type));
  mlir::Value x = materialize(a, type), y = materialize(b, type);
  return arithmeticOp(op).build(builder, x, y);
}

/// Small whole exponents are products, 0.5 is a square root: exact, and cheaper to differentiate.
mlir::Value Operators::buildPower(const LanguageValue &a, const LanguageValue &b) {
  mlir::Value base = materialize(a, f32);
  if (b.isNumber() && a.isTensor()) {
    double exponent = b.number.asDouble();
    if (exponent == 0.5) return builder.sqrt(base);
    if (exponent == -0.5) return builder.rsqrt(base);
    if (exponent == 1) return base;
    if (exponent == 2) return builder.mul(base, base);
    if (exponent == 3) return builder.mul(builder.mul(base, base), base);
    if (exponent == 4) {
      mlir::Value square = builder.mul(base, base);
      return builder.mul(square, square);
    }
    if (exponent == -1) return builder.div(builder.scalar(1, f32), base);
  }
  return builder.pow(base, materialize(b, f32));
}
