//===- TrainingScope.cpp - lets, losses and metrics of the description ------===//

#include "frontend/training/TrainingScope.h"
#include "llvm/ADT/SetVector.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

void TrainingScope::declare(const ast::Name &name, const ast::Definition &definition, unsigned element) {
  if (declared.main().dims.contains(name.text))
    diagnostics.error(DiagnosticCode::E0203, name.span,
                      "`" + name.text + "` is a dim, and nothing may hide a dim's name");
  else if (sources.find(name.text))
    diagnostics.error(DiagnosticCode::E0202, name.span,
                      "`" + name.text + "` is declared twice: a data source has this name");
  else if (!lets.try_emplace(name.text, &definition, element).second)
    diagnostics.error(DiagnosticCode::E0202, name.span, "`" + name.text + "` is declared twice");
}

void TrainingScope::declare() {
  for (const ast::TrainItem &item : declared.train->items)
    if (auto *let = std::get_if<ast::LetStmt>(&item.node))
      for (const ast::Definition &definition : let->definitions)
        for (auto [element, name] : llvm::enumerate(definition.names)) declare(name, definition, element);
}

//===----------------------------------------------------------------------===//
// Lets
//===----------------------------------------------------------------------===//

/// The names that an expression reads, in order, without those that it binds itself.
static std::vector<StringRef> freeNames(const ast::Expr &expr) {
  llvm::SetVector<StringRef> names;
  llvm::StringSet<> bound;
  auto visitBlock = [&](const ast::Block &block) {
    for (auto &stmt : block.statements)
      if (auto *let = std::get_if<ast::LetStmt>(&stmt->node))
        for (const ast::Definition &definition : let->definitions)
          for (const ast::Name &name : definition.names) bound.insert(name.text);
  };
  ast::forEachExpr(expr, [&](const ast::Expr &each) {
    if (auto *ref = llvm::dyn_cast<ast::RefExpr>(&each)) names.insert(ref->name.text);
    if (auto *call = llvm::dyn_cast<ast::CallExpr>(&each)) names.insert(call->callee.text);
    if (auto *choice = llvm::dyn_cast<ast::IfExpr>(&each)) visitBlock(choice->thenBlock), visitBlock(choice->elseBlock);
    auto *repeat = llvm::dyn_cast<ast::RepeatExpr>(&each);
    if (!repeat) return;
    visitBlock(repeat->body);
    for (const ast::Bind &bind : repeat->carried) bound.insert(bind.name.text);
  });
  names.remove_if([&](StringRef name) { return bound.contains(name); });
  return {names.begin(), names.end()};
}

/// Evaluates the lets that an expression reads before the expression itself, so that no repeat in it computes them in
/// each iteration.
void TrainingScope::evalLetsOf(const ast::Expr &expr) {
  for (StringRef name : freeNames(expr)) {
    auto let = lets.find(name);
    if (let != lets.end() && !inProgress.count(let->second.first)) lookup(name);
  }
}

LanguageValue TrainingScope::evalLet(StringRef name, const ast::Definition &definition) {
  if (!inProgress.insert(&definition).second)
    return failed(DiagnosticCode::E0201, definition.names[0].span, "the value of `" + name + "` depends on itself");
  LanguageValue value;
  {
    NameScope named(calls, definition.names[0].text.str());
    // In a scope of its own: names at the use do not hide its names.
    std::vector<llvm::StringMap<LanguageValue>> scopes = std::exchange(frame().scopes, {});
    frame().scopes.emplace_back();
    evalLetsOf(*definition.value);
    value = elaboration.exprs.expressions.eval(*definition.value);
    frame().scopes = std::move(scopes);
  }
  inProgress.erase(&definition);
  if (definition.isTuple && !value.isError() && !fitsTuple(definition, value))
    value = failed(DiagnosticCode::E0227, definition.value->span,
                   "expected a tuple of " + Twine(definition.names.size()) + " elements, got " + describe(value));
  return value;
}

