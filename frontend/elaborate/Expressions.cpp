//===- Expressions.cpp - blocks, statements, names, tuples, repeats --------===//

#include "frontend/elaborate/Expressions.h"
#include "frontend/diagnostics/ForeignNames.h"
#include "llvm/ADT/ScopeExit.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

/// Bounds of the walk: what fits them compiles in well under a second.
static constexpr unsigned MaxDepth = 700;
static constexpr unsigned MaxEvaluated = 150'000;
static constexpr unsigned MaxRepeatDepth = 8;

LanguageValue Expressions::eval(const ast::Expr &expr) {
  if (gaveUp || diagnostics.isFull()) return LanguageValue();
  if (++evaluated > MaxEvaluated || depth >= MaxDepth) {
    gaveUp = true;
    bool tooDeep = depth >= MaxDepth;
    return failed(tooDeep ? DiagnosticCode::E0601 : DiagnosticCode::E0602, expr.span,
                  tooDeep ? "expressions and calls nest too deep"
                          : "the program is too large when all calls are expanded");
  }
  ++depth;
  CallStack::SpanScope span(calls, expr.span);
  LanguageValue value = dispatch(expr);
  if (value.isTensor() && !calls.checkElements(value.tensor.type(), expr.span)) value = LanguageValue();
  --depth;
  return value;
}

