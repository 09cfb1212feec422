//===- Training.cpp - losses, metrics, optimizers of the description -------===//

#include "frontend/elaborate/Elaborator.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Losses and metrics
//===----------------------------------------------------------------------===//

/// Evaluates the lets of the description that an expression names, before the expression is: no repeat in it runs them
/// in each of its turns. Names that it binds itself are left to be looked up.
void Elaborator::evalTrainLets(const ast::Expr &expr) {
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
  bool found = false;
  for (StringRef name : names) {
    auto let = TrainLets.find(name);
    if (let == TrainLets.end() || bound.contains(name) || LetsInProgress.count(let->second.first)) continue;
    lookupTrainLet(name, found);
  }
}

/// Names of the description: data, and lets, which are evaluated where they are first needed (a learning rate outside
/// the loop over micro-batches, logits inside).
Value Elaborator::lookupTrainLet(StringRef name, bool &found) {
  found = true;
  for (unsigned i = 0; i < Data.size(); ++i)
    if (Data[i].name == name) {
      Value value = Value::ofKind(Value::Kind::Data);
      value.data = i;
      return value;
    }
  auto let = TrainLets.find(name);
  if (let == TrainLets.end()) {
    found = false;
    return Value();
  }
  auto [definition, element] = let->second;
  TrainLetValues.resize(level() + 1);
  Value value;
  unsigned atLevel = 0;
  while (atLevel <= level() && !TrainLetValues[atLevel].count(definition)) ++atLevel;
  if (atLevel > level()) {
    if (!LetsInProgress.insert(definition).second)
      return failed(DiagnosticCode::E0201, definition->names[0].span, "the value of `" + name + "` depends on itself");
    std::string saved = std::exchange(CurrentName, definition->names[0].text.str());
    // In a scope of its own: what stands around the use hides none of its names.
    std::vector<llvm::StringMap<Value>> scopes = std::exchange(Current->scopes, {});
    Current->scopes.emplace_back();
    evalTrainLets(*definition->value);
    value = eval(*definition->value);
    Current->scopes = std::move(scopes);
    CurrentName = saved;
    LetsInProgress.erase(definition);
    if (definition->isTuple && !value.isError() &&
        (value.kind != Value::Kind::Tuple || value.elements.size() != definition->names.size()))
      value = failed(DiagnosticCode::E0227, definition->value->span,
                     "expected a tuple of " + Twine(definition->names.size()) + " elements, got " + describe(value));
    TrainLetValues[level()][definition] = value;
  } else {
    value = TrainLetValues[atLevel][definition];
  }
  if (definition->isTuple && !value.isError()) value = value.elements[element].second;
  if (value.isTensor()) value.tensor = here(value.tensor);
  return value;
}

/// Parts along an axis that is like `batch` meet only parts along `batch`, so such reductions depend on how it is cut.
void Elaborator::noteBatchReduction(mlir::Value value, llvm::ArrayRef<StringRef> over, OfParts parts, Span span) {
  if (MicroBatches == 1 || !hasRowAxis(over)) return;
  bool isBatchAlone = llvm::none_of(over, [&](StringRef axis) { return axis != "batch" && isRowAxis(axis); });
  BatchReductions.push_back({value, isBatchAlone ? parts : OfParts::Neither, span});
}

/// What looks at the places of rows sees those of a part.
void Elaborator::noteBatchUse(StringRef axis, Span span) {
  if (MicroBatches > 1 && isRowAxis(axis)) BatchReductions.push_back({{}, OfParts::Neither, span});
}

/// What a batch's value of a loss or metric weighs in the mean over all batches: the weights of the means that it is computed
/// from. Null: its rows.
mlir::Value Elaborator::countOf(mlir::Value value, const ast::Bind &bind) {
  llvm::SetVector<mlir::Value> seen;
  seen.insert(value);
  const WeightedMean *first = nullptr;
  for (size_t next = 0; next < seen.size(); ++next) {
    auto mean = llvm::find_if(WeightedMeans, [&](const WeightedMean &m) { return m.value == seen[next]; });
    if (mean != WeightedMeans.end()) {
      if (first && first->weights != mean->weights) {
        Engine
            .warning(DiagnosticCode::E0413, bind.value->span,
                     "`" + bind.name.text +
                         "` is made of means with different weights, so that evaluation takes the mean "
                         "of its batches by their rows")
            .help("log the terms apart: each is then weighted by its own");
        return {};
      }
      first = first ? first : &*mean;
      continue;
    }
    mlir::Operation *op = seen[next].getDefiningOp();
    if (!op || op->getNumRegions() > 0) continue;
    for (mlir::Value operand : op->getOperands()) {
      auto hasRows = [&](AxisAttr axis) { return isRowAxis(axis.getName()); };
      if (llvm::none_of(tensorType(operand).getAxes(), hasRows)) seen.insert(operand);
    }
  }
  return first ? first->count : mlir::Value();
}

