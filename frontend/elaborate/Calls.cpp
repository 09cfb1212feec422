//===- Calls.cpp - calls of functions and of the model ---------------------===//

#include "frontend/elaborate/Elaborator.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

static constexpr unsigned MaxCallDepth = 64;

Value Elaborator::evalCall(const ast::CallExpr &call) {
  StringRef name = call.callee.text;
  bool isModel = Program.model && Current->isTraining && Program.model->name.text == name;
  if (isModel) return callModel(call);
  Value callee = lookup(call.callee);
  if (callee.isError()) return callee;
  if (callee.kind != Value::Kind::Function)
    return failed(DiagnosticCode::E0205, call.callee.span,
                  "`" + name + "` is " + describe(callee) + ", not a function");
  if (callee.function.declaration) return callFunction(callee.function, call);
  std::optional<std::vector<AxisRef>> axes = callee.function.axes;
  return callBuiltin(callee.function.name, call, axes);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

bool Elaborator::bindAxes(const FunctionValue &function, const ast::CallExpr &call, Frame &frame) {
  std::vector<AxisRef> given;
  if (function.axes) given = *function.axes;
  if (call.axes) {
    std::optional<std::vector<AxisRef>> axes = resolveAxes(*call.axes);
    if (!axes) return false;
    given = std::move(*axes);
  }
  unsigned wanted = function.declaration->axes ? function.declaration->axes->list.size() : 0;
  if (given.size() != wanted) {
    auto message = error(DiagnosticCode::E0207, call.axes ? call.axes->span : call.callee.span,
                         "`" + function.name + "` works on " + Twine(wanted) + (wanted == 1 ? " axis" : " axes") +
                             ", got " + Twine(given.size()));
    if (wanted && !function.file->isLibrary) message.label(function.declaration->axes->span, "declared here");
    message.help(wanted
                     ? Twine("call it as `") + function.name + Engine.sources().text(function.declaration->axes->span) +
                           "(…)`, with your axes in the brackets"
                     : Twine("call it without brackets: `") + function.name + "(…)`");
    return false;
  }
  for (unsigned i = 0; i < wanted; ++i) {
    const ast::Axis &axis = function.declaration->axes->list[i];
    if (axis.isRest || axis.size) {
      error(DiagnosticCode::E0701, axis.span, "only plain axes in a function's brackets are supported yet");
      return false;
    }
    frame.axes[axis.name.text] = given[i];
  }
  return true;
}

/// Evaluates the arguments in the caller's frame and puts them in the order of the parameters; a parameter left out
/// gets an error value here and its fallback later.
bool Elaborator::bindArguments(llvm::ArrayRef<ast::Param> params, const ast::CallExpr &call,
                               std::vector<Value> &values) {
  values.assign(params.size(), Value::none());
  std::vector<bool> given(params.size(), false);
  bool ok = true;
  for (unsigned i = 0; i < call.args.size(); ++i) {
    const ast::Argument &arg = call.args[i];
    unsigned index = i;
    if (!arg.name.text.empty())
      index = llvm::find_if(params, [&](const ast::Param &p) { return p.name.text == arg.name.text; }) - params.begin();
    if (index >= params.size()) {
      auto message =
          error(DiagnosticCode::E0206, arg.name.text.empty() ? arg.value->span : arg.name.span,
                arg.name.text.empty() ? "too many arguments: `" + call.callee.text + "` takes " + Twine(params.size())
                                      : "`" + call.callee.text + "` has no parameter `" + arg.name.text + "`");
      std::vector<StringRef> names;
      for (const ast::Param &param : params) names.push_back(param.name.text);
      if (StringRef nearest = nearestName(arg.name.text, names); !arg.name.text.empty() && !nearest.empty())
        message.help("did you mean `" + nearest + "`?");
      ok = false;
      continue;
    }
    if (given[index]) {
      error(DiagnosticCode::E0206, arg.value->span, "`" + params[index].name.text + "` is given twice");
      ok = false;
      continue;
    }
    given[index] = true;
    values[index] = eval(*arg.value);
    ok &= !values[index].isError();
  }
  for (unsigned i = 0; i < params.size(); ++i)
    if (!given[i] && !params[i].fallback) {
      error(DiagnosticCode::E0206, call.span,
            "`" + call.callee.text + "` needs an argument for `" + params[i].name.text + "`");
      ok = false;
    } else if (!given[i]) {
      values[i] = Value(); // the fallback, evaluated in the function
    }
  return ok;
}

/// docs/language.md, Functions: exactly the listed axes, or with `..` at least those; `r..` names the rest.
bool Elaborator::matchAxes(const ast::Param &param, const Tensor &tensor, Span span, Frame &frame) {
  std::vector<AxisRef> rest;
  for (AxisAttr axis : tensor.type().getAxes()) rest.push_back({axis.getName().str(), axis.getSize()});
  bool open = false;
  StringRef restName;
  FrameScope scope(*this, frame);
  for (const ast::Axis &axis : param.axes->list) {
    if (axis.isRest) {
      open = true;
      restName = axis.name.text;
      continue;
    }
    std::optional<AxisRef> wanted = resolveAxis(axis.name);
    if (!wanted) return false;
    auto found = llvm::find(rest, *wanted);
    if (found == rest.end() || found->size != wanted->size) {
      FrameScope caller(*this, *frame.caller);
      auto message = error(DiagnosticCode::E0208, span,
                           found == rest.end() ? "`" + param.name.text + "` needs the axis `" + wanted->name +
                                                     "`, got " + describe(Value(tensor))
                                               : "`" + param.name.text + "` needs `" + wanted->name + "` of size " +
                                                     Twine(wanted->size) + ", got " + Twine(found->size));
      if (!Engine.sources()[param.span.file].isLibrary()) message.label(param.span, "the parameter");
      return false;
    }
    rest.erase(found);
  }
  if (!open && !rest.empty()) {
    FrameScope caller(*this, *frame.caller);
    auto message =
        error(DiagnosticCode::E0208, span,
              "`" + param.name.text + "` takes no axis `" + rest.front().name + "`, got " + describe(Value(tensor)));
    if (!Engine.sources()[param.span.file].isLibrary())
      message.label(param.span, "the parameter has exactly these axes");
    message.help("`..` in the brackets accepts any other axes");
    return false;
  }
  if (restName.empty()) return true;
  auto [entry, isNew] = frame.rests.try_emplace(restName, rest);
  if (isNew || llvm::all_of(rest, [&](const AxisRef &axis) { return llvm::is_contained(entry->second, axis); }))
    return true;
  error(DiagnosticCode::E0208, span, "`" + param.name.text + "` has axes that are not in `" + restName + "..`");
  return false;
}

/// `x[…] in d`: the values must lie in 0 … size(d) - 1; data is checked when it is read.
bool Elaborator::matchRange(const ast::Param &param, Tensor &tensor, Span span, int64_t below) {
  if (!tensor.element().isInteger(32)) {
    error(DiagnosticCode::E0217, span,
          "`" + param.name.text + "` needs integers in `" + param.within.text + "`, got " + describe(Value(tensor)));
    return false;
  }
  if (!tensor.range && tensor.input >= 0) {
    DataField &field = Data[tensor.input >> 8].fields[tensor.input & 255];
    field.below = std::min(field.below.value_or(below), below);
    tensor.range = Interval{0, below - 1};
    return true;
  }
  if (tensor.range && tensor.range->low >= 0 && tensor.range->high < below) return true;
  auto message = error(DiagnosticCode::E0216, span,
                       "`" + param.name.text + "` must lie in `" + param.within.text + "`: 0 … " + Twine(below - 1));
  if (tensor.range)
    message.label(span, "lies in " + Twine(tensor.range->low) + " … " + Twine(tensor.range->high));
  else
    message.label(span, "no bounds are known");
  return false;
}

/// Called in the function's frame.
bool Elaborator::bindParam(const ast::Param &param, Value value, Span span, Frame &frame) {
  if (value.isError()) { // left out: the fallback
    FrameScope scope(*this, frame);
    value = eval(*param.fallback);
    return !value.isError() && define(param.name, std::move(value));
  }
  if (!param.axes) {
    if (value.isTensor() && !value.tensor.type().isScalar()) {
      error(DiagnosticCode::E0208, span, "`" + param.name.text + "` takes a number or function, got " + describe(value))
          .help("a tensor parameter is declared with its axes: `" + param.name.text + "[..]`");
      return false;
    }
  } else {
    if (value.isNumber()) { // a number is a scalar tensor where one is wanted
      Tensor scalar;
      scalar.value = materialize(value, commonType({&value}));
      scalar.level = level();
      scalar.closed = true;
      if (!value.number.isFloat()) scalar.range = Interval{value.number.integer, value.number.integer};
      value = scalar;
    }
    if (!value.isTensor()) {
      error(DiagnosticCode::E0208, span, "`" + param.name.text + "` needs a tensor, got " + describe(value));
      return false;
    }
    if (!matchAxes(param, value.tensor, span, frame)) return false;
    if (!param.within.text.empty()) {
      std::optional<AxisRef> within;
      {
        FrameScope scope(*this, frame);
        within = resolveAxis(param.within);
      }
      if (!within || !matchRange(param, value.tensor, span, within->size)) return false;
    }
  }
  FrameScope scope(*this, frame);
  return define(param.name, std::move(value));
}

bool Elaborator::escapes(const Value &value, const Frame &frame, Span span) {
  for (auto &[name, element] : value.elements)
    if (escapes(element, frame, span)) return true;
  if (!value.isTensor()) return false;
  for (AxisAttr axis : value.tensor.type().getAxes())
    if (frame.locals.count(axis.getName())) {
      error(DiagnosticCode::E0221, span,
            "the local dim `" + axis.getName() + "` escapes from `" + frame.function->name.text + "`")
          .label(span, "the result is " + describe(value))
          .help("sum over it, or rename it to an axis of the caller: `… as [" + axis.getName() + " -> …]`");
      return true;
    }
  return false;
}

Value Elaborator::callFunction(const FunctionValue &function, const ast::CallExpr &call) {
  const ast::Function &declaration = *function.declaration;
  unsigned depth = 0;
  for (Frame *frame = Current; frame; frame = frame->caller, ++depth)
    if (frame->function == &declaration)
      return failed(DiagnosticCode::E0224, call.callee.span,
                    "`" + declaration.name.text + "` calls itself, directly or through others");
  if (depth > MaxCallDepth)
    return failed(DiagnosticCode::E0601, call.span, "calls nest deeper than " + Twine(MaxCallDepth));
  if (!call.label.text.empty()) {
    auto [first, isNew] = Current->labels.try_emplace(call.label.text, call.label.span);
    if (!isNew && !(first->second == call.label.span)) {
      error(DiagnosticCode::E0301, call.label.span, "two calls have the label `" + call.label.text + "`")
          .label(call.label.span, "second")
          .label(first->second, "first")
          .help("choose another label: paths tell calls apart by them");
      return Value();
    }
  }
  Frame frame;
  frame.function = &declaration;
  frame.file = function.file;
  frame.caller = Current;
  frame.callSite = call.span;
  frame.callLocation = locate(call.span);
  frame.mayHaveParameters = Current->mayHaveParameters;
  frame.expansion = Current->expansion;
  frame.path = (Current->path.empty() ? "" : Current->path + ".") +
               (call.label.text.empty() ? declaration.name.text : call.label.text).str();
  bool isNamed = isKeptName(declaration.name.text), isPath = isKeptName(frame.path);
  frame.isKept = Current->isKept || isNamed || isPath;
  frame.scopes.emplace_back();
  std::vector<Value> values;
  if (!bindAxes(function, call, frame) || !bindArguments(declaration.params, call, values)) return Value();
  for (unsigned i = 0; i < values.size(); ++i) {
    Span span = call.span;
    for (unsigned k = 0; k < call.args.size(); ++k)
      if (call.args[k].name.text.empty() ? k == i : call.args[k].name.text == declaration.params[i].name.text)
        span = call.args[k].value->span;
    if (!bindParam(declaration.params[i], std::move(values[i]), span, frame)) return Value();
  }
  FrameScope scope(*this, frame);
  Value result = evalBlock(declaration.body);
  Span span = declaration.body.result ? declaration.body.result->span : declaration.body.span;
  return escapes(result, frame, span) ? Value() : result;
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

Value Elaborator::callModel(const ast::CallExpr &call) {
  if (call.axes) return failed(DiagnosticCode::E0207, call.axes->span, "a model is called without brackets");
  std::vector<Value> values;
  if (!bindArguments(Program.model->params, call, values)) return Value();
  for (auto [param, value] : llvm::zip(Program.model->params, values))
    ModelIntegers[&param] = value.isTensor() && value.tensor.element().isInteger(32);
  return expandModel(std::move(values), &call);
}

/// Builds the model's body on these arguments. Calling the model again shares its parameters.
Value Elaborator::expandModel(std::vector<Value> arguments, const ast::CallExpr *call) {
  const ast::Model &model = *Program.model;
  if (model.outputs.size() != 1 || !model.outputs[0].name.text.empty())
    return unsupported(model.name.span, "models with named outputs are");
  Frame frame;
  frame.file = &Program.main();
  frame.caller = Current;
  frame.mayHaveParameters = true;
  frame.expansion = ++Expansions;
  frame.scopes.emplace_back();
  if (call) {
    frame.callSite = call->span;
    frame.callLocation = locate(call->span);
  }
  DeclaredPaths.clear();
  for (unsigned i = 0; i < arguments.size(); ++i) {
    Span span = call && i < call->args.size() ? call->args[i].value->span : model.params[i].span;
    if (!bindParam(model.params[i], std::move(arguments[i]), span, frame)) return Value();
  }
  FrameScope scope(*this, frame);
  Value result = evalBlock(model.body);
  if (result.isError()) return result;
  std::optional<std::vector<AxisRef>> axes = resolveAxes(model.outputs[0].axes);
  if (!axes) return Value();
  Span span = model.body.result ? model.body.result->span : model.body.span;
  if (result.isNumber()) {
    Tensor scalar;
    scalar.value = materialize(result, F32);
    scalar.level = level();
    result = scalar;
  }
  bool same = result.isTensor() && result.tensor.type().getRank() == static_cast<int64_t>(axes->size());
  for (const AxisRef &axis : *axes) same = same && result.tensor.type().hasAxis(axis.name);
  if (same) return result;
  error(DiagnosticCode::E0225, span, "the model's result is not what it declares")
      .label(span, "returns " + describe(result))
      .label(model.outputs[0].axes.span, "declared here");
  return Value();
}
