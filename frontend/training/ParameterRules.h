//===- ParameterRules.h - which rule trains which parameter -----------------===//

#ifndef TESSERA_FRONTEND_TRAINING_PARAMETERRULES_H
#define TESSERA_FRONTEND_TRAINING_PARAMETERRULES_H

#include "frontend/elaborate/Elaboration.h"
#include "ir/optimizer/OptimizerRules.h"

namespace tessera {

/// An `optimize RULE(…) on …` of the description. The rule is null for `none`, which freezes what is selected.
struct RuleChoice {
  const ast::OptimizeItem *item = nullptr;
  const OptimizerRule *rule = nullptr;
  std::vector<std::pair<llvm::StringRef, LanguageValue>> arguments; ///< by their names in the IR
  llvm::SmallVector<llvm::StringRef> flags;                         ///< those that are true, by their names in the IR

  /// Whether the hyperparameter is not the constant 0.
  bool isUsed(llvm::StringRef irName) const;
};

/// Reads the rules, and assigns one to each parameter.
class ParameterRules : ElaborationComponent {
public:
  explicit ParameterRules(Elaboration &elaboration)
      : ElaborationComponent(elaboration.calls), elaboration(elaboration) {}

  /// Evaluates the rules of the description at the current level.
  void read();
  /// Finds the rule of each parameter; reports parameters without one.
  void assign();

  /// A parameter that is not frozen, and its rule.
  struct Trained {
    const Parameter *parameter;
    const RuleChoice *choice;
  };
  /// In the order of the parameters.
  llvm::ArrayRef<Trained> trained() const { return assigned; }

private:
  /// What decides a parameter: the last rule that selects it. Null if there is none.
  struct Selection {
    const RuleChoice *choice = nullptr;
    const ast::PathPattern *pattern = nullptr;
  };
  bool readChoice(RuleChoice &choice);
  bool readArgument(const ast::Argument &arg, RuleChoice &choice, llvm::StringSet<> &seen);
  bool readTuple(const ast::Argument &arg, const LanguageValue &value, RuleChoice &choice, llvm::StringSet<> &seen);
  bool giveArgument(const OptimizerArgument &argument, const LanguageValue &value, Span span, RuleChoice &choice);
  bool completeArguments(const ast::CallExpr &call, RuleChoice &choice);
  std::vector<Selection> selectionOfEach();
  std::vector<unsigned> selectedBy(const ast::PathPattern &pattern) const;
  void reportNoMatch(const ast::PathPattern &pattern);
  void warnOfRulesWithoutEffect(llvm::ArrayRef<Selection> selections);
  void checkStateNames();

  Elaboration &elaboration;
  std::vector<RuleChoice> choices;
  std::vector<Trained> assigned;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_TRAINING_PARAMETERRULES_H
