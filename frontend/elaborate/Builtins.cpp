//===- Builtins.cpp - functions that are not written in the language -------===//

#include "frontend/elaborate/Builtins.h"
#include "frontend/elaborate/Conditions.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

/// Built-in functions that are more, or less, than an elementwise op of one or two operands.
static constexpr llvm::StringLiteral otherNames[] = {"clamp", "cumsum", "f32",  "float", "int",   "mean",    "normal",
                                                     "over",  "pos",    "stop", "sum",   "top_k", "uniform", "where"};

/// Whether the name, with axes behind it, is a reduction. Without axes `max` and `min` are functions of two values.
static bool isReduction(StringRef name) { return name == "sum" || name == "mean" || name == "max" || name == "min"; }

llvm::ArrayRef<StringRef> tessera::builtinNames() {
  static const std::vector<StringRef> names = [] {
    std::vector<StringRef> all(std::begin(otherNames), std::end(otherNames));
    for (const UnaryFunction &function : unaryFunctions())
      if (!function.languageName.empty()) all.push_back(function.languageName);
    for (const BinaryFunction &function : binaryFunctions())
      if (!function.languageName.empty()) all.push_back(function.languageName);
    llvm::sort(all);
    return all;
  }();
  return names;
}

bool tessera::isBuiltin(StringRef name) { return llvm::is_contained(builtinNames(), name); }

/// Evaluates the arguments of a built-in function, all by position; as many as `min` to `max`.
std::optional<std::vector<LanguageValue>> Builtins::evalArguments(const ast::CallExpr &call, unsigned min,
                                                                  unsigned max) {
  if (call.args.size() < min || call.args.size() > max) {
    error(DiagnosticCode::E0206, call.span,
          "`" + call.callee.text + "` takes " + Twine(min) +
              (min == max ? Twine(min == 1 ? " argument" : " arguments") : " to " + Twine(max) + " arguments") +
              ", got " + Twine(call.args.size()));
    return std::nullopt;
  }
  std::vector<LanguageValue> values(call.args.size());
  for (unsigned i = 0; i < call.args.size(); ++i) {
    const ast::Argument &arg = call.args[i];
    if (!arg.name.text.empty()) {
      error(DiagnosticCode::E0206, arg.name.span, "`" + call.callee.text + "` has no parameter `" + arg.name.text + "`")
          .help("built-in functions take their arguments by position, without names");
      return std::nullopt;
    }
    values[i] = evaluator.eval(*arg.value);
    if (values[i].isError()) return std::nullopt;
  }
  return values;
}

/// Evaluates the `count` operands of an elementwise function: numbers or tensors.
std::optional<std::vector<LanguageValue>> Builtins::evalOperands(StringRef name, const ast::CallExpr &call,
                                                                 unsigned count) {
  std::optional<std::vector<LanguageValue>> values = evalArguments(call, count, count);
  for (unsigned i = 0; values && i < count; ++i) {
    const LanguageValue &value = (*values)[i];
    if (value.isArithmetic()) continue;
    error(DiagnosticCode::E0205, call.args[i].value->span,
          "`" + name + "` needs " + (count == 1 ? "a number or tensor" : "numbers or tensors") + ", got " +
              describe(value));
    return std::nullopt;
  }
  return values;
}

