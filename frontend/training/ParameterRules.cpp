//===- ParameterRules.cpp - which rule trains which parameter ---------------===//

#include "frontend/training/ParameterRules.h"
#include "frontend/diagnostics/ForeignNames.h"
#include "runtime/base/PathPattern.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Arguments of a rule
//===----------------------------------------------------------------------===//

bool RuleChoice::isUsed(StringRef irName) const {
  auto found = llvm::find_if(arguments, [&](auto &hyper) { return hyper.first == irName; });
  return found != arguments.end() && !(found->second.isNumber() && found->second.number.asDouble() == 0);
}

static std::vector<StringRef> ruleNames() {
  std::vector<StringRef> names;
  for (const OptimizerRule &rule : optimizerRules()) names.push_back(rule.name);
  return names;
}

/// The arguments of a rule as a model file gives them, those of a tuple by its name.
static std::string argumentList(const OptimizerRule &rule) {
  std::vector<StringRef> names;
  for (const OptimizerArgument &argument : rule.arguments) {
    StringRef name = argument.tuple.empty() ? argument.name : argument.tuple;
    if (!llvm::is_contained(names, name)) names.push_back(name);
  }
  StringRef last = names.back();
  names.pop_back();
  return llvm::join(names, ", ") + " and " + last.str();
}

/// Enters an argument, which must be a scalar and, where it is a number, in bounds.
bool ParameterRules::giveArgument(const OptimizerArgument &argument, const LanguageValue &value, Span span,
                                  RuleChoice &choice) {
  bool isScalar = value.isNumber() || (value.isTensor() && value.tensor.type().isScalar());
  auto refuse = [&](const Twine &message) { return error(DiagnosticCode::E0407, span, message), false; };
  if (argument.isFlag) {
    if (!value.isNumber() || !value.number.isBool())
      return refuse("`" + argument.name + "` is true or false, got " + describe(value));
    if (value.number.integer) choice.flags.push_back(argument.irName);
    return true;
  }
  if (!isScalar) return refuse("`" + argument.name + "` must be a scalar, got " + describe(value));
  double number = value.isNumber() ? value.number.asDouble() : 0;
  if (!(number >= 0 && number < argument.below))
    return refuse("`" + argument.name + "` = " + value.number.str() +
                  (std::isfinite(argument.below) ? " is not in [0, " + Twine(static_cast<int>(argument.below)) + ")"
                                                 : Twine(" is not a finite number from 0")));
  choice.arguments.push_back({argument.irName, value});
  return true;
}

/// `betas = (0.9, 0.95)`.
bool ParameterRules::readTuple(const ast::Argument &arg, const LanguageValue &value, RuleChoice &choice,
                               llvm::StringSet<> &seen) {
  StringRef tuple = arg.name.text;
  llvm::SmallVector<const OptimizerArgument *> elements;
  for (const OptimizerArgument &argument : choice.rule->arguments)
    if (argument.tuple == tuple) elements.push_back(&argument);
  if (value.kind != LanguageValue::Kind::Tuple || value.elements.size() != elements.size()) {
    std::vector<std::string> values;
    for (const OptimizerArgument *element : elements) values.push_back(Number::ofFloat(*element->fallback).str());
    error(DiagnosticCode::E0407, arg.value->span,
          "`" + tuple + "` is a tuple of " + Twine(elements.size()) + " numbers, got " + describe(value))
        .help("write `" + tuple + " = (" + llvm::join(values, ", ") + ")`");
    return false;
  }
  for (auto [argument, element] : llvm::zip(elements, value.elements)) {
    if (!seen.insert(argument->name).second)
      return error(DiagnosticCode::E0407, arg.name.span,
                   "`" + tuple + "` gives `" + argument->name + "`, which is given by its own name too"),
             false;
    if (!giveArgument(*argument, element.second, arg.value->span, choice)) return false;
  }
  return true;
}

bool ParameterRules::readArgument(const ast::Argument &arg, RuleChoice &choice, llvm::StringSet<> &seen) {
  const OptimizerRule &rule = *choice.rule;
  StringRef name = arg.name.text;
  if (!name.empty() && !seen.insert(name).second)
    return error(DiagnosticCode::E0407, arg.name.span, "`" + name + "` is given twice"), false;
  LanguageValue value = elaboration.exprs.expressions.eval(*arg.value);
  if (value.isError()) return false;
  bool isTuple = llvm::any_of(rule.arguments, [&](const OptimizerArgument &a) { return a.tuple == name; });
  if (!name.empty() && isTuple) return readTuple(arg, value, choice, seen);
  if (const OptimizerArgument *argument = rule.findArgument(name))
    return giveArgument(*argument, value, arg.value->span, choice);
  auto message = error(DiagnosticCode::E0407, name.empty() ? arg.value->span : arg.name.span,
                       name.empty() ? Twine("the arguments of `" + rule.name + "` are named")
                                    : "`" + rule.name + "` has no argument `" + name + "`");
  message.help("its arguments are " + argumentList(rule));
  if (StringRef advice = adviceOnForeignName(name); !advice.empty()) message.help("write " + advice);
  return false;
}