/// The value of a let that has been evaluated at this level or around it; null if it has not.
const LanguageValue *TrainingScope::findValue(const ast::Definition &definition) const {
  for (unsigned level = 0; level <= elaboration.regions.level(); ++level)
    if (auto known = values.find({elaboration.regions.block(level), &definition}); known != values.end())
      return &known->second;
  return nullptr;
}

std::optional<LanguageValue> TrainingScope::lookup(StringRef name) {
  if (std::optional<unsigned> source = sources.find(name)) {
    LanguageValue value = LanguageValue::ofKind(LanguageValue::Kind::Data);
    value.data = *source;
    return value;
  }
  auto let = lets.find(name);
  if (let == lets.end()) return std::nullopt;
  auto [definition, element] = let->second;
  const LanguageValue *known = findValue(*definition);
  if (!known) {
    bool isInProgress = inProgress.count(definition);
    LanguageValue evaluated = evalLet(name, *definition);
    if (isInProgress) return evaluated;
    known = &(values[{elaboration.regions.block(elaboration.regions.level()), definition}] = std::move(evaluated));
  }
  return elaboration.regions.here(definition->isTuple && !known->isError() ? known->elements[element].second : *known);
}

//===----------------------------------------------------------------------===//
// Losses and metrics
//===----------------------------------------------------------------------===//

void TrainingScope::evalUnusedLets() {
  for (const ast::TrainItem &item : declared.train->items)
    if (auto *let = std::get_if<ast::LetStmt>(&item.node))
      for (const ast::Definition &definition : let->definitions)
        if (!findValue(definition)) lookup(definition.names[0].text);
}

/// A learning rate that no rule reads, say. What only an unused `let` reads is told of when that is gone.
void TrainingScope::warnOfUnusedLets() const {
  llvm::StringSet<> used;
  auto visit = [&](const ast::Expr &expr) {
    ast::forEachExpr(expr, [&](const ast::Expr &each) {
      if (auto *ref = llvm::dyn_cast<ast::RefExpr>(&each)) used.insert(ref->name.text);
      if (auto *call = llvm::dyn_cast<ast::CallExpr>(&each)) used.insert(call->callee.text);
    });
  };
  for (const ast::TrainItem &item : declared.train->items) {
    if (auto *let = std::get_if<ast::LetStmt>(&item.node))
      for (const ast::Definition &definition : let->definitions) visit(*definition.value);
    if (auto *log = std::get_if<ast::LogStmt>(&item.node))
      for (const ast::Bind &bind : log->binds) visit(*bind.value);
    if (auto *optimize = std::get_if<ast::OptimizeItem>(&item.node)) visit(*optimize->rule);
  }
  for (const ast::TrainItem &item : declared.train->items)
    if (auto *let = std::get_if<ast::LetStmt>(&item.node))
      for (const ast::Definition &definition : let->definitions) {
        auto isUsed = [&](const ast::Name &name) { return used.contains(name.text); };
        if (llvm::any_of(definition.names, isUsed)) continue;
        StringRef name = definition.names[0].text;
        bool isRate = name.contains_insensitive("lr") || name.contains_insensitive("rate");
        diagnostics
            .warning(DiagnosticCode::E0416, definition.names[0].span,
                     "nothing uses " + (definition.isTuple ? "these names" : "`" + name + "`"))
            .help(isRate ? "give it to a rule: `optimize adam(lr = " + name + ") on **`"
                         : Twine("use it in a loss, a metric or a rule of `optimize`, or remove it"));
      }
}

void TrainingScope::evalLossesAndMetrics(bool isTraining) {
  for (const ast::TrainItem &item : declared.train->items)
    if (auto *log = std::get_if<ast::LogStmt>(&item.node)) {
      for (const ast::Bind &bind : log->binds) evalLetsOf(*bind.value);
      elaboration.exprs.expressions.evalLog(*log);
    }
  if (!isTraining) return;
  elaboration.batches.warnOfReductions();
  evalUnusedLets();
  if (!diagnostics.hasErrors()) warnOfUnusedLets();
}