LanguageValue Builtins::call(StringRef name, const ast::CallExpr &call,
                             const std::optional<std::vector<AxisRef>> &axes) {
  const BinaryFunction *ofTwo = findBinaryFunction(name);
  if (isReduction(name) && (call.axes || axes || !ofTwo)) return axisReductions.reduce(name, call, axes);
  if (name == "over") return over(call);
  if (name == "pos") return failed(DiagnosticCode::E0206, call.span, "`pos` is not called: write `pos[seq]`");
  if (name == "uniform" || name == "normal") return random(name, call);
  if (name == "top_k" || name == "cumsum") return unsupported(call.callee.span, "`" + name + "` is");
  if (call.axes) return failed(DiagnosticCode::E0207, call.axes->span, "`" + name + "` takes no axes");
  if (name == "where") return where(call);
  if (name == "clamp") return clamp(call);
  if (name == "stop") return stop(call);
  if (name == "float" || name == "f32" || name == "int") return cast(name, call);
  return ofTwo ? binary(*ofTwo, call) : unary(*findUnaryFunction(name), call);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

LanguageValue Builtins::unary(const UnaryFunction &function, const ast::CallExpr &call) {
  StringRef name = function.languageName;
  auto args = evalOperands(name, call, 1);
  if (!args) return LanguageValue();
  LanguageValue &x = args->front();
  if (x.isNumber()) {
    StringRef why;
    if (std::optional<Number> folded = foldUnary(function, x.number, why)) return *folded;
    return failed(DiagnosticCode::E0220, call.span, "`" + name + "(" + x.number.str() + ")`: " + why);
  }
  Tensor result;
  result.level = regions.level();
  result.isPositional = x.tensor.isPositional;
  if (function.roundsToInteger && x.tensor.element().isInteger()) { // an integer is rounded already
    result.value = ops.materialize(x, i32);
    result.range = integerRangeOf(x);
    return result;
  }
  bool isInteger = function.takesIntegers && x.tensor.element().isInteger(32);
  result.value = function.build(builder, ops.materialize(x, isInteger ? i32 : f32));
  if (function.roundsToInteger && x.tensor.floatRange)
    result.floatRange = x.tensor.floatRange->mapped(function.evaluate);
  if (function.languageName == "abs" && isInteger)
    result.range = integerRangeOf(x) ? bounds::magnitude(*integerRangeOf(x)) : std::nullopt;
  else if (function.languageName == "abs")
    result.floatRange = bounds::magnitude(floatRangeOf(x));
  return result;
}

/// `f32(…)` keeps what its argument computes in f32, whatever type the model computes in.
LanguageValue Builtins::cast(StringRef name, const ast::CallExpr &call) {
  std::optional<std::vector<LanguageValue>> args;
  {
    CallStack::Float32Scope float32(calls, name == "f32");
    args = evalOperands(name, call, 1);
  }
  if (!args) return LanguageValue();
  LanguageValue &x = args->front();
  if (x.isNumber() && name != "int") return Number::ofFloat(x.number.asDouble());
  if (x.isNumber()) {
    StringRef why;
    if (std::optional<Number> folded = foldToInteger(x.number, why)) return *folded;
    return failed(DiagnosticCode::E0220, call.span, "`" + name + "(" + x.number.str() + ")`: " + why);
  }
  Tensor result;
  result.level = regions.level();
  result.isPositional = x.tensor.isPositional;
  result.value = ops.materialize(x, name == "int" ? i32 : f32);
  if (name == "int" && x.tensor.element().isInteger())
    result.range = integerRangeOf(x);
  else if (name == "int" && x.tensor.floatRange)
    result.range = x.tensor.floatRange->toIntegers();
  else if (name != "int")
    result.floatRange = floatRangeOf(x);
  return result;
}

/// `max(a, b)`
LanguageValue Builtins::binary(const BinaryFunction &function, const ast::CallExpr &call) {
  StringRef name = function.languageName;
  if (call.args.size() == 1 && isReduction(name))
    return failed(DiagnosticCode::E0207, call.callee.span,
                  "`" + name + "` of one value needs the axes to reduce: `" + name + "[…](x)`");
  auto args = evalOperands(name, call, 2);
  if (!args) return LanguageValue();
  LanguageValue &a = (*args)[0], &b = (*args)[1];
  if (!ops.checkAxes({{&a, call.args[0].value->span}, {&b, call.args[1].value->span}}, name)) return LanguageValue();
  return combine(function, a, b, call.span);
}

/// The function of two values whose axes match.
LanguageValue Builtins::combine(const BinaryFunction &function, const LanguageValue &a, const LanguageValue &b,
                                Span span) {
  if (a.isNumber() && b.isNumber()) {
    StringRef why;
    if (std::optional<Number> folded = foldCall(function, a.number, b.number, why)) return *folded;
    return failed(DiagnosticCode::E0220, span,
                  "`" + function.languageName + "(" + a.number.str() + ", " + b.number.str() + ")`: " + why);
  }
  mlir::Type type = function.takesIntegers ? ops.commonType({&a, &b}) : f32;
  if (type == i1) type = i32;
  Tensor result;
  result.level = regions.level();
  result.isPositional = (a.isNumber() || a.tensor.isPositional) && (b.isNumber() || b.tensor.isPositional);
  mlir::Value x = ops.materialize(a, type), y = ops.materialize(b, type);
  result.value = function.build(builder, x, y);
  // One operand with bounds is enough for one bound of `max` or `min`: clamping makes reads valid.
  if (type == i32)
    result.range =
        function.boundsOf(integerRangeOf(a).value_or(Interval::int32()), integerRangeOf(b).value_or(Interval::int32()));
  else if (function.languageName == "max")
    result.floatRange = bounds::larger(floatRangeOf(a), floatRangeOf(b));
  else if (function.languageName == "min")
    result.floatRange = bounds::smaller(floatRangeOf(a), floatRangeOf(b));
  return result;
}

/// `clamp(x, low, high)` is min(max(x, low), high): the gradient of a tie goes to the left operand, which is x.
LanguageValue Builtins::clamp(const ast::CallExpr &call) {
  auto args = evalOperands("clamp", call, 3);
  if (!args) return LanguageValue();
  LanguageValue &x = (*args)[0], &low = (*args)[1], &high = (*args)[2];
  Span span = call.args[0].value->span, lowSpan = call.args[1].value->span, highSpan = call.args[2].value->span;
  if (low.isNumber() && high.isNumber() && low.number.asDouble() > high.number.asDouble())
    return failed(DiagnosticCode::E0220, lowSpan.to(highSpan),
                  "the lower bound " + low.number.str() + " is above the upper bound " + high.number.str());
  if (!ops.checkAxes({{&x, span}, {&low, lowSpan}, {&high, highSpan}}, "clamp")) return LanguageValue();
  LanguageValue raised = combine(*findBinaryFunction("max"), x, low, call.span);
  return raised.isError() ? raised : combine(*findBinaryFunction("min"), raised, high, call.span);
}

LanguageValue Builtins::where(const ast::CallExpr &call) {
  auto args = evalOperands("where", call, 3);
  if (!args) return LanguageValue();
  LanguageValue &condition = (*args)[0], &yes = (*args)[1], &no = (*args)[2];
  if (condition.isNumber() && !condition.number.isBool())
    return failed(DiagnosticCode::E0217, call.args[0].value->span,
                  "the condition of `where` must be true or false, got " + describe(condition));
  if (condition.isNumber() && (yes.isNumber() && no.isNumber())) return condition.number.asDouble() != 0 ? yes : no;
  if (condition.isTensor() && !condition.tensor.element().isInteger(1))
    return failed(DiagnosticCode::E0217, call.args[0].value->span,
                  "the condition of `where` must be bools, got " + describe(condition));
  if (!ops.checkAxes(
          {{&condition, call.args[0].value->span}, {&yes, call.args[1].value->span}, {&no, call.args[2].value->span}},
          "where"))
    return LanguageValue();
  mlir::Type type = ops.commonType({&yes, &no});
  Tensor result;
  result.level = regions.level();
  result.isPositional = true;
  for (const LanguageValue &value : *args) result.isPositional &= value.isNumber() || value.tensor.isPositional;
  mlir::Value chosen = ops.materialize(condition, i1);
  result.value = builder.select(chosen, ops.materialize(yes, type), ops.materialize(no, type));
  std::optional<Interval> ifYes = integerRangeWhere(chosen, true, yes), ifNo = integerRangeWhere(chosen, false, no);
  if (type == i32 && ifYes && ifNo) result.range = bounds::hull(*ifYes, *ifNo);
  if (type == f32)
    result.floatRange = bounds::hull(floatRangeWhere(chosen, true, yes), floatRangeWhere(chosen, false, no));
  return result;
}

/// `stop(x)`. Numbers, integers and bools have no gradient in any case.
LanguageValue Builtins::stop(const ast::CallExpr &call) {
  auto args = evalOperands("stop", call, 1);
  if (!args) return LanguageValue();
  LanguageValue &x = args->front();
  if (!x.isTensor() || x.tensor.element().isInteger()) return x;
  Tensor result;
  result.level = regions.level();
  result.isPositional = x.tensor.isPositional;
  result.floatRange = x.tensor.floatRange;
  result.value = builder.unary<StopOp>(x.tensor.value);
  return result;
}

//===----------------------------------------------------------------------===//
// Axes, positions, random numbers
//===----------------------------------------------------------------------===//

LanguageValue Builtins::over(const ast::CallExpr &call) {
  if (!call.axes)
    return failed(DiagnosticCode::E0207, call.callee.span, "`over` needs the axes to repeat along: `over[a](x)`");
  auto args = evalOperands("over", call, 1);
  auto axes = resolver.resolveAxes(*call.axes);
  if (!args || !axes) return LanguageValue();
  LanguageValue &x = args->front();
  mlir::Value value = ops.materialize(x, ops.commonType({&x}));
  llvm::SmallVector<AxisAttr> all(tensorType(value).getAxes());
  for (const AxisRef &ref : *axes) {
    if (tensorType(value).hasAxis(ref.name))
      return failed(DiagnosticCode::E0212, call.axes->span, "the value has the axis `" + ref.name + "` already");
    all.push_back(axis(&context, ref.name, ref.size));
  }
  Tensor result;
  result.level = regions.level();
  result.isPositional = x.isNumber() || x.tensor.isPositional;
  result.range = integerRangeOf(x);
  if (tensorType(value).getElementType() == f32) result.floatRange = floatRangeOf(x);
  result.value = builder.broadcast(value, builder.type(all, tensorType(value).getElementType()));
  return result;
}

LanguageValue Builtins::random(StringRef name, const ast::CallExpr &call) {
  if (!entry.isActive())
    return failed(DiagnosticCode::E0219, call.span, "random numbers are not known at compile time");
  std::vector<AxisRef> axes;
  if (call.axes) {
    auto resolved = resolver.resolveAxes(*call.axes);
    if (!resolved) return LanguageValue();
    axes = std::move(*resolved);
  }
  bool isNormal = name == "normal";
  auto args = evalArguments(call, 0, isNormal ? 1 : 0);
  if (!args) return LanguageValue();
  llvm::SmallVector<AxisAttr> attrs;
  for (const AxisRef &ref : axes) attrs.push_back(axis(&context, ref.name, ref.size));
  mlir::Value seed = regions.importCounter("seed"), step = regions.importCounter("step");
  Tensor result;
  result.level = regions.level();
  result.value = builder.random(isNormal ? Distribution::Normal : Distribution::Uniform, entry.nextSite(frame().path),
                                seed, step, regions.salts(), builder.type(attrs, f32));
  if (!isNormal) result.floatRange = FloatRange::ofUniform();
  if (args->empty()) return result;
  LanguageValue &deviation = args->front();
  if (!deviation.isNumber())
    return failed(DiagnosticCode::E0219, call.args[0].value->span,
                  "the deviation must be known at compile time, got " + describe(deviation));
  result.value = builder.mul(result.value, deviation.number.asDouble());
  return result;
}
