//===- FunctionCalls.cpp - calls of functions and of the model --------------===//

#include "frontend/elaborate/FunctionCalls.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

static constexpr unsigned MaxCallDepth = 64;

LanguageValue FunctionCalls::call(const ast::CallExpr &call) {
  StringRef name = call.callee.text;
  bool isModel = declared.model && frame().isTraining && declared.model->name.text == name;
  if (isModel) return callModel(call);
  LanguageValue callee = resolver.lookup(call.callee);
  if (callee.isError()) return callee;
  if (callee.kind != LanguageValue::Kind::Function)
    return failed(DiagnosticCode::E0205, call.callee.span,
                  "`" + name + "` is " + describe(callee) + ", not a function");
  if (callee.function.declaration) return callFunction(callee.function, call);
  std::optional<std::vector<AxisRef>> axes = callee.function.axes;
  return builtinCalls.call(callee.function.name, call, axes);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

bool FunctionCalls::bindAxes(const FunctionValue &function, const ast::CallExpr &call, Frame &callee) {
  std::vector<AxisRef> given;
  if (function.axes) given = *function.axes;
  if (call.axes) {
    std::optional<std::vector<AxisRef>> axes = resolver.resolveAxes(*call.axes);
    if (!axes) return false;
    given = std::move(*axes);
  }
  unsigned wanted = function.declaration->axes ? function.declaration->axes->list.size() : 0;
  if (given.size() != wanted) {
    auto message = error(DiagnosticCode::E0207, call.axes ? call.axes->span : call.callee.span,
                         "`" + function.name + "` works on " + Twine(wanted) + (wanted == 1 ? " axis" : " axes") +
                             ", got " + Twine(given.size()));
    if (wanted && !function.file->isLibrary) message.label(function.declaration->axes->span, "declared here");
    message.help(wanted ? Twine("call it as `") + function.name +
                              diagnostics.sources().text(function.declaration->axes->span) +
                              "(…)`, with your axes in the brackets"
                        : Twine("call it without brackets: `") + function.name + "(…)`");
    return false;
  }
  for (unsigned i = 0; i < wanted; ++i) {
    const ast::AxisItem &axis = function.declaration->axes->list[i];
    if (axis.isRest || axis.size) {
      error(DiagnosticCode::E0701, axis.span, "only plain axes in a function's brackets are supported yet");
      return false;
    }
    callee.axes[axis.name.text] = given[i];
  }
  return true;
}

void FunctionCalls::reportNoParameter(llvm::ArrayRef<ast::Param> params, const ast::CallExpr &call,
                                      const ast::Argument &arg) {
  bool isNamed = !arg.name.text.empty();
  auto message = error(DiagnosticCode::E0206, isNamed ? arg.name.span : arg.value->span,
                       isNamed ? "`" + call.callee.text + "` has no parameter `" + arg.name.text + "`"
                               : "too many arguments: `" + call.callee.text + "` takes " + Twine(params.size()));
  std::vector<StringRef> names;
  for (const ast::Param &param : params) names.push_back(param.name.text);
  if (StringRef nearest = nearestName(arg.name.text, names); isNamed && !nearest.empty())
    message.help("did you mean `" + nearest + "`?");
}

/// Evaluates the arguments in the caller's frame and puts them in the order of the parameters; a parameter left out
/// gets an error value here and its fallback later.
bool FunctionCalls::bindArguments(llvm::ArrayRef<ast::Param> params, const ast::CallExpr &call,
                                  std::vector<LanguageValue> &values) {
  values.assign(params.size(), LanguageValue::none());
  std::vector<bool> given(params.size(), false);
  bool ok = true;
  for (unsigned i = 0; i < call.args.size(); ++i) {
    const ast::Argument &arg = call.args[i];
    unsigned index = i;
    if (!arg.name.text.empty())
      index = llvm::find_if(params, [&](const ast::Param &p) { return p.name.text == arg.name.text; }) - params.begin();
    if (index >= params.size()) {
      reportNoParameter(params, call, arg);
      ok = false;
      continue;
    }
    if (given[index]) {
      error(DiagnosticCode::E0206, arg.value->span, "`" + params[index].name.text + "` is given twice");
      ok = false;
      continue;
    }
    given[index] = true;
    values[index] = evaluator.eval(*arg.value);
    ok &= !values[index].isError();
  }
  for (unsigned i = 0; i < params.size(); ++i)
    if (!given[i] && !params[i].fallback) {
      error(DiagnosticCode::E0206, call.span,
            "`" + call.callee.text + "` needs an argument for `" + params[i].name.text + "`");
      ok = false;
    } else if (!given[i]) {
      values[i] = LanguageValue(); // the fallback, evaluated in the function
    }
  return ok;
}

/// Takes the axis that a parameter needs out of `rest`, the axes of the argument that are left.
bool FunctionCalls::takeAxis(const ast::Param &param, const AxisRef &wanted, const Tensor &tensor, Span span,
                             Frame &callee, std::vector<AxisRef> &rest) {
  auto found = llvm::find(rest, wanted);
  if (found != rest.end() && found->size == wanted.size) return rest.erase(found), true;
  FrameScope caller(calls, *callee.caller);
  auto message = error(DiagnosticCode::E0208, span,
                       found == rest.end() ? "`" + param.name.text + "` needs the axis `" + wanted.name + "`, got " +
                                                 describe(LanguageValue(tensor))
                                           : "`" + param.name.text + "` needs `" + wanted.name + "` of size " +
                                                 Twine(wanted.size) + ", got " + Twine(found->size));
  if (!diagnostics.sources()[param.span.file].isLibrary()) message.label(param.span, "the parameter");
  return false;
}

/// docs/language.md, Functions: exactly the listed axes, or with `..` at least those; `r..` names the rest.
bool FunctionCalls::matchAxes(const ast::Param &param, const Tensor &tensor, Span span, Frame &callee) {
  std::vector<AxisRef> rest;
  for (AxisAttr axis : tensor.type().getAxes()) rest.push_back({axis.getName().str(), axis.getSize()});
  bool open = false;
  StringRef restName;
  FrameScope scope(calls, callee);
  for (const ast::AxisItem &axis : param.axes->list) {
    if (axis.isRest) {
      open = true;
      restName = axis.name.text;
      continue;
    }
    std::optional<AxisRef> wanted = resolver.resolveAxis(axis.name);
    if (!wanted || !takeAxis(param, *wanted, tensor, span, callee, rest)) return false;
  }
  if (!open && !rest.empty()) {
    FrameScope caller(calls, *callee.caller);
    auto message = error(DiagnosticCode::E0208, span,
                         "`" + param.name.text + "` takes no axis `" + rest.front().name + "`, got " +
                             describe(LanguageValue(tensor)));
    if (!diagnostics.sources()[param.span.file].isLibrary())
      message.label(param.span, "the parameter has exactly these axes");
    message.help("`..` in the brackets accepts any other axes");
    return false;
  }
  if (restName.empty()) return true;
  auto [entry, isNew] = callee.rests.try_emplace(restName, rest);
  if (isNew || llvm::all_of(rest, [&](const AxisRef &axis) { return llvm::is_contained(entry->second, axis); }))
    return true;
  error(DiagnosticCode::E0208, span, "`" + param.name.text + "` has axes that are not in `" + restName + "..`");
  return false;
}

/// `x[…] in d`: the values must be in 0 … size(d) - 1; data is checked when it is read.
bool FunctionCalls::matchRange(const ast::Param &param, Tensor &tensor, Span span, int64_t below) {
  if (!tensor.element().isInteger(32)) {
    error(DiagnosticCode::E0217, span,
          "`" + param.name.text + "` needs integers in `" + param.within.text + "`, got " +
              describe(LanguageValue(tensor)));
    return false;
  }
  if (!tensor.range && tensor.input >= 0) {
    training.requireBelow(tensor.input, below);
    tensor.range = Interval{0, below - 1};
    return true;
  }
  if (tensor.range && tensor.range->low >= 0 && tensor.range->high < below) return true;
  auto message = error(DiagnosticCode::E0216, span,
                       "`" + param.name.text + "` must be in `" + param.within.text + "`: 0 … " + Twine(below - 1));
  if (tensor.range)
    message.label(span, "is in " + Twine(tensor.range->low) + " … " + Twine(tensor.range->high));
  else
    message.label(span, "no bounds are known");
  return false;
}

/// `cross_entropy[batch](scores, d.y)`: it runs, and compares the rows of the batch in place of the classes. Positions
/// are meant so, as in `cross_entropy[batch](scores, pos[key])` with `dim key like batch`.
void FunctionCalls::warnOfRowsAsClasses(const ast::Param &param, const Tensor &tensor, Span span, const Frame &callee) {
  if (tensor.isPositional) return;
  auto message = diagnostics.warning(DiagnosticCode::E0230, calls.userSpan(span),
                                     "`" + param.name.text + "` is in `" + batchAxis +
                                         "`: the classes would be the rows of the batch");
  std::string function = callee.function ? callee.function->name.text.str() : "";
  for (const ast::Param &other : callee.function ? callee.function->params : declared.model->params) {
    auto bound = callee.scopes.back().find(other.name.text);
    if (bound == callee.scopes.back().end() || !bound->second.isTensor()) continue;
    for (AxisAttr axis : bound->second.tensor.type().getAxes())
      if (axis.getName() != batchAxis && !tensor.type().hasAxis(axis.getName()) && !function.empty()) {
        message.help("name the axis of the scores: `" + function + "[" + axis.getName() + "](…)`");
        return;
      }
  }
  message.help("name the axis of the classes, which the scores have");
}

/// A parameter with axes takes a tensor; a number becomes a scalar.
bool FunctionCalls::matchTensor(const ast::Param &param, LanguageValue &value, Span span, Frame &callee) {
  if (value.isNumber()) {
    Tensor scalar = ops.materializeScalar(value);
    scalar.isPositional = true;
    scalar.range = integerRangeOf(value);
    scalar.floatRange = floatRangeOf(value);
    value = scalar;
  }
  if (!value.isTensor()) {
    error(DiagnosticCode::E0208, span, "`" + param.name.text + "` needs a tensor, got " + describe(value));
    return false;
  }
  if (!matchAxes(param, value.tensor, span, callee)) return false;
  if (param.within.text.empty()) return true;
  std::optional<AxisRef> within;
  {
    FrameScope scope(calls, callee);
    within = resolver.resolveAxis(param.within);
  }
  if (!within) return false;
  if (within->name == batchAxis) warnOfRowsAsClasses(param, value.tensor, span, callee);
  return matchRange(param, value.tensor, span, within->size);
}

/// Binds a value in the callee's frame; called in the caller's.
bool FunctionCalls::bindParam(const ast::Param &param, LanguageValue value, Span span, Frame &callee) {
  if (value.isError()) { // left out: the fallback
    FrameScope scope(calls, callee);
    value = evaluator.eval(*param.fallback);
    return !value.isError() && resolver.define(param.name, std::move(value));
  }
  if (param.axes && !matchTensor(param, value, span, callee)) return false;
  if (!param.axes && value.isTensor() && !value.tensor.type().isScalar()) {
    error(DiagnosticCode::E0208, span, "`" + param.name.text + "` takes a number or function, got " + describe(value))
        .help("a tensor parameter is declared with its axes: `" + param.name.text + "[..]`");
    return false;
  }
  FrameScope scope(calls, callee);
  return resolver.define(param.name, std::move(value));
}

bool FunctionCalls::escapes(const LanguageValue &value, const Frame &callee, Span span) {
  for (auto &[name, element] : value.elements)
    if (escapes(element, callee, span)) return true;
  if (!value.isTensor()) return false;
  for (AxisAttr axis : value.tensor.type().getAxes())
    if (callee.locals.count(axis.getName())) {
      error(DiagnosticCode::E0221, span,
            "the local dim `" + axis.getName() + "` escapes from `" + callee.function->name.text + "`")
          .label(span, "the result is " + describe(value))
          .help("sum over it, or rename it to an axis of the caller: `… as [" + axis.getName() + " -> …]`");
      return true;
    }
  return false;
}

bool FunctionCalls::checkDepth(const ast::Function &function, const ast::CallExpr &call) {
  unsigned depth = 0;
  for (Frame *frame = calls.current(); frame; frame = frame->caller, ++depth)
    if (frame->function == &function) {
      error(DiagnosticCode::E0224, call.callee.span,
            "`" + function.name.text + "` calls itself, directly or through others");
      return false;
    }
  if (depth <= MaxCallDepth) return true;
  error(DiagnosticCode::E0601, call.span, "calls nest deeper than " + Twine(MaxCallDepth));
  return false;
}

/// Labels differ within a body.
bool FunctionCalls::checkLabel(const ast::CallExpr &call) {
  if (call.label.text.empty()) return true;
  auto [first, isNew] = frame().labels.try_emplace(call.label.text, call.label.span);
  if (isNew || first->second == call.label.span) return true;
  error(DiagnosticCode::E0301, call.label.span, "two calls have the label `" + call.label.text + "`")
      .label(call.label.span, "second")
      .label(first->second, "first")
      .help("choose another label for parameters of its own: paths tell calls apart by them")
      .help("to share parameters, declare them outside and pass them to both calls");
  return false;
}

/// The expression that a call gives for a parameter; the call itself if there is none.
static Span spanOfArgument(const ast::CallExpr &call, const ast::Param &param, unsigned index) {
  for (unsigned k = 0; k < call.args.size(); ++k)
    if (call.args[k].name.text.empty() ? k == index : call.args[k].name.text == param.name.text)
      return call.args[k].value->span;
  return call.span;
}

LanguageValue FunctionCalls::callFunction(const FunctionValue &function, const ast::CallExpr &call) {
  const ast::Function &declaration = *function.declaration;
  if (!checkDepth(declaration, call) || !checkLabel(call)) return LanguageValue();
  Frame callee = Frame::ofFile(*function.file);
  callee.function = &declaration;
  callee.caller = calls.current();
  callee.callSite = call.span;
  callee.callLocation = calls.locate(call.span);
  callee.mayHaveParameters = frame().mayHaveParameters;
  callee.expansion = frame().expansion;
  callee.path = frame().pathOf(call.label.text.empty() ? declaration.name.text : call.label.text);
  bool isNamed = float32.contains(declaration.name.text), isPath = float32.contains(callee.path);
  callee.isFloat32 = frame().isFloat32 || isNamed || isPath;
  std::vector<LanguageValue> values;
  if (!bindAxes(function, call, callee) || !bindArguments(declaration.params, call, values)) return LanguageValue();
  for (auto [i, param] : llvm::enumerate(declaration.params))
    if (!bindParam(param, std::move(values[i]), spanOfArgument(call, param, i), callee)) return LanguageValue();
  FrameScope scope(calls, callee);
  LanguageValue result = evaluator.evalBlock(declaration.body);
  Span span = declaration.body.result ? declaration.body.result->span : declaration.body.span;
  return escapes(result, callee, span) ? LanguageValue() : result;
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

LanguageValue FunctionCalls::callModel(const ast::CallExpr &call) {
  if (call.axes) return failed(DiagnosticCode::E0207, call.axes->span, "a model is called without brackets");
  std::vector<LanguageValue> values;
  if (!bindArguments(declared.model->params, call, values)) return LanguageValue();
  for (auto [param, value] : llvm::zip(declared.model->params, values))
    reads.noteModelArgument(param, value.isTensor() && value.tensor.element().isInteger(32));
  LanguageValue result = expandModel(std::move(values), &call);
  if (!result.isError()) callsOfModel.push_back({result, regions.level()});
  return result;
}

/// The value of an output, with the axes that it declares.
LanguageValue FunctionCalls::matchOutput(const ast::ModelOutput &output, LanguageValue value, Span span) {
  std::optional<std::vector<AxisRef>> axes = resolver.resolveAxes(output.axes);
  if (!axes || value.isError()) return LanguageValue();
  if (value.isNumber()) {
    Tensor scalar;
    scalar.value = ops.materialize(value, f32);
    scalar.level = regions.level();
    value = scalar;
  }
  bool same = value.isTensor() && value.tensor.type().getRank() == static_cast<int64_t>(axes->size());
  for (const AxisRef &axis : *axes) same = same && value.tensor.type().hasAxis(axis.name);
  if (same) return value;
  StringRef name = output.name.text;
  auto message =
      error(DiagnosticCode::E0225, span,
            "the model's " + (name.empty() ? "result" : "output `" + name + "`") + " is not what it declares");
  message.label(span, (name.empty() ? "returns " : "is ") + describe(value)).label(output.axes.span, "declared here");
  if (name.empty() && value.kind == LanguageValue::Kind::Tuple)
    message.help("declare several outputs by name: `-> (a […], b […])`");
  return LanguageValue();
}

/// Whether the names of the outputs differ, and the result is a tuple with exactly these names.
bool FunctionCalls::checkOutputNames(const ast::Model &model, const LanguageValue &result, Span span) {
  std::vector<StringRef> names;
  for (const ast::ModelOutput &output : model.outputs) {
    if (llvm::is_contained(names, output.name.text))
      return error(DiagnosticCode::E0202, output.name.span, "two outputs are called `" + output.name.text + "`"), false;
    names.push_back(output.name.text);
  }
  std::string tuple = "`(" + llvm::join(names, " = …, ") + " = …)`";
  if (result.kind != LanguageValue::Kind::Tuple)
    return error(DiagnosticCode::E0225, span, "the model must return its outputs by name")
               .label(span, "returns " + describe(result))
               .label(model.outputs.front().name.span, "declared here")
               .help("end the body with " + tuple),
           false;
  for (auto &[name, element] : result.elements)
    if (!llvm::is_contained(names, name))
      return error(DiagnosticCode::E0225, span,
                   name.empty() ? "the model must return its outputs by name"
                                : "the model returns `" + name + "`, which is not one of its outputs")
                 .label(model.outputs.front().name.span, "the outputs are declared here")
                 .help("end the body with " + tuple),
             false;
  for (const ast::ModelOutput &output : model.outputs)
    if (llvm::none_of(result.elements, [&](auto &element) { return element.first == output.name.text; }))
      return error(DiagnosticCode::E0225, span, "the model does not return its output `" + output.name.text + "`")
                 .label(output.name.span, "declared here")
                 .help("end the body with " + tuple),
             false;
  return true;
}

/// The result of the model's body with the axes that the model declares; of named outputs a tuple in their order.
LanguageValue FunctionCalls::matchOutputs(const ast::Model &model, const LanguageValue &result, Span span) {
  if (model.outputs.front().name.text.empty()) return matchOutput(model.outputs.front(), result, span);
  if (!checkOutputNames(model, result, span)) return LanguageValue();
  LanguageValue tuple = LanguageValue::ofKind(LanguageValue::Kind::Tuple);
  for (const ast::ModelOutput &output : model.outputs) {
    auto found = llvm::find_if(result.elements, [&](auto &element) { return element.first == output.name.text; });
    LanguageValue value = matchOutput(output, found->second, span);
    if (value.isError()) return LanguageValue();
    tuple.elements.push_back({output.name.text.str(), std::move(value)});
  }
  return tuple;
}

LanguageValue FunctionCalls::expandModel(std::vector<LanguageValue> arguments, const ast::CallExpr *call) {
  const ast::Model &model = *declared.model;
  Frame callee = Frame::ofFile(declared.main());
  callee.caller = calls.current();
  callee.mayHaveParameters = true;
  callee.expansion = ++expansions;
  if (call) {
    callee.callSite = call->span;
    callee.callLocation = calls.locate(call->span);
  }
  parameters.beginExpansion();
  for (unsigned i = 0; i < arguments.size(); ++i) {
    Span span = call && i < call->args.size() ? call->args[i].value->span : model.params[i].span;
    if (!bindParam(model.params[i], std::move(arguments[i]), span, callee)) return LanguageValue();
  }
  FrameScope scope(calls, callee);
  LanguageValue result = evaluator.evalBlock(model.body);
  if (result.isError()) return result;
  return matchOutputs(model, result, model.body.result ? model.body.result->span : model.body.span);
}
