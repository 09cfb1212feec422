//===- Expressions.h - expressions, blocks, statements ----------------------===//

#ifndef TESSERA_FRONTEND_EXPRESSIONS_H
#define TESSERA_FRONTEND_EXPRESSIONS_H

#include "frontend/elaborate/FunctionCalls.h"

namespace tessera {

/// Walks the tree: evaluates expressions, and executes the statements of blocks.
class Expressions : public Evaluator {
public:
  Expressions(CallStack &calls, EntryBuilder &entry, RegionStack &regions, Names &names, ParameterTable &parameters,
              Operators &operators, Indexing &indexing, FunctionCalls &functions, BatchAccounting &batches,
              TrainingNames &training)
      : Evaluator(calls), Entry(entry), Regions(regions), Scope(names), Parameters(parameters), Ops(operators),
        Reads(indexing), Functions(functions), Batches(batches), Training(training) {}

  Value eval(const ast::Expr &expr) override;
  Value evalBlock(const ast::Block &block) override;
  /// A loss or metric: a scalar of the current level.
  bool evalLog(const ast::LogStmt &log);

private:
  Value dispatch(const ast::Expr &expr);
  bool evalStatement(const ast::Stmt &stmt);
  bool evalLet(const ast::LetStmt &let);
  bool bindDefinition(const ast::Definition &definition, Value value);
  Value evalRef(const ast::RefExpr &expr);
  Value evalField(const ast::FieldExpr &expr);
  Value evalTuple(const ast::TupleExpr &expr);
  Value evalIf(const ast::IfExpr &expr);
  Value evalBinary(const ast::BinaryExpr &expr);
  Value evalRepeat(const ast::RepeatExpr &expr);
  bool evalCarried(const ast::RepeatExpr &expr, std::vector<Value> &initial);
  bool checkRepeat(const ast::RepeatExpr &expr, const AxisRef &axis, llvm::ArrayRef<Value> initial);
  Value finishRepeat(const ast::RepeatExpr &expr, const Value &result);
  mlir::Value nextValue(const ast::RepeatExpr &expr, unsigned index, const Value &result);

  EntryBuilder &Entry;
  RegionStack &Regions;
  Names &Scope;
  ParameterTable &Parameters;
  Operators &Ops;
  Indexing &Reads;
  FunctionCalls &Functions;
  BatchAccounting &Batches;
  TrainingNames &Training;
  unsigned Depth = 0, Evaluated = 0; ///< expressions around this one, and all so far
  bool GaveUp = false;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_EXPRESSIONS_H