/// How the parts of a batch make up this value, and that the reductions it is made of are logged. Looks through what is
/// linear; anything else is averaged.
OfParts Elaborator::partsOf(mlir::Value value) {
  for (BatchReduction &reduction : BatchReductions)
    if (reduction.value == value && reduction.parts != OfParts::Neither) {
      reduction.isLogged = true;
      return reduction.parts;
    }
  mlir::Operation *op = value.getDefiningOp();
  auto isConstant = [](mlir::Value v) { return llvm::isa_and_nonnull<ConstantOp>(v.getDefiningOp()); };
  auto reduce = llvm::dyn_cast_or_null<ReduceOp>(op);
  auto isFloat = [](mlir::Value v) { return llvm::isa<mlir::FloatType>(tensorType(v).getElementType()); };
  bool isCast = llvm::isa_and_nonnull<CastOp>(op) && isFloat(value) && isFloat(op->getOperand(0));
  if (llvm::isa_and_nonnull<NegOp>(op) || isCast || (reduce && reduce.getKind() == ReduceKind::Sum))
    return partsOf(op->getOperand(0));
  if (llvm::isa_and_nonnull<AddOp, SubOp>(op)) {
    OfParts lhs = partsOf(op->getOperand(0)), rhs = partsOf(op->getOperand(1));
    return lhs == rhs ? lhs : OfParts::Neither;
  }
  if (llvm::isa_and_nonnull<MulOp, DivOp>(op) && isConstant(op->getOperand(1))) return partsOf(op->getOperand(0));
  if (llvm::isa_and_nonnull<MulOp>(op) && isConstant(op->getOperand(0))) return partsOf(op->getOperand(1));
  return OfParts::Mean;
}

OfParts Elaborator::partsOfLog(mlir::Value value, const ast::Bind &bind) {
  if (MicroBatches == 1) return OfParts::Mean;
  OfParts parts = partsOf(value);
  if (parts == OfParts::Neither)
    error(DiagnosticCode::E0412, bind.value->span,
          "under `accumulate`, `" + bind.name.text + "` adds a sum over `batch` to what is none")
        .help("log the two apart, or make both of them means: `mean[batch](…)`");
  else if (parts == OfParts::Sum && BatchSizeRead)
    error(DiagnosticCode::E0412, bind.value->span,
          "`" + bind.name.text +
              "` is a sum over `batch`, and the program computes with the size of `batch`, which under `accumulate` is "
              "that of a part")
        .help("write `mean[batch](…)` instead of dividing by the size");
  return parts;
}

/// Rule 12: what else is reduced over the batch is reduced over each part for itself.
void Elaborator::warnOfBatchReductions() {
  for (const BatchReduction &reduction : BatchReductions)
    if (!reduction.isLogged)
      Engine
          .warning(DiagnosticCode::E0412, reduction.span,
                   reduction.value ? "under `accumulate` this reduces each part of the batch for itself"
                                   : "under `accumulate` rows are counted in each part of the batch for itself")
          .help("results depend on the number of parts; where that is not wanted, remove `accumulate`");
}

/// What each part adds to the losses and metrics of the batch.
void Elaborator::scaleLogs(std::vector<LogEntry> &logs) {
  for (LogEntry &log : logs)
    if (log.parts == OfParts::Mean) log.value = B.mul(log.value, 1.0 / MicroBatches);
}