LanguageValue Expressions::dispatch(const ast::Expr &expr) {
  using Kind = ast::Expr::Kind;
  switch (expr.kind) {
  case Kind::Number: {
    auto &number = llvm::cast<ast::NumberExpr>(expr);
    return number.integer ? Number::ofInt(*number.integer) : Number::ofFloat(number.value);
  }
  case Kind::String: {
    LanguageValue value = LanguageValue::ofKind(LanguageValue::Kind::Text);
    value.text = llvm::cast<ast::StringExpr>(expr).value;
    return value;
  }
  case Kind::Ref:
    return evalRef(llvm::cast<ast::RefExpr>(expr));
  case Kind::Call:
    return functions.call(llvm::cast<ast::CallExpr>(expr));
  case Kind::Unary: {
    auto &unary = llvm::cast<ast::UnaryExpr>(expr);
    LanguageValue operand = eval(*unary.operand);
    return operand.isError() ? operand : ops.unary(unary, operand);
  }
  case Kind::Binary:
    return evalBinary(llvm::cast<ast::BinaryExpr>(expr));
  case Kind::Index:
    return reads.evalIndex(llvm::cast<ast::IndexExpr>(expr));
  case Kind::Into:
    return unsupported(expr.span, "`into` is");
  case Kind::Field:
    return evalField(llvm::cast<ast::FieldExpr>(expr));
  case Kind::As:
    return reads.evalAs(llvm::cast<ast::AsExpr>(expr));
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

LanguageValue Expressions::evalBlock(const ast::Block &block) {
  frame().scopes.emplace_back();
  llvm::StringMap<AxisRef> outer = frame().axes;
  bool ok = true, isRefused = false;
  for (auto &stmt : block.statements) {
    bool isRight = evalStatement(*stmt);
    ok &= isRight;
    // Arguments that the function does not take would only cause messages about what it computes from them.
    if ((isRefused = !isRight && std::holds_alternative<ast::RequireStmt>(stmt->node))) break;
  }
  // After a wrong statement the result may still hold mistakes of its own: names that failed are known as errors.
  LanguageValue result = block.result && !isRefused ? eval(*block.result) : LanguageValue();
  frame().scopes.pop_back();
  bool isBody = frame().function && &block == &frame().function->body;
  for (auto &[name, axis] : frame().axes)
    if (!isBody && !outer.count(name) && result.isTensor() && result.tensor.type().hasAxis(axis.name))
      result = failed(DiagnosticCode::E0221, block.result->span, "the local dim `" + name + "` escapes from its block");
  frame().axes = std::move(outer);
  return ok ? result : LanguageValue();
}

bool Expressions::evalStatement(const ast::Stmt &stmt) {
  if (auto *let = std::get_if<ast::LetStmt>(&stmt.node)) return evalLet(*let);
  if (auto *dims = std::get_if<ast::DimStmt>(&stmt.node)) {
    bool ok = true;
    for (const ast::DimSize &dim : dims->sizes) ok &= resolver.declareLocalDim(dim);
    return ok;
  }
  if (auto *log = std::get_if<ast::LogStmt>(&stmt.node)) return evalLog(*log);
  if (auto *param = std::get_if<ast::ParamStmt>(&stmt.node)) return parameters.declare(*param);
  if (auto *part = std::get_if<ast::PartStmt>(&stmt.node))
    return unsupported(stmt.span, "`part` is"), resolver.defineAsWrong(part->name), false;
  if (auto *assign = std::get_if<ast::AssignStmt>(&stmt.node)) return assignments.assign(*assign);
  if (auto *require = std::get_if<ast::RequireStmt>(&stmt.node)) return evalRequire(*require);
  error(DiagnosticCode::E0205, stmt.span, "`expect` belongs into a test");
  return false;
}

bool Expressions::evalLet(const ast::LetStmt &let) {
  bool ok = true;
  for (const ast::Definition &definition : let.definitions) {
    LanguageValue value;
    {
      NameScope named(calls, frame().pathOf(definition.names[0].text));
      value = eval(*definition.value);
    }
    ok &= !value.isError();
    ok &= bindDefinition(definition, std::move(value));
  }
  return ok;
}

/// What is known only when the program runs is not refused.
bool Expressions::evalRequire(const ast::RequireStmt &require) {
  Dims::SizeReads uncounted(sizes, false); // nothing is computed from a condition
  LanguageValue condition = eval(*require.condition);
  if (condition.isError()) return false;
  bool isBool = condition.isNumber() ? condition.number.isBool()
                                     : condition.isTensor() && condition.tensor.element().isInteger(1);
  if (!isBool) {
    error(DiagnosticCode::E0217, require.condition->span,
          "the condition of `require` must be true or false, got " + describe(condition));
    return false;
  }
  if (condition.isTensor() || condition.number.integer != 0) return true;
  reportRequired(require);
  return false;
}

/// At the call of the function, with the numbers that the condition reads.
void Expressions::reportRequired(const ast::RequireStmt &require) {
  std::vector<std::string> values;
  ast::forEachExpr(*require.condition, [&](const ast::Expr &each) {
    auto *ref = llvm::dyn_cast<ast::RefExpr>(&each);
    if (!ref) return;
    LanguageValue value = resolver.lookup(ref->name);
    if (!value.isNumber() || value.number.isBool()) return;
    std::string text = ("`" + ref->name.text + "` = " + value.number.str()).str();
    if (!llvm::is_contained(values, text)) values.push_back(text);
  });
  std::string reason = require.message + (values.empty() ? "" : "; got " + llvm::join(values, ", "));
  const ast::Function *function = frame().function;
  if (!function || !frame().caller) {
    error(DiagnosticCode::E0229, require.condition->span, reason);
    return;
  }
  Span call = frame().callSite;
  FrameScope caller(calls, *frame().caller);
  error(DiagnosticCode::E0229, call, "`" + function->name.text + "`: " + reason)
      .note("`" + function->name.text + "` requires this", require.condition->span);
}

bool Expressions::bindDefinition(const ast::Definition &definition, LanguageValue value) {
  if (!definition.isTuple) return resolver.define(definition.names[0], std::move(value));
  bool fits = fitsTuple(definition, value);
  if (!fits && !value.isError())
    error(DiagnosticCode::E0227, definition.value->span,
          "expected a tuple of " + Twine(definition.names.size()) + " elements, got " + describe(value) +
              (value.kind == LanguageValue::Kind::Tuple ? " of " + std::to_string(value.elements.size())
                                                        : std::string()));
  bool ok = fits;
  for (unsigned i = 0; i < definition.names.size(); ++i)
    ok &= resolver.define(definition.names[i], fits ? value.elements[i].second : LanguageValue());
  return ok;
}

bool Expressions::evalLog(const ast::LogStmt &log) {
  bool ok = true;
  for (const ast::Bind &bind : log.binds) {
    std::string name = frame().pathOf(bind.name.text);
    LanguageValue value;
    if (!calls.checkIsEverywhere(bind.name.span,
                                 Twine("the ") + (log.isLoss ? "loss" : "metric") + " `" + bind.name.text + "`")) {
      ok = false;
      continue;
    }
    {
      NameScope named(calls, name);
      value = eval(*bind.value);
    }
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
    LoggedScalar logged{name, log.isLoss, ops.materialize(value, f32), {}, bind.name.span, frame().callSite, {}};
    if (entry.isEvaluate()) {
      logged.count = batches.countOf(logged.value, bind);
      batches.warnOfBatchValue(logged.value, bind, log.isLoss);
    }
    logged.expansion = frame().expansion;
    logged.reduction = batches.reductionOfLogged(logged.value, bind);
    for (Frame *outer = calls.current(); outer && outer->expansion; outer = outer->caller)
      logged.modelCall = outer->callSite;
    ok &= regions.addLoggedScalar(std::move(logged));
  }
  return ok;
}

//===----------------------------------------------------------------------===//
// Names, fields, tuples, if
//===----------------------------------------------------------------------===//

/// For `wte[tokens]`: which axis the positions are meant on. One that just holds them, as `tokens` in `vocab`, else the
/// first. Empty if the value has no axes.
std::string Expressions::helpOnPositions(const ast::RefExpr &expr, const LanguageValue &value) {
  if (!value.isTensor() || value.tensor.type().isScalar() || expr.axes->list.empty()) return "";
  const ast::AxisItem &item = expr.axes->list.front();
  std::optional<Interval> range;
  for (auto &scope : frame().scopes)
    if (auto known = scope.find(item.name.text); known != scope.end() && known->second.isTensor())
      range = known->second.tensor.range;
  llvm::ArrayRef<AxisAttr> axes = value.tensor.type().getAxes();
  auto fits = llvm::find_if(axes, [&](AxisAttr axis) { return range && range->high + 1 == axis.getSize(); });
  AxisAttr axis = fits == axes.end() ? axes.front() : *fits;
  return ("read at a position with `" + expr.name.text + "[" + axis.getName() + " = " +
          diagnostics.sources().text(item.span) + "]`")
      .str();
}

LanguageValue Expressions::evalRef(const ast::RefExpr &expr) {
  LanguageValue value = resolver.lookup(expr.name);
  if (!expr.axes || value.isError()) return value;
  if (value.kind != LanguageValue::Kind::Function) {
    auto message = error(DiagnosticCode::E0114, expr.axes->span, "brackets after a value need `axis = position`");
    message.label(expr.name.span, "this is " + describe(value));
    if (std::string help = helpOnPositions(expr, value); !help.empty()) message.help(help);
    return LanguageValue();
  }
  std::optional<std::vector<AxisRef>> axes = resolver.resolveAxes(*expr.axes);
  if (!axes) return LanguageValue();
  if (!value.function.declaration && value.function.name == "pos") return reads.position(*axes, expr);
  value.function.axes = std::move(*axes);
  return value;
}

LanguageValue Expressions::evalField(const ast::FieldExpr &expr) {
  LanguageValue base = eval(*expr.base);
  if (base.isError()) return LanguageValue();
  if (base.kind == LanguageValue::Kind::Data) return training.dataField(base, expr.field, expr.span);
  if (base.kind != LanguageValue::Kind::Tuple) {
    auto message =
        error(DiagnosticCode::E0227, expr.field.span, "only tuples and data have fields; this is " + describe(base));
    if (StringRef advice = adviceOnForeignName(expr.field.text); !advice.empty()) message.help("write " + advice);
    return LanguageValue();
  }
  std::vector<StringRef> names;
  for (auto &[name, value] : base.elements) {
    if (name == expr.field.text) return value;
    names.push_back(name);
  }
  auto message = error(DiagnosticCode::E0227, expr.field.span, "the tuple has no element `" + expr.field.text + "`");
  if (StringRef nearest = nearestName(expr.field.text, names); !nearest.empty())
    message.help("did you mean `" + nearest + "`?");
  return LanguageValue();
}

LanguageValue Expressions::evalTuple(const ast::TupleExpr &expr) {
  LanguageValue tuple = LanguageValue::ofKind(LanguageValue::Kind::Tuple);
  for (const ast::Argument &element : expr.elements) {
    LanguageValue value = eval(*element.value);
    if (value.isError()) return LanguageValue();
    for (auto &[name, other] : tuple.elements)
      if (!name.empty() && name == element.name.text)
        return failed(DiagnosticCode::E0202, element.name.span, "the tuple has two elements `" + name + "`");
    tuple.elements.push_back({element.name.text.str(), std::move(value)});
  }
  return tuple;
}

LanguageValue Expressions::evalIf(const ast::IfExpr &expr) {
  std::optional<Number> condition =
      evalConstant(*expr.condition, "the condition of `if`", "`where(condition, a, b)` chooses when the program runs");
  if (!condition) return LanguageValue();
  if (!condition->isBool())
    return failed(DiagnosticCode::E0217, expr.condition->span,
                  "the condition of `if` must be true or false, got the number " + condition->str());
  return evalBlock(condition->asDouble() != 0 ? expr.thenBlock : expr.elseBlock);
}

/// `and`, `or`: what the left side decides at compile time leaves the right side unread.
LanguageValue Expressions::evalBinary(const ast::BinaryExpr &expr) {
  bool isOr = expr.op == ast::BinaryOp::Or;
  LanguageValue lhs = eval(*expr.lhs);
  if ((isOr || expr.op == ast::BinaryOp::And) && lhs.isNumber() && lhs.number.isBool() &&
      (lhs.number.integer != 0) == isOr)
    return Number::ofBool(isOr);
  LanguageValue rhs = eval(*expr.rhs);
  if (lhs.isError() || rhs.isError()) return LanguageValue();
  return ops.binary(expr.op, expr.opSpan, expr.lhs->span, expr.rhs->span, lhs, rhs);
}

//===----------------------------------------------------------------------===//
// Repeat
//===----------------------------------------------------------------------===//

/// Evaluates what a repeat starts with; numbers become scalars.
bool Expressions::evalCarried(const ast::RepeatExpr &expr, std::vector<LanguageValue> &initial) {
  bool ok = true;
  for (const ast::Bind &bind : expr.carried) {
    LanguageValue value = eval(*bind.value);
    if (!value.isError() && !value.isArithmetic()) {
      error(DiagnosticCode::E0226, bind.value->span, "a repeat carries tensors, got " + describe(value));
      value = LanguageValue();
    }
    if (value.isNumber()) value = ops.materializeScalar(value);
    ok &= !value.isError();
    initial.push_back(std::move(value));
  }
  return ok;
}

bool Expressions::checkRepeat(const ast::RepeatExpr &expr, const AxisRef &axis, llvm::ArrayRef<LanguageValue> initial) {
  auto refuse = [&](DiagnosticCode code, Span span, const Twine &message) { return error(code, span, message), false; };
  if (!entry.isActive()) return refuse(DiagnosticCode::E0219, expr.span, "`repeat` is not known at compile time");
  if (regions.level() >= MaxRepeatDepth)
    return refuse(DiagnosticCode::E0601, expr.span, "repeats nest deeper than " + Twine(MaxRepeatDepth));
  batches.noteSamplePositions(axis.name, expr.axis.span);
  for (const RepeatRegion &outer : regions.regions())
    if (outer.axis == axis)
      return refuse(DiagnosticCode::E0212, expr.axis.span,
                    "an enclosing repeat runs along `" + axis.name + "` already");
  for (auto [bind, value] : llvm::zip(expr.carried, initial))
    if (value.tensor.type().hasAxis(axis.name))
      return refuse(DiagnosticCode::E0226, bind.value->span,
                    "a repeat along `" + axis.name + "` cannot carry a value that has this axis");
  return true;
}

LanguageValue Expressions::evalRepeat(const ast::RepeatExpr &expr) {
  std::optional<AxisRef> axis = resolver.resolveAxis(expr.axis);
  std::vector<LanguageValue> initial;
  if (!evalCarried(expr, initial) || !axis || !checkRepeat(expr, *axis, initial)) return LanguageValue();
  regions.push(*axis, /*isMicro=*/false);
  frame().scopes.emplace_back();
  bool ok = true;
  for (auto [bind, value] : llvm::zip(expr.carried, initial)) {
    Tensor carried;
    carried.value = regions.innermost().addCarried(value.tensor.value, builder.getLoc());
    carried.level = regions.level();
    ok &= resolver.define(bind.name, carried);
  }
  LanguageValue result = evalBlock(expr.body);
  frame().scopes.pop_back();
  return finishRepeat(expr, ok ? std::move(result) : LanguageValue());
}

/// A value from outside of the repeat that has its axis, and that the body does not read at `axis = …` everywhere:
/// `x` of `sum[feature](x * w)` in `repeat[time]`. Empty if there is none.
StringRef Expressions::unreadStep(const ast::RepeatExpr &expr, const AxisRef &axis) const {
  llvm::SmallPtrSet<const ast::Expr *, 8> read;
  StringRef found;
  ast::forEachExpr(expr.body, [&](const ast::Expr &each) { // from the outside in: an index before its base
    if (auto *index = llvm::dyn_cast<ast::IndexExpr>(&each))
      if (llvm::any_of(index->positions, [&](const ast::Bind &bind) { return bind.name.text == expr.axis.text; }))
        read.insert(index->base.get());
    auto *ref = llvm::dyn_cast<ast::RefExpr>(&each);
    if (!ref || read.contains(ref) || !found.empty()) return;
    for (auto scope = frame().scopes.rbegin(); scope != frame().scopes.rend(); ++scope) {
      auto known = scope->find(ref->name.text);
      if (known == scope->end()) continue;
      if (known->second.isTensor() && known->second.tensor.type().hasAxis(axis.name)) found = ref->name.text;
      break;
    }
  });
  return found;
}

/// The next value of what is carried at `index`, out of the body's result; null after an error.
mlir::Value Expressions::nextValue(const ast::RepeatExpr &expr, unsigned index, const LanguageValue &result) {
  StringRef name = expr.carried[index].name.text;
  bool isSingle = expr.carried.size() == 1;
  LanguageValue value = isSingle && result.kind != LanguageValue::Kind::Tuple ? result : LanguageValue();
  if (result.kind == LanguageValue::Kind::Tuple)
    for (auto &[element, each] : result.elements)
      if (element == name) value = each;
  Span span = expr.body.result ? expr.body.result->span : expr.body.span;
  if (!value.isArithmetic()) {
    error(DiagnosticCode::E0226, span, "the body must return the next `" + name + "`")
        .help(isSingle ? "the last expression of the body is the next value"
                       : "several carried values are returned as a named tuple: `(" + name + " = …, …)`");
    return {};
  }
  mlir::Value initial = regions.innermost().carried[index];
  auto type = tensorType(initial);
  mlir::Value built = ops.materialize(value, value.isNumber() ? type.getElementType() : value.tensor.element());
  if (built.getType() == type) return built;
  Tensor before;
  before.value = initial;
  auto message = error(DiagnosticCode::E0226, span, "`" + name + "` changes from one layer to the next");
  message.label(expr.carried[index].value->span, "begins as " + describe(LanguageValue(before)))
      .label(span, "the next layer gets " + describe(value));
  const AxisRef &axis = regions.innermost().axis;
  StringRef unread = tensorType(built).hasAxis(axis.name) ? unreadStep(expr, axis) : "";
  if (!unread.empty())
    message.help("`" + unread + "` still has the axis `" + axis.name + "`: write `" + unread + "[" + expr.axis.text +
                 " = pos[" + expr.axis.text + "]]`");
  message.help("a carried value has the same axes and type in every layer");
  return {};
}

/// Matches what the body returns with what is carried, and closes the region.
LanguageValue Expressions::finishRepeat(const ast::RepeatExpr &expr, const LanguageValue &result) {
  std::vector<mlir::Value> next;
  bool ok = !result.isError();
  for (unsigned i = 0; i < expr.carried.size() && ok; ++i) {
    next.push_back(nextValue(expr, i, result));
    ok = next.back() != nullptr;
  }
  if (!ok) {
    auto unchanged = regions.innermost().carriedArguments();
    next.assign(unchanged.begin(), unchanged.end());
  }
  std::vector<mlir::Value> results = regions.pop(next);
  if (!ok) return LanguageValue();
  LanguageValue tuple = LanguageValue::ofKind(LanguageValue::Kind::Tuple);
  for (unsigned i = 0; i < results.size(); ++i) {
    Tensor tensor;
    tensor.value = results[i];
    tensor.level = regions.level();
    tuple.elements.push_back({expr.carried[i].name.text.str(), tensor});
  }
  return results.size() == 1 ? tuple.elements[0].second : tuple;
}