/// Puts the arguments in the order of the table, with the defaults of those that are not given.
bool ParameterRules::completeArguments(const ast::CallExpr &call, RuleChoice &choice) {
  auto given = std::exchange(choice.arguments, {});
  for (const OptimizerArgument &argument : choice.rule->arguments) {
    if (argument.isFlag) continue;
    auto found = llvm::find_if(given, [&](auto &pair) { return pair.first == argument.irName; });
    if (found == given.end() && !argument.fallback) {
      error(DiagnosticCode::E0407, call.span, "`" + choice.rule->name + "` needs `" + argument.name + "`")
          .help("add `" + argument.name + " = 1e-3`");
      return false;
    }
    choice.arguments.push_back(
        {argument.irName, found == given.end() ? LanguageValue(Number::ofFloat(*argument.fallback)) : found->second});
  }
  return true;
}

/// Evaluates `adamw(lr = lr, betas = (0.9, 0.95), decay = 0.1)`.
bool ParameterRules::readChoice(RuleChoice &choice) {
  const ast::Expr &expr = *choice.item->rule;
  if (auto *ref = llvm::dyn_cast<ast::RefExpr>(&expr); ref && ref->name.text == "none") return true;
  auto *call = llvm::dyn_cast<ast::CallExpr>(&expr);
  choice.rule = call ? findOptimizerRule(call->callee.text) : nullptr;
  if (!choice.rule) {
    auto message = error(DiagnosticCode::E0407, call ? call->callee.span : expr.span, "unknown optimizer");
    std::vector<StringRef> known = ruleNames();
    StringRef nearest = nearestName(call ? call->callee.text : "", known);
    message.help(nearest.empty() ? Twine("the rules are " + llvm::join(known, ", ") + " and none")
                                 : "did you mean `" + nearest + "`?");
    return false;
  }
  llvm::StringSet<> seen;
  for (const ast::Argument &arg : call->args)
    if (!readArgument(arg, choice, seen)) return false;
  return completeArguments(*call, choice);
}

void ParameterRules::read() {
  choices.clear();
  for (const ast::TrainItem &item : declared.train->items)
    if (auto *optimize = std::get_if<ast::OptimizeItem>(&item.node)) {
      choices.emplace_back().item = optimize;
      readChoice(choices.back());
    }
}

//===----------------------------------------------------------------------===//
// Selections
//===----------------------------------------------------------------------===//

static constexpr ast::ParamKind trainedKinds[] = {ast::ParamKind::Weight, ast::ParamKind::Bias, ast::ParamKind::Gain};

static bool selectsKind(const ast::PathPattern &pattern, ast::ParamKind kind) {
  return pattern.segments.size() == 1 && pattern.segments[0].text == ast::spelling(kind);
}

static bool selects(const ast::PathPattern &pattern, const Parameter &parameter) {
  if (parameter.isState()) return false;
  if (selectsKind(pattern, parameter.kind)) return true;
  std::vector<StringRef> names;
  for (const ast::Name &segment : pattern.segments) names.push_back(segment.text);
  return matchesPath(llvm::join(names, "."), parameter.path);
}

void ParameterRules::reportNoMatch(const ast::PathPattern &pattern) {
  StringRef text = diagnostics.sources().text(pattern.span);
  auto message = error(DiagnosticCode::E0406, pattern.span, "no parameter matches `" + text + "`");
  std::vector<StringRef> paths = elaboration.parameters.trainablePaths(), names = paths;
  for (ast::ParamKind kind : trainedKinds) names.push_back(ast::spelling(kind));
  bool isAll = llvm::is_contained({"*", "all", "params", "parameters", "everything", "model"}, text) ||
               text == declared.model->name.text;
  if (isAll)
    message.help("`**` selects all parameters");
  else if (const Parameter *found = elaboration.parameters.find(text); found && found->isState())
    message.label(found->declared, "this is a state").help("states are not trained: the model assigns them");
  else if (StringRef nearest = nearestName(text, names); !nearest.empty())
    message.help("did you mean `" + nearest + "`?");
  else if (!paths.empty())
    message.help("the parameters are " + llvm::join(llvm::ArrayRef(paths).take_front(6), ", ") +
                 (paths.size() > 6 ? ", …" : ""));
}

