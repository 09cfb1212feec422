//===- Expressions.cpp - blocks, statements, names, tuples, repeats --------===//

#include "frontend/elaborate/Elaborator.h"
#include "llvm/ADT/ScopeExit.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

/// Bounds of the walk: what fits them compiles in well under a second.
static constexpr unsigned MaxDepth = 700;
static constexpr unsigned MaxSteps = 150'000;

Value Elaborator::eval(const ast::Expr &expr) {
  if (GaveUp || Engine.isFull()) return Value();
  if (++Steps > MaxSteps || Depth >= MaxDepth) {
    GaveUp = true;
    bool tooDeep = Depth >= MaxDepth;
    return failed(tooDeep ? DiagnosticCode::E0601 : DiagnosticCode::E0602, expr.span,
                  tooDeep ? "expressions and calls nest too deep"
                          : "the program is too large when all calls are expanded");
  }
  ++Depth;
  mlir::Location saved = B.getLoc();
  Span outer = std::exchange(Here, expr.span);
  B.setLoc(locate(expr.span));
  Value value = dispatch(expr);
  if (value.isTensor() && !checkElements(value.tensor.type(), expr.span)) value = Value();
  B.setLoc(saved);
  Here = outer;
  --Depth;
  return value;
}

Value Elaborator::dispatch(const ast::Expr &expr) {
  using Kind = ast::Expr::Kind;
  switch (expr.kind) {
  case Kind::Number: {
    auto &number = llvm::cast<ast::NumberExpr>(expr);
    return number.integer ? Number::ofInt(*number.integer) : Number::ofFloat(number.value);
  }
  case Kind::String: {
    Value value = Value::ofKind(Value::Kind::Text);
    value.text = llvm::cast<ast::StringExpr>(expr).value;
    return value;
  }
  case Kind::Ref:
    return evalRef(llvm::cast<ast::RefExpr>(expr));
  case Kind::Call:
    return evalCall(llvm::cast<ast::CallExpr>(expr));
  case Kind::Unary:
    return evalUnary(llvm::cast<ast::UnaryExpr>(expr));
  case Kind::Binary:
    return evalBinary(llvm::cast<ast::BinaryExpr>(expr));
  case Kind::Index:
    return evalIndex(llvm::cast<ast::IndexExpr>(expr));
  case Kind::Into:
    return unsupported(expr.span, "`into` is");
  case Kind::Field:
    return evalField(llvm::cast<ast::FieldExpr>(expr));
  case Kind::As:
    return evalAs(llvm::cast<ast::AsExpr>(expr));
  case Kind::Tuple:
    return evalTuple(llvm::cast<ast::TupleExpr>(expr));
  case Kind::Repeat:
    return evalRepeat(llvm::cast<ast::RepeatExpr>(expr));
  case Kind::If:
    return evalIf(llvm::cast<ast::IfExpr>(expr));
  }
  llvm_unreachable("all kinds are handled");
}

//===----------------------------------------------------------------------===//
// Blocks and statements
//===----------------------------------------------------------------------===//

Value Elaborator::evalBlock(const ast::Block &block) {
  Current->scopes.emplace_back();
  llvm::StringMap<AxisRef> outer = Current->axes;
  bool ok = true;
  for (auto &stmt : block.statements) ok &= evalStatement(*stmt);
  // After a wrong statement the result may still hold mistakes of its own: names that failed are known as errors.
  Value result = block.result ? eval(*block.result) : Value();
  Current->scopes.pop_back();
  bool isBody = Current->function && &block == &Current->function->body;
  for (auto &[name, axis] : Current->axes)
    if (!isBody && !outer.count(name) && result.isTensor() && result.tensor.type().hasAxis(axis.name))
      result = failed(DiagnosticCode::E0221, block.result->span, "the local dim `" + name + "` escapes from its block");
  Current->axes = std::move(outer);
  return ok ? result : Value();
}

