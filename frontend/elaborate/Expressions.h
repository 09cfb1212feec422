//===- Expressions.h - expressions, blocks, statements ----------------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_EXPRESSIONS_H
#define TESSERA_FRONTEND_ELABORATE_EXPRESSIONS_H

#include "frontend/elaborate/FunctionCalls.h"
#include "frontend/elaborate/StateAssignments.h"

namespace tessera {

/// Walks the tree: evaluates expressions, and executes the statements of blocks.
class Expressions : public Evaluator {
public:
  Expressions(CallStack &calls, EntryBuilder &entry, RegionStack &regions, NameResolver &names, Dims &dims,
              ParameterTable &parameters, Operators &operators, Indexing &indexing, FunctionCalls &functions,
              StateAssignments &assignments, BatchAccounting &batches, TrainingNames &training)
      : Evaluator(calls), entry(entry), regions(regions), resolver(names), sizes(dims), parameters(parameters),
        ops(operators), reads(indexing), functions(functions), assignments(assignments), batches(batches),
        training(training) {}

  LanguageValue eval(const ast::Expr &expr) override;
  LanguageValue evalBlock(const ast::Block &block) override;
  /// A loss or metric: a scalar of the current level.
  bool evalLog(const ast::LogStmt &log);

private:
  LanguageValue dispatch(const ast::Expr &expr);
  bool evalStatement(const ast::Stmt &stmt);
  bool evalLet(const ast::LetStmt &let);
  bool evalRequire(const ast::RequireStmt &require);
  void reportRequired(const ast::RequireStmt &require);
  bool bindDefinition(const ast::Definition &definition, LanguageValue value);
  LanguageValue evalRef(const ast::RefExpr &expr);
  std::string helpOnPositions(const ast::RefExpr &expr, const LanguageValue &value);
  LanguageValue evalField(const ast::FieldExpr &expr);
  LanguageValue evalTuple(const ast::TupleExpr &expr);
  LanguageValue evalIf(const ast::IfExpr &expr);
  LanguageValue evalBinary(const ast::BinaryExpr &expr);
  LanguageValue evalRepeat(const ast::RepeatExpr &expr);
  bool evalCarried(const ast::RepeatExpr &expr, std::vector<LanguageValue> &initial);
  bool checkRepeat(const ast::RepeatExpr &expr, const AxisRef &axis, llvm::ArrayRef<LanguageValue> initial);
  LanguageValue finishRepeat(const ast::RepeatExpr &expr, const LanguageValue &result);
  llvm::StringRef unreadStep(const ast::RepeatExpr &expr, const AxisRef &axis) const;
  mlir::Value nextValue(const ast::RepeatExpr &expr, unsigned index, const LanguageValue &result);

  EntryBuilder &entry;
  RegionStack &regions;
  NameResolver &resolver;
  Dims &sizes;
  ParameterTable &parameters;
  Operators &ops;
  Indexing &reads;
  FunctionCalls &functions;
  StateAssignments &assignments;
  BatchAccounting &batches;
  TrainingNames &training;
  unsigned depth = 0, evaluated = 0; ///< expressions around this one, and all so far
  bool gaveUp = false;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_EXPRESSIONS_H