/// The indices of the parameters that the pattern matches.
std::vector<unsigned> ParameterRules::selectedBy(const ast::PathPattern &pattern) const {
  std::vector<unsigned> found;
  for (auto [index, entry] : llvm::enumerate(elaboration.parameters.all()))
    if (selects(pattern, *entry.second)) found.push_back(index);
  return found;
}

static bool selectsAKind(const ast::PathPattern &pattern) {
  return llvm::any_of(trainedKinds, [&](ast::ParamKind kind) { return selectsKind(pattern, kind); });
}

/// The last rule that selects a parameter wins; every parameter needs one.
std::vector<ParameterRules::Selection> ParameterRules::selectionOfEach() {
  std::vector<Selection> selections(elaboration.parameters.all().size());
  for (const RuleChoice &choice : choices)
    for (const ast::PathPattern &pattern : choice.item->selection) {
      std::vector<unsigned> found = selectedBy(pattern);
      for (unsigned index : found) selections[index] = {&choice, &pattern};
      if (found.empty() && !selectsAKind(pattern) && !diagnostics.hasErrors()) reportNoMatch(pattern);
    }
  for (auto [selection, entry] : llvm::zip(selections, elaboration.parameters.all()))
    if (!selection.choice && !entry.second->isState() && !diagnostics.hasErrors()) {
      auto message = error(DiagnosticCode::E0405, entry.second->place,
                           "no `optimize` selects the " + ast::spelling(entry.second->kind) + " `" + entry.first + "`");
      noteDeclaration(message, *entry.second);
      message.help("add `optimize adamw(lr = …) on " + ast::spelling(entry.second->kind) +
                   "`, or freeze it: `optimize none on " + entry.first + "`");
    }
  return selections;
}

/// A path whose parameters are all taken by later rules, or a rule for kinds that the model does not have.
void ParameterRules::warnOfRulesWithoutEffect(llvm::ArrayRef<Selection> selections) {
  for (const RuleChoice &choice : choices) {
    StringRef rule = choice.rule ? choice.rule->name : "none";
    llvm::ArrayRef<ast::PathPattern> patterns = choice.item->selection;
    if (llvm::all_of(patterns, [&](const ast::PathPattern &pattern) { return selectedBy(pattern).empty(); }))
      diagnostics
          .warning(DiagnosticCode::E0414, patterns.front().span,
                   "`optimize " + rule + "` selects nothing: the model has no such parameters")
          .help("remove the rule");
    for (const ast::PathPattern &pattern : patterns) {
      std::vector<unsigned> found = selectedBy(pattern);
      auto isTaken = [&](unsigned index) { return selections[index].choice != &choice; };
      if (found.empty() || !llvm::all_of(found, isTaken)) continue;
      const ast::PathPattern &later = *selections[found.front()].pattern;
      diagnostics
          .warning(DiagnosticCode::E0414, pattern.span,
                   "`optimize " + rule + "` has no effect on `" + diagnostics.sources().text(pattern.span) +
                       "`: of several rules that select a parameter the last one applies")
          .label(later.span, "selects " + Twine(found.size() == 1 ? "it" : "them") + " again")
          .help("write general rules first and exceptions after them");
    }
  }
}

void ParameterRules::assign() {
  std::vector<Selection> selections = selectionOfEach();
  if (diagnostics.hasErrors()) return;
  warnOfRulesWithoutEffect(selections);
  assigned.clear();
  for (auto [selection, entry] : llvm::zip(selections, elaboration.parameters.all()))
    if (selection.choice && selection.choice->rule) assigned.push_back({entry.second.get(), selection.choice});
  if (assigned.empty())
    error(DiagnosticCode::E0405, declared.train->model.span, "every parameter is frozen: nothing would be trained")
        .help("select some with another rule: " + llvm::join(ruleNames(), ", "));
  checkStateNames();
}

/// A rule's state of a parameter `w` has the path `w.m` or the like; no parameter may have it.
void ParameterRules::checkStateNames() {
  for (const Trained &trained : assigned) {
    auto isUsed = [&](StringRef irName) { return trained.choice->isUsed(irName); };
    for (StringRef state : trained.choice->rule->stateNames(isUsed)) {
      const Parameter *other = elaboration.parameters.find((trained.parameter->path + "." + state).str());
      if (!other) continue;
      error(DiagnosticCode::E0301, other->place,
            "the path of this " + ast::spelling(other->kind) + ", `" + other->path +
                "`, is that of the optimizer's state for `" + trained.parameter->path + "`")
          .label(trained.parameter->place,
                 "`" + trained.parameter->path + "`, which `" + trained.choice->rule->name + "` trains")
          .help("choose another name, or another label for the call");
    }
  }
}