bool Elaborator::evalStatement(const ast::Stmt &stmt) {
  if (auto *let = std::get_if<ast::LetStmt>(&stmt.node)) return evalLet(*let);
  if (auto *dims = std::get_if<ast::DimStmt>(&stmt.node)) {
    bool ok = true;
    for (const ast::DimSize &dim : dims->sizes) ok &= declareLocalDim(dim);
    return ok;
  }
  if (auto *log = std::get_if<ast::LogStmt>(&stmt.node)) return evalLog(*log);
  if (auto *param = std::get_if<ast::ParamStmt>(&stmt.node)) {
    if (param->kind != ast::ParamKind::State) return declareParameters(*param);
    return unsupported(stmt.span, "`state` is"), defineAsWrong(param->names), false;
  }
  if (auto *part = std::get_if<ast::PartStmt>(&stmt.node))
    return unsupported(stmt.span, "`part` is"), defineAsWrong(part->name), false;
  if (std::holds_alternative<ast::AssignStmt>(stmt.node)) return unsupported(stmt.span, "`:=` is"), false;
  error(DiagnosticCode::E0205, stmt.span, "`expect` belongs into a test");
  return false;
}

bool Elaborator::evalLet(const ast::LetStmt &let) {
  bool ok = true;
  for (const ast::Definition &definition : let.definitions) {
    std::string saved = CurrentName;
    CurrentName = (Current->path.empty() ? "" : Current->path + ".") + definition.names[0].text.str();
    Value value = eval(*definition.value);
    CurrentName = saved;
    ok &= !value.isError();
    ok &= bindDefinition(definition, std::move(value));
  }
  return ok;
}

bool Elaborator::bindDefinition(const ast::Definition &definition, Value value) {
  if (!definition.isTuple) return define(definition.names[0], std::move(value));
  bool fits = value.kind == Value::Kind::Tuple && value.elements.size() == definition.names.size();
  if (!fits && !value.isError())
    error(DiagnosticCode::E0227, definition.value->span,
          "expected a tuple of " + Twine(definition.names.size()) + " elements, got " + describe(value) +
              (value.kind == Value::Kind::Tuple ? " of " + std::to_string(value.elements.size()) : std::string()));
  bool ok = fits;
  for (unsigned i = 0; i < definition.names.size(); ++i)
    ok &= define(definition.names[i], fits ? value.elements[i].second : Value());
  return ok;
}

/// A loss or metric in a body: a scalar of this level.
bool Elaborator::evalLog(const ast::LogStmt &log) {
  bool ok = true;
  for (const ast::Bind &bind : log.binds) {
    std::string name = (Current->path.empty() ? "" : Current->path + ".") + bind.name.text.str();
    std::string saved = std::exchange(CurrentName, name);
    Value value = eval(*bind.value);
    CurrentName = saved;
    if (value.isError()) {
      ok = false;
      continue;
    }
    bool scalar = value.isNumber() || (value.isTensor() && value.tensor.type().isScalar());
    if (!scalar) {
      error(DiagnosticCode::E0404, bind.value->span,
            "the " + Twine(log.isLoss ? "loss" : "metric") + " `" + bind.name.text + "` must be a scalar, got " +
                describe(value))
          .help("take its mean: `mean[…](…)`");
      ok = false;
      continue;
    }
    LogEntry entry{name, log.isLoss, materialize(value, F32), {}, bind.name.span, Current->callSite, {}};
    if (IsEvaluate) entry.count = countOf(entry.value, bind);
    entry.expansion = Current->expansion;
    entry.parts = partsOfLog(entry.value, bind);
    for (Frame *frame = Current; frame && frame->expansion; frame = frame->caller) entry.modelCall = frame->callSite;
    ok &= addLog(std::move(entry));
  }
  return ok;
}

/// Enters a loss or metric at the level being built. Each has a name of its own: where a body is expanded twice, its
/// losses would silently count twice.
bool Elaborator::addLog(LogEntry entry) {
  for (const LogEntry &other : logs()) {
    if (other.name != entry.name) continue;
    if (!(other.span == entry.span))
      error(DiagnosticCode::E0202, entry.span, "two losses or metrics are called `" + entry.name + "`")
          .label(other.span, "the first one");
    else if (other.expansion != entry.expansion)
      error(DiagnosticCode::E0202, entry.modelCall,
            "`" + entry.name + "` would be logged twice: the model is called twice")
          .label(other.modelCall, "first called here")
          .label(entry.span, "logged in each call")
          .help("call the model once and keep its result: `let y = " + Program.model->name.text + "(…)`");
    else
      error(DiagnosticCode::E0202, entry.call, "`" + entry.name + "` would be logged twice: two calls have one path")
          .label(other.call, "first called here")
          .label(entry.span, "logged in each call")
          .help("label one of the calls: `second: …(…)`");
    return false;
  }
  logs().push_back(std::move(entry));
  return true;
}

