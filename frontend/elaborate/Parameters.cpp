//===- Parameters.cpp - parameters, entry arguments, levels of repeats -----===//

#include "frontend/elaborate/Elaborator.h"
#include "ir/program/Program.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Arguments of the entry function
//===----------------------------------------------------------------------===//

mlir::Value Elaborator::stateArgument(StringRef path, NamedTensorType type) {
  mlir::Value &argument = StateArguments[path];
  if (!argument) {
    argument = EntryBlock->addArgument(type, mlir::UnknownLoc::get(&Context));
    mlir::NamedAttrList list;
    list.set(attrs::state, mlir::FlatSymbolRefAttr::get(&Context, path));
    ArgumentAttrs.push_back(list);
  }
  return argument;
}

mlir::Value Elaborator::inputArgument(StringRef name, NamedTensorType type, mlir::DictionaryAttr attr) {
  mlir::Value &argument = InputArguments[name];
  if (!argument) {
    argument = EntryBlock->addArgument(type, mlir::UnknownLoc::get(&Context));
    mlir::NamedAttrList list;
    list.set(attrs::input, attr);
    ArgumentAttrs.push_back(list);
  }
  return argument;
}

/// Of an input whose name says all of it.
mlir::DictionaryAttr Elaborator::plainInput(StringRef name) {
  return B.getDictionaryAttr(
      {B.getNamedAttr("name", B.getStringAttr(name)), B.getNamedAttr("role", B.getStringAttr(name))});
}

/// `step` or `seed`, at the entry's level.
mlir::Value Elaborator::counter(StringRef name) {
  return stateArgument(name, B.scalarType(name == "step" ? I32 : I64));
}

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

/// Makes a value of an outer level available at the current one, as an invariant of each repeat between.
mlir::Value Elaborator::import(mlir::Value value, unsigned fromLevel) {
  for (unsigned l = fromLevel; l < Levels.size(); ++l) {
    Level &inner = Levels[l];
    mlir::Value &captured = inner.captured[value];
    if (!captured) {
      captured = inner.block->addArgument(value.getType(), value.getLoc());
      inner.invariants.push_back(value);
    }
    value = captured;
  }
  return value;
}

/// What random draws inside repeats, and in the batches of an evaluation, are told apart by.
llvm::SmallVector<mlir::Value> Elaborator::salts() {
  llvm::SmallVector<mlir::Value> values;
  for (unsigned l = 0; l < Levels.size(); ++l) values.push_back(import(Levels[l].induction(), l + 1));
  if (!IsEvaluate) return values;
  values.push_back(import(inputArgument("batch_number", B.scalarType(I32), plainInput("batch_number")), 0));
  return values;
}

void Elaborator::continueAtLevel() { B.setInsertionPointToEnd(Levels.empty() ? EntryBlock : Levels.back().block); }

void Elaborator::pushLevel(AxisRef axis, bool isMicro) {
  Level &inner = Levels.emplace_back();
  inner.axis = std::move(axis);
  inner.isMicro = isMicro;
  inner.block = new mlir::Block();
  inner.block->addArgument(B.scalarType(I32), B.getLoc());
  continueAtLevel();
}

