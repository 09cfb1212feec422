//===- ParameterTable.cpp - parameters and states of the model --------------===//

#include "frontend/elaborate/ParameterTable.h"
#include "ir/program/Program.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

void tessera::noteDeclaration(DiagnosticBuilder message, const Parameter &parameter) {
  if (parameter.place == parameter.declared) return;
  message.note("declared in the library,", parameter.declared);
}

std::vector<StringRef> ParameterTable::paths() const {
  std::vector<StringRef> paths;
  for (auto &known : parameters) paths.push_back(known.first);
  return paths;
}

std::vector<StringRef> ParameterTable::trainablePaths() const {
  std::vector<StringRef> paths;
  for (auto &[path, parameter] : parameters)
    if (!parameter->isState()) paths.push_back(path);
  return paths;
}

LanguageValue ParameterTable::value(const Parameter &parameter, unsigned atLevel) {
  mlir::Value value = entry.stateArgument(parameter.path, parameter.type);
  for (unsigned l = 0; l < atLevel; ++l) {
    RepeatRegion &inner = regions.region(l);
    mlir::Value &known = inner.slices[parameter.path];
    if (!known && inner.isMicro) {
      known = parameter.isState() ? inner.addCarriedState(parameter.path, value, builder.getLoc())
                                  : inner.addInvariant(value, builder.getLoc());
    } else if (!known) {
      auto type = tensorType(value).withAxes(builder.without(tensorType(value), StringRef(inner.axis.name)));
      known = inner.addSliced(value, type, builder.getLoc());
    }
    value = known;
  }
  Tensor tensor;
  tensor.value = value;
  tensor.level = atLevel;
  return tensor;
}

//===----------------------------------------------------------------------===//
// Initial values
//===----------------------------------------------------------------------===//

/// `normal(deviation)` or `uniform(low, high)`.
bool ParameterTable::readDistribution(const ast::CallExpr &call, Parameter &parameter) {
  bool isNormal = call.callee.text == "normal";
  if (call.axes || call.args.size() != (isNormal ? 1 : 2)) {
    error(DiagnosticCode::E0303, call.span,
          "`" + call.callee.text + "` takes " + (isNormal ? "the standard deviation" : "two bounds") + " here")
        .help(isNormal ? "write `normal(0.02)`" : "write `uniform(-0.1, 0.1)`");
    return false;
  }
  std::optional<Number> first = evaluator.evalConstant(*call.args[0].value, "an initial value");
  std::optional<Number> second = isNormal ? first : evaluator.evalConstant(*call.args[1].value, "an initial value");
  if (!first || !second) return false;
  double low = isNormal ? 0 : first->asDouble();
  if (!(low <= second->asDouble()) || !isFiniteF32(*first) || !isFiniteF32(*second)) {
    error(DiagnosticCode::E0303, call.span, "`" + diagnostics.sources().text(call.span) + "` is not a distribution")
        .help(isNormal ? "the standard deviation is a finite f32 value, 0 or above"
                       : "the bounds are finite f32 values, the lower one first");
    return false;
  }
  parameter.distribution = call.callee.text;
  parameter.low = low;
  parameter.high = second->asDouble();
  return true;
}