//===----------------------------------------------------------------------===//
// Names, fields, tuples, if
//===----------------------------------------------------------------------===//

Value Elaborator::evalRef(const ast::RefExpr &expr) {
  Value value = lookup(expr.name);
  if (!expr.axes || value.isError()) return value;
  if (value.kind != Value::Kind::Function) {
    error(DiagnosticCode::E0114, expr.axes->span, "brackets after a value need `axis = position`")
        .label(expr.name.span, "this is " + describe(value))
        .help("read at a position with `" + expr.name.text + "[seq = 3]`");
    return Value();
  }
  std::optional<std::vector<AxisRef>> axes = resolveAxes(*expr.axes);
  if (!axes) return Value();
  if (!value.function.declaration && value.function.name == "pos") return position(*axes, expr);
  value.function.axes = std::move(*axes);
  return value;
}

/// `pos[a]`; inside `repeat[a]` it is the number of the layer.
Value Elaborator::position(llvm::ArrayRef<AxisRef> axes, const ast::RefExpr &expr) {
  if (axes.size() != 1) return failed(DiagnosticCode::E0207, expr.axes->span, "`pos` takes one axis");
  if (!EntryBlock) return failed(DiagnosticCode::E0219, expr.span, "positions are not known at compile time");
  noteBatchUse(axes[0].name, expr.span);
  Tensor result;
  result.level = level();
  result.closed = true;
  result.range = Interval{0, axes[0].size - 1};
  for (unsigned l = 0; l < Levels.size(); ++l)
    if (Levels[l].axis == axes[0]) {
      result.value = import(Levels[l].induction(), l + 1);
      return result;
    }
  result.value = B.index(axis(&Context, axes[0].name, axes[0].size));
  result.affine = Affine{axes[0].name, 0};
  return result;
}

Value Elaborator::evalField(const ast::FieldExpr &expr) {
  Value base = eval(*expr.base);
  if (base.isError()) return Value();
  if (base.kind == Value::Kind::Data) return dataField(base, expr.field, expr.span);
  if (base.kind != Value::Kind::Tuple)
    return failed(DiagnosticCode::E0227, expr.field.span,
                  "only tuples and data have fields; this is " + describe(base));
  std::vector<StringRef> names;
  for (auto &[name, value] : base.elements) {
    if (name == expr.field.text) return value;
    names.push_back(name);
  }
  auto message = error(DiagnosticCode::E0227, expr.field.span, "the tuple has no element `" + expr.field.text + "`");
  if (StringRef nearest = nearestName(expr.field.text, names); !nearest.empty())
    message.help("did you mean `" + nearest + "`?");
  return Value();
}

Value Elaborator::evalTuple(const ast::TupleExpr &expr) {
  Value tuple = Value::ofKind(Value::Kind::Tuple);
  for (const ast::Argument &element : expr.elements) {
    Value value = eval(*element.value);
    if (value.isError()) return Value();
    for (auto &[name, other] : tuple.elements)
      if (!name.empty() && name == element.name.text)
        return failed(DiagnosticCode::E0202, element.name.span, "the tuple has two elements `" + name + "`");
    tuple.elements.push_back({element.name.text.str(), std::move(value)});
  }
  return tuple;
}

Value Elaborator::evalIf(const ast::IfExpr &expr) {
  std::optional<Number> condition =
      closed(*expr.condition, "the condition of `if`", "`where(condition, a, b)` chooses when the program runs");
  if (!condition) return Value();
  if (!condition->isBool())
    return failed(DiagnosticCode::E0217, expr.condition->span,
                  "the condition of `if` must be true or false, got the number " + condition->str());
  return evalBlock(condition->asDouble() != 0 ? expr.thenBlock : expr.elseBlock);
}

//===----------------------------------------------------------------------===//
// Repeat
//===----------------------------------------------------------------------===//

