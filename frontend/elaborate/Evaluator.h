//===- Evaluator.h - the values of expressions ------------------------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_EVALUATOR_H
#define TESSERA_FRONTEND_ELABORATE_EVALUATOR_H

#include "frontend/elaborate/CallStack.h"

namespace tessera {

/// Evaluates expressions. Expressions.h implements it; other components use this interface.
class Evaluator : protected ElaborationComponent {
public:
  explicit Evaluator(CallStack &calls) : ElaborationComponent(calls) {}
  virtual ~Evaluator() = default;

  virtual LanguageValue eval(const ast::Expr &expr) = 0;
  virtual LanguageValue evalBlock(const ast::Block &block) = 0;

  LanguageValue evalIn(Frame &frame, const ast::Expr &expr);
  /// The value of an expression that must be known at compile time; `otherwise` helps where that was not meant.
  std::optional<Number> evalConstant(const ast::Expr &expr, const llvm::Twine &what, llvm::StringRef otherwise = "");
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_EVALUATOR_H