std::vector<mlir::Value> Elaborator::popLevel(llvm::ArrayRef<mlir::Value> next) {
  // Losses and metrics of the body: one value for each layer. Losses add up, of metrics the mean is shown;
  // micro-batches have been scaled to add up.
  AxisAttr along = axis(&Context, Levels.back().axis.name, Levels.back().axis.size);
  llvm::SmallVector<mlir::Value> yielded(next);
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value value : next) types.push_back(value.getType());
  for (const LogEntry &log : Levels.back().logs) {
    yielded.push_back(log.value);
    types.push_back(B.withAxis(tensorType(log.value), along));
  }
  YieldOp::create(B, B.getLoc(), yielded);
  Level inner = std::move(Levels.back());
  Levels.pop_back();
  TrainLetValues.resize(std::min<size_t>(TrainLetValues.size(), level() + 1));
  continueAtLevel();
  auto repeat = RepeatOp::create(B, B.getLoc(), types, along, /*reverse=*/nullptr, inner.carried, inner.sliced,
                                 inner.invariants, /*argPlaces=*/nullptr);
  repeat.getBody().push_back(inner.block);
  std::vector<mlir::Value> results(repeat.getResults().begin(), repeat.getResults().begin() + next.size());
  for (auto [log, stacked] : llvm::zip(inner.logs, repeat.getResults().drop_front(next.size()))) {
    LogEntry outside = log;
    bool adds = log.isLoss || inner.isMicro;
    outside.value = adds ? B.sum(stacked, {along.getName()}) : B.mean(stacked, {along.getName()});
    outside.count = nullptr;
    addLog(std::move(outside));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// The parameter at a level: an argument of the entry, and in each repeat a slice of the stack outside.
Value Elaborator::parameterValue(const Parameter &parameter, unsigned atLevel) {
  mlir::Value value = stateArgument(parameter.path, parameter.type);
  for (unsigned l = 0; l < atLevel; ++l) {
    Level &inner = Levels[l];
    mlir::Value &known = inner.parameters[parameter.path];
    if (!known && inner.isMicro) {
      known = inner.block->addArgument(value.getType(), B.getLoc());
      inner.invariants.push_back(value);
    } else if (!known) {
      auto type = tensorType(value).withAxes(B.without(tensorType(value), StringRef(inner.axis.name)));
      unsigned at = 1 + inner.carried.size() + inner.sliced.size();
      known = inner.block->insertArgument(at, type, B.getLoc());
      inner.sliced.push_back(value);
    }
    value = known;
  }
  Tensor tensor;
  tensor.value = value;
  tensor.level = atLevel;
  return tensor;
}

/// `normal(deviation)`, `uniform(low, high)`, or a number; the default of the kind if nothing is said.
bool Elaborator::parameterInit(const ast::ParamStmt &stmt, Parameter &parameter) {
  if (!stmt.init) {
    parameter.distribution = stmt.kind == ast::ParamKind::Weight ? "normal" : "";
    parameter.high = 0.02;
    parameter.low = stmt.kind == ast::ParamKind::Gain ? 1 : 0;
    return true;
  }
  auto *call = llvm::dyn_cast<ast::CallExpr>(stmt.init.get());
  StringRef name = call ? call->callee.text : "";
  if (name == "normal" || name == "uniform") {
    unsigned wanted = name == "normal" ? 1 : 2;
    if (call->axes || call->args.size() != wanted) {
      error(DiagnosticCode::E0303, stmt.init->span,
            "`" + name + "` takes " + (wanted == 1 ? "the deviation" : "two bounds") + " here")
          .help(wanted == 1 ? "write `normal(0.02)`" : "write `uniform(-0.1, 0.1)`");
      return false;
    }
    std::optional<Number> first = closed(*call->args[0].value, "an initial value");
    std::optional<Number> second = wanted == 2 ? closed(*call->args[1].value, "an initial value") : first;
    if (!first || !second) return false;
    double low = wanted == 2 ? first->asDouble() : 0;
    if (!(low <= second->asDouble()) || !isFiniteF32(*first) || !isFiniteF32(*second)) {
      error(DiagnosticCode::E0303, stmt.init->span, "`" + Engine.sources().text(stmt.init->span) + "` draws no numbers")
          .help(wanted == 1 ? "the deviation is a number of f32 from 0"
                            : "the bounds are numbers of f32, the lower one first");
      return false;
    }
    parameter.distribution = name;
    parameter.low = wanted == 2 ? first->asDouble() : 0;
    parameter.high = second->asDouble();
    return true;
  }
  size_t before = Engine.all().size();
  std::optional<Number> value = closed(*stmt.init, "an initial value");
  if (!value) {
    Engine.helpSince(before, "initial values are `normal(deviation)`, `uniform(low, high)` or a number");
    return false;
  }
  if (!isFiniteF32(*value)) {
    error(DiagnosticCode::E0303, stmt.init->span, "the initial value " + value->str() + " is no number of f32");
    return false;
  }
  parameter.low = value->asDouble();
  return true;
}

bool Elaborator::declareParameters(const ast::ParamStmt &stmt) {
  if (buildParameters(stmt)) return true;
  defineAsWrong(stmt.names);
  return false;
}

bool Elaborator::buildParameters(const ast::ParamStmt &stmt) {
  if (!Current->mayHaveParameters) {
    error(DiagnosticCode::E0302, stmt.names[0].span, "parameters belong to a model; this call is outside of one");
    return false;
  }
  std::optional<std::vector<AxisRef>> axes = resolveAxes(stmt.axes);
  if (!axes) return false;
  for (const Level &outer : Levels) {
    if (outer.isMicro) continue;
    if (llvm::is_contained(*axes, outer.axis)) {
      error(DiagnosticCode::E0212, stmt.axes.span,
            "parameters inside `repeat[" + outer.axis.name + "]` get the axis `" + outer.axis.name + "` by themselves");
      return false;
    }
  }
  llvm::SmallVector<AxisAttr> attrs;
  for (const Level &outer : Levels)
    if (!outer.isMicro) attrs.push_back(axis(&Context, outer.axis.name, outer.axis.size));
  for (const AxisRef &ref : *axes) attrs.push_back(axis(&Context, ref.name, ref.size));
  if (!checkElements(B.type(attrs, F32), stmt.axes.span)) return false;
  bool ok = true;
  for (const ast::Name &name : stmt.names) {
    Parameter parameter;
    parameter.path = (Current->path.empty() ? "" : Current->path + ".") + name.text.str();
    parameter.kind = stmt.kind;
    parameter.type = B.type(attrs, F32);
    parameter.order = llvm::map_to_vector(attrs, [](AxisAttr a) { return a.getName(); });
    parameter.declared = name.span;
    if (!parameterInit(stmt, parameter)) return false;
    if (parameter.path == "step" || parameter.path == "seed") {
      error(DiagnosticCode::E0202, name.span, "`" + name.text + "` names a counter of the training")
          .help("choose another name");
      return false;
    }
    Declared declared{name.span, {}};
    for (Frame *frame = Current; frame && frame->function; frame = frame->caller)
      declared.calls.insert(declared.calls.begin(), {frame->callSite, frame->function->name.text});
    auto [seen, isFirst] = DeclaredPaths.try_emplace(parameter.path, declared);
    if (!isFirst) {
      // The calls whose labels or names should differ are those where the two ways part.
      auto [second, first] = std::mismatch(declared.calls.begin(), declared.calls.end(), seen->second.calls.begin(),
                                           seen->second.calls.end());
      bool part = second != declared.calls.end() && first != seen->second.calls.end();
      error(DiagnosticCode::E0301, part ? second->first : name.span,
            "two parameters have the path `" + parameter.path + "`")
          .label(part ? second->first : name.span, "second")
          .label(part ? first->first : seen->second.span, "first")
          .help(part ? "label one of the calls: `second: " + second->second + "(…)`" : Twine("choose another name"));
      return false;
    }
    auto known = Parameters.find(parameter.path);
    if (known == Parameters.end()) {
      auto owned = std::make_unique<Parameter>(parameter);
      StringRef key = owned->path;
      known = Parameters.insert({key, std::move(owned)}).first;
    } else if (known->second->type != parameter.type) {
      error(DiagnosticCode::E0303, stmt.axes.span,
            "the shape of `" + parameter.path + "` depends on the size of the batch");
      return false;
    }
    ok &= define(name, parameterValue(*known->second, level()));
  }
  return ok;
}