/// Evaluates what a repeat starts with; numbers become scalars.
bool Elaborator::evalCarried(const ast::RepeatExpr &expr, std::vector<Value> &initial) {
  bool ok = true;
  for (const ast::Bind &bind : expr.carried) {
    Value value = eval(*bind.value);
    if (!value.isError() && !value.isArithmetic()) {
      error(DiagnosticCode::E0226, bind.value->span, "a repeat carries tensors, got " + describe(value));
      value = Value();
    }
    if (value.isNumber()) {
      Tensor scalar;
      scalar.value = materialize(value, commonType({&value}));
      scalar.level = level();
      value = scalar;
    }
    ok &= !value.isError();
    initial.push_back(std::move(value));
  }
  return ok;
}

Value Elaborator::evalRepeat(const ast::RepeatExpr &expr) {
  std::optional<AxisRef> axis = resolveAxis(expr.axis);
  std::vector<Value> initial;
  if (!evalCarried(expr, initial) || !axis) return Value();
  if (!EntryBlock) return failed(DiagnosticCode::E0219, expr.span, "`repeat` is not known at compile time");
  if (level() >= 8) return failed(DiagnosticCode::E0601, expr.span, "repeats nest deeper than 8");
  noteBatchUse(axis->name, expr.axis.span);
  for (const Level &outer : Levels)
    if (outer.axis == *axis)
      return failed(DiagnosticCode::E0212, expr.axis.span,
                    "an enclosing repeat runs along `" + axis->name + "` already");
  for (auto [bind, value] : llvm::zip(expr.carried, initial))
    if (value.tensor.type().hasAxis(axis->name))
      return failed(DiagnosticCode::E0226, bind.value->span,
                    "a repeat along `" + axis->name + "` cannot carry a value that has this axis");

  pushLevel(*axis, /*isMicro=*/false);
  Current->scopes.emplace_back();
  bool ok = true;
  for (auto [bind, value] : llvm::zip(expr.carried, initial)) {
    Tensor carried;
    Levels.back().carried.push_back(value.tensor.value);
    carried.value = Levels.back().block->addArgument(value.tensor.value.getType(), B.getLoc());
    carried.level = level();
    ok &= define(bind.name, carried);
  }
  Value result = evalBlock(expr.body);
  Current->scopes.pop_back();
  return finishRepeat(expr, ok ? std::move(result) : Value());
}

/// Matches what the body returns with what is carried, and closes the region.
Value Elaborator::finishRepeat(const ast::RepeatExpr &expr, Value result) {
  std::vector<mlir::Value> next;
  bool single = expr.carried.size() == 1;
  bool ok = !result.isError();
  for (unsigned i = 0; i < expr.carried.size() && ok; ++i) {
    StringRef name = expr.carried[i].name.text;
    Value value = single && result.kind != Value::Kind::Tuple ? result : Value();
    if (result.kind == Value::Kind::Tuple)
      for (auto &[element, each] : result.elements)
        if (element == name) value = each;
    Span span = expr.body.result ? expr.body.result->span : expr.body.span;
    if (!value.isArithmetic()) {
      error(DiagnosticCode::E0226, span, "the body must return the next `" + name + "`")
          .help(single ? "the last expression of the body is the next value"
                       : "several carried values are returned as a named tuple: `(" + name + " = …, …)`");
      ok = false;
      break;
    }
    auto type = tensorType(Levels.back().carried[i]);
    mlir::Value built = materialize(value, value.isNumber() ? type.getElementType() : value.tensor.element());
    if (built.getType() != type) {
      Tensor before;
      before.value = Levels.back().carried[i];
      error(DiagnosticCode::E0226, span, "`" + name + "` changes from one layer to the next")
          .label(expr.carried[i].value->span, "begins as " + describe(Value(before)))
          .label(span, "goes on as " + describe(value))
          .help("what a repeat carries keeps its axes and type");
      ok = false;
      break;
    }
    next.push_back(built);
  }
  if (!ok)
    next = std::vector<mlir::Value>(Levels.back().block->getArguments().begin() + 1,
                                    Levels.back().block->getArguments().begin() + 1 + Levels.back().carried.size());
  std::vector<mlir::Value> results = popLevel(next);
  if (!ok) return Value();
  Value tuple = Value::ofKind(Value::Kind::Tuple);
  for (unsigned i = 0; i < results.size(); ++i) {
    Tensor tensor;
    tensor.value = results[i];
    tensor.level = level();
    tuple.elements.push_back({expr.carried[i].name.text.str(), tensor});
  }
  return single ? tuple.elements[0].second : tuple;
}