void Elaborator::evalTrainItems(bool isTraining) {
  for (const ast::TrainItem &item : Program.train->items)
    if (auto *log = std::get_if<ast::LogStmt>(&item.node)) {
      for (const ast::Bind &bind : log->binds) evalTrainLets(*bind.value);
      evalLog(*log);
    }
  if (isTraining) warnOfBatchReductions();
  // What no loss needed is checked too.
  if (isTraining && Levels.empty())
    for (const ast::TrainItem &item : Program.train->items)
      if (auto *let = std::get_if<ast::LetStmt>(&item.node))
        for (const ast::Definition &definition : let->definitions) {
          bool found = false;
          lookupTrainLet(definition.names[0].text, found);
        }
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

namespace {
struct RuleArgument {
  StringRef name;  ///< in the model file
  StringRef hyper; ///< in the IR
  double fallback; ///< NaN: must be given
  double below;    ///< a number given lies in 0 … below, the bound itself excluded
};
} // namespace

static llvm::ArrayRef<RuleArgument> argumentsOfRule(StringRef rule) {
  static const double required = std::nan("");
  static const RuleArgument sgd[] = {
      {"lr", "rate", required, INFINITY}, {"momentum", "momentum", 0, 1}, {"decay", "decay", 0, INFINITY}};
  static const RuleArgument adam[] = {{"lr", "rate", required, INFINITY},
                                      {"beta1", "beta1", 0.9, 1},
                                      {"beta2", "beta2", 0.999, 1},
                                      {"eps", "epsilon", 1e-8, INFINITY},
                                      {"decay", "decay", 0, INFINITY}};
  return rule == "sgd" ? llvm::ArrayRef(sgd) : llvm::ArrayRef(adam);
}

/// Enters an argument of a rule, which must be a scalar and, where it is a number, in bounds.
bool Elaborator::giveRuleArgument(OptimizeRule &rule, StringRef name, const Value &value, Span span) {
  const RuleArgument *argument =
      llvm::find_if(argumentsOfRule(rule.rule), [&](const RuleArgument &a) { return a.name == name; });
  bool scalar = value.isNumber() || (value.isTensor() && value.tensor.type().isScalar());
  if (!scalar)
    return error(DiagnosticCode::E0407, span, "`" + name + "` must be a scalar, got " + describe(value)), false;
  double number = value.isNumber() ? value.number.asDouble() : 0;
  if (!(number >= 0 && number < argument->below)) {
    error(DiagnosticCode::E0407, span,
          "`" + name + "` = " + value.number.str() +
              (std::isfinite(argument->below) ? " is not in [0, " + Twine(static_cast<int>(argument->below)) + ")"
                                              : Twine(" is not a finite number from 0")));
    return false;
  }
  rule.hypers.push_back({argument->hyper.str(), value});
  return true;
}

/// Evaluates `adamw(lr = lr, betas = (0.9, 0.95), decay = 0.1)`.
bool Elaborator::readRule(const ast::OptimizeItem &item, OptimizeRule &rule) {
  rule.item = &item;
  if (auto *ref = llvm::dyn_cast<ast::RefExpr>(item.rule.get()); ref && ref->name.text == "none") {
    rule.rule = "none";
    return true;
  }
  auto *call = llvm::dyn_cast<ast::CallExpr>(item.rule.get());
  if (!call || !llvm::is_contained({"sgd", "adam", "adamw"}, call->callee.text)) {
    auto message = error(DiagnosticCode::E0407, call ? call->callee.span : item.rule->span, "unknown optimizer");
    StringRef nearest = nearestName(call ? call->callee.text : "", {"sgd", "adam", "adamw"});
    message.help(nearest.empty() ? Twine("the rules are sgd, adam, adamw and none")
                                 : "did you mean `" + nearest + "`?");
    return false;
  }
  rule.rule = call->callee.text.str();
  llvm::StringSet<> seen;
  for (const ast::Argument &arg : call->args) {
    StringRef name = arg.name.text;
    if (!name.empty() && !seen.insert(name).second)
      return error(DiagnosticCode::E0407, arg.name.span, "`" + name + "` is given twice"), false;
    Value value = eval(*arg.value);
    if (value.isError()) return false;
    bool isAdam = rule.rule != "sgd";
    bool isPair = value.kind == Value::Kind::Tuple && value.elements.size() == 2;
    if (name == "betas" && isAdam) {
      if (!isPair) {
        error(DiagnosticCode::E0407, arg.value->span, "`betas` are two numbers, got " + describe(value))
            .help("write `betas = (0.9, 0.95)`");
        return false;
      }
      for (unsigned i = 0; i < 2; ++i) {
        if (!seen.insert(i ? "beta2" : "beta1").second)
          return error(DiagnosticCode::E0407, arg.name.span, "`betas` says what is given by its own name too"), false;
        if (!giveRuleArgument(rule, i ? "beta2" : "beta1", value.elements[i].second, arg.value->span)) return false;
      }
      continue;
    }
    if (name == "nesterov" && !isAdam) {
      if (!value.isNumber() || !value.number.isBool())
        return error(DiagnosticCode::E0407, arg.value->span, "`nesterov` is true or false, got " + describe(value)),
               false;
      rule.nesterov = value.number.integer != 0;
      continue;
    }
    bool known = llvm::any_of(argumentsOfRule(rule.rule), [&](const RuleArgument &a) { return a.name == name; });
    if (!known) {
      auto message = error(DiagnosticCode::E0407, name.empty() ? arg.value->span : arg.name.span,
                           name.empty() ? Twine("the arguments of `" + rule.rule + "` are named")
                                        : "`" + rule.rule + "` has no argument `" + name + "`");
      message.help(isAdam ? "its arguments are lr, betas, eps and decay"
                          : "its arguments are lr, momentum, nesterov and decay");
      return false;
    }
    if (!giveRuleArgument(rule, name, value, arg.value->span)) return false;
  }
  // In the order of the table, with what was not given.
  std::vector<std::pair<std::string, Value>> given = std::exchange(rule.hypers, {});
  for (const RuleArgument &argument : argumentsOfRule(rule.rule)) {
    auto found = llvm::find_if(given, [&](auto &pair) { return pair.first == argument.hyper; });
    if (found == given.end() && std::isnan(argument.fallback))
      return error(DiagnosticCode::E0407, call->span, "`" + rule.rule + "` needs a learning rate")
                 .help("add `lr = 1e-3`"),
             false;
    rule.hypers.push_back(
        {argument.hyper.str(), found == given.end() ? Value(Number::ofFloat(argument.fallback)) : found->second});
  }
  return true;
}

/// Whether the pattern matches the whole path. Quadratic in their lengths, whatever the number of `**`.
bool Elaborator::matches(llvm::ArrayRef<ast::Name> pattern, llvm::ArrayRef<StringRef> path) {
  std::vector<bool> reach(path.size() + 1, false);
  reach[0] = true;
  for (const ast::Name &segment : pattern) {
    std::vector<bool> next(path.size() + 1, false);
    for (unsigned i = 0; i <= path.size(); ++i) {
      if (segment.text == "**")
        next[i] = reach[i] || (i > 0 && next[i - 1]);
      else if (i > 0)
        next[i] = reach[i - 1] && (segment.text == "*" || segment.text == path[i - 1]);
    }
    reach = std::move(next);
  }
  return reach.back();
}

bool Elaborator::selects(const ast::PathPattern &pattern, const Parameter &parameter) {
  if (pattern.segments.size() == 1 && pattern.segments[0].text == ast::spelling(parameter.kind)) return true;
  llvm::SmallVector<StringRef> path;
  StringRef(parameter.path).split(path, '.');
  return matches(pattern.segments, path);
}

/// The last rule that selects a parameter wins; every parameter needs one.
std::vector<OptimizeRule *> Elaborator::assignRules(std::vector<OptimizeRule> &rules) {
  std::vector<OptimizeRule *> assigned(Parameters.size(), nullptr);
  for (OptimizeRule &rule : rules)
    for (const ast::PathPattern &pattern : rule.item->selection) {
      unsigned index = 0, count = 0;
      for (auto &[path, parameter] : Parameters) {
        if (selects(pattern, *parameter)) {
          assigned[index] = &rule;
          ++count;
        }
        ++index;
      }
      bool isKind =
          pattern.segments.size() == 1 && llvm::is_contained({"weight", "bias", "gain"}, pattern.segments[0].text);
      if (count || isKind || Engine.hasErrors()) continue;
      auto message = error(DiagnosticCode::E0406, pattern.span,
                           "no parameter matches `" + Engine.sources().text(pattern.span) + "`");
      std::vector<StringRef> paths;
      for (auto &entry : Parameters) paths.push_back(entry.first);
      if (StringRef nearest = nearestName(Engine.sources().text(pattern.span), paths); !nearest.empty())
        message.help("did you mean `" + nearest + "`?");
      else if (!paths.empty())
        message.help("the parameters are " + llvm::join(llvm::ArrayRef(paths).take_front(6), ", ") +
                     (paths.size() > 6 ? ", …" : ""));
    }
  unsigned index = 0;
  for (auto &[path, parameter] : Parameters)
    if (!assigned[index++] && !Engine.hasErrors())
      error(DiagnosticCode::E0405, parameter->declared,
            "no `optimize` selects the " + ast::spelling(parameter->kind) + " `" + path + "`")
          .help("add `optimize adamw(lr = …) on " + ast::spelling(parameter->kind) +
                "`, or freeze it: `optimize none on " + path + "`");
  return assigned;
}

/// The state that a rule keeps of a parameter `w` is called `w.m` and the like (passes/optimizer/Rules.cpp); so may a
/// parameter be.
void Elaborator::checkMomentNames() {
  unsigned index = 0;
  for (auto &[path, parameter] : Parameters) {
    OptimizeRule *rule = RuleOf[index++];
    if (!rule) continue;
    std::vector<StringRef> moments{"m", "v"};
    if (rule->rule == "sgd") moments = {"momentum"};
    for (StringRef moment : moments) {
      auto other = Parameters.find((path + "." + moment).str());
      if (other == Parameters.end()) continue;
      error(DiagnosticCode::E0301, other->second->declared,
            "the path of this " + ast::spelling(other->second->kind) + ", `" + other->first +
                "`, is that of the optimizer's state for `" + path + "`")
          .label(parameter->declared, "`" + path + "`, which `" + rule->rule + "` trains")
          .help("choose another name, or another label for the call");
    }
  }
}
