//===- Evaluator.h - the values of expressions ------------------------------===//

#ifndef TESSERA_FRONTEND_EVALUATOR_H
#define TESSERA_FRONTEND_EVALUATOR_H

#include "frontend/elaborate/CallStack.h"

namespace tessera {

/// Evaluates expressions. Expressions.h implements it; the parts that expressions are made of see this interface.
class Evaluator : protected ElaborationPart {
public:
  explicit Evaluator(CallStack &calls) : ElaborationPart(calls) {}
  virtual ~Evaluator() = default;

  virtual Value eval(const ast::Expr &expr) = 0;
  virtual Value evalBlock(const ast::Block &block) = 0;

  Value evalIn(Frame &frame, const ast::Expr &expr);
  /// The value of an expression that must be known at compile time; `otherwise` helps where that was not meant.
  std::optional<Number> closed(const ast::Expr &expr, const llvm::Twine &what, llvm::StringRef otherwise = "");
};

} // namespace tessera

#endif // TESSERA_FRONTEND_EVALUATOR_H