/// A distribution, or a number; the default of the kind if the statement gives none.
bool ParameterTable::readInitialValue(const ast::ParamStmt &stmt, Parameter &parameter) {
  if (!stmt.init) {
    parameter.distribution = stmt.kind == ast::ParamKind::Weight ? "normal" : "";
    parameter.high = 0.02;
    parameter.low = stmt.kind == ast::ParamKind::Gain ? 1 : 0;
    return true;
  }
  auto *call = llvm::dyn_cast<ast::CallExpr>(stmt.init.get());
  if (call && (call->callee.text == "normal" || call->callee.text == "uniform"))
    return readDistribution(*call, parameter);
  size_t before = diagnostics.all().size();
  std::optional<Number> value = evaluator.evalConstant(*stmt.init, "an initial value");
  if (!value) {
    diagnostics.helpSince(before, "initial values are `normal(deviation)`, `uniform(low, high)` or a number");
    return false;
  }
  if (!isFiniteF32(*value)) {
    error(DiagnosticCode::E0303, stmt.init->span, "the initial value " + value->str() + " is not a finite f32 value");
    return false;
  }
  parameter.low = value->asDouble();
  return true;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

bool ParameterTable::declare(const ast::ParamStmt &stmt) {
  if (build(stmt)) return true;
  resolver.defineAsWrong(stmt.names);
  return false;
}

/// Paths differ within an expansion of the model, and from the counters of the training.
bool ParameterTable::checkPath(const std::string &path, const ast::Name &name) {
  bool isOfScaling = llvm::is_contained(scaling::all, path);
  if (path == "step" || path == "seed" || isOfScaling) {
    auto message = error(DiagnosticCode::E0202, name.span, "`" + name.text + "` names a counter of the training");
    if (isOfScaling) message.note("under `compute(fp16)` the loss scale is kept at such paths");
    message.help("choose another name");
    return false;
  }
  Declared place{name.span, {}};
  for (Frame *frame = calls.current(); frame && frame->function; frame = frame->caller)
    place.calls.insert(place.calls.begin(), {frame->callSite, frame->function->name.text});
  auto [seen, isFirst] = declaredPaths.try_emplace(path, place);
  if (isFirst) return true;
  // The calls whose labels or names should differ are those where the two ways part.
  auto [second, first] =
      std::mismatch(place.calls.begin(), place.calls.end(), seen->second.calls.begin(), seen->second.calls.end());
  bool part = second != place.calls.end() && first != seen->second.calls.end();
  auto message =
      error(DiagnosticCode::E0301, part ? second->first : name.span, "two parameters have the path `" + path + "`")
          .label(part ? second->first : name.span, "second")
          .label(part ? first->first : seen->second.span, "first");
  if (!part) return message.help("choose another name"), false;
  message.help("if each call has parameters of its own, label one: `second: " + second->second + "(…)`");
  message.help("if they share them, declare the parameters outside and pass them to both calls: `fn " + second->second +
               "(…, w[…])`");
  return false;
}

/// Whether the axis is as long in predictions and in parts of a batch, which have other numbers of rows.
bool ParameterTable::checkIsOfEveryBatch(const ast::ParamStmt &stmt, StringRef axis) {
  bool isState = stmt.kind == ast::ParamKind::State;
  if (isState && sizes.isSampleAxis(axis)) {
    auto message =
        error(DiagnosticCode::E0310, stmt.axes.span,
              "a state cannot have the axis `" + axis + "`" + (axis == batchAxis ? "" : ", which is like `batch`"));
    message.help("the rows of a batch are others in each step: keep what is reduced over them, `mean[batch](…)`");
    return false;
  }
  if (!sizes.isOfBatch(axis)) return true;
  error(isState ? DiagnosticCode::E0310 : DiagnosticCode::E0303, stmt.axes.span,
        "the shape of `" + stmt.names[0].text + "` depends on the size of the batch")
      .help("predictions have batches of other sizes: give `" + axis + "` a size of its own");
  return false;
}

/// The axes of what a statement declares, those of enclosing repeats in front.
std::optional<llvm::SmallVector<AxisAttr>> ParameterTable::readAxes(const ast::ParamStmt &stmt) {
  std::optional<std::vector<AxisRef>> axes = resolver.resolveAxes(stmt.axes);
  if (!axes) return std::nullopt;
  llvm::SmallVector<AxisAttr> attrs;
  for (const RepeatRegion &outer : regions.regions()) {
    if (outer.isMicro) continue;
    attrs.push_back(axis(&context, outer.axis.name, outer.axis.size));
    if (!llvm::is_contained(*axes, outer.axis)) continue;
    error(DiagnosticCode::E0212, stmt.axes.span,
          "parameters inside `repeat[" + outer.axis.name + "]` get the axis `" + outer.axis.name + "` by themselves");
    return std::nullopt;
  }
  for (const AxisRef &ref : *axes) {
    attrs.push_back(axis(&context, ref.name, ref.size));
    if (!checkIsOfEveryBatch(stmt, ref.name)) return std::nullopt;
  }
  return attrs;
}

bool ParameterTable::build(const ast::ParamStmt &stmt) {
  if (!frame().mayHaveParameters) {
    error(DiagnosticCode::E0302, stmt.names[0].span,
          (stmt.kind == ast::ParamKind::State ? "states" : "parameters") +
              Twine(" belong to a model; this call is outside of one"));
    return false;
  }
  // A state may: only training reads it.
  if (stmt.kind != ast::ParamKind::State &&
      !calls.checkIsEverywhere(stmt.names[0].span,
                               Twine("the ") + ast::spelling(stmt.kind) + " `" + stmt.names[0].text + "`"))
    return false;
  std::optional<llvm::SmallVector<AxisAttr>> attrs = readAxes(stmt);
  if (!attrs) return false;
  NamedTensorType type = builder.type(*attrs, f32);
  if (!calls.checkElements(type, stmt.axes.span)) return false;
  bool ok = true;
  for (const ast::Name &name : stmt.names) {
    Parameter parameter;
    parameter.path = frame().pathOf(name.text);
    parameter.kind = stmt.kind;
    parameter.type = type;
    parameter.order = llvm::map_to_vector(*attrs, [](AxisAttr a) { return a.getName(); });
    parameter.repeats = llvm::count_if(regions.regions(), [](const RepeatRegion &outer) { return !outer.isMicro; });
    parameter.declared = name.span;
    parameter.place = calls.userSpan(name.span);
    if (!readInitialValue(stmt, parameter) || !checkPath(parameter.path, name)) return false;
    auto known = parameters.find(parameter.path);
    if (known == parameters.end()) {
      auto owned = std::make_unique<Parameter>(parameter);
      StringRef key = owned->path;
      known = parameters.insert({key, std::move(owned)}).first;
    } else if (known->second->type != parameter.type) {
      error(DiagnosticCode::E0303, stmt.axes.span,
            "the shape of `" + parameter.path + "` depends on the size of the batch");
      return false;
    }
    LanguageValue declared = value(*known->second, regions.level());
    if (stmt.kind == ast::ParamKind::State) declared.tensor.state = known->second.get();
    ok &= resolver.define(name, std::move(declared));
  }
  return ok;
}
