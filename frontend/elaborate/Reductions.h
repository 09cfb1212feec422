//===- Reductions.h - reductions, and sums of products ----------------------===//

#ifndef TESSERA_FRONTEND_REDUCTIONS_H
#define TESSERA_FRONTEND_REDUCTIONS_H

#include "frontend/elaborate/Names.h"
#include "frontend/elaborate/Operators.h"

namespace tessera {

/// `sum`, `mean`, `max` and `min` over axes. In `evaluate` rows that only pad the batch have weight 0.
class Reductions : ElaborationPart {
public:
  Reductions(CallStack &calls, EntryBuilder &entry, RegionStack &regions, Names &names, Dims &dims,
             Operators &operators, BatchAccounting &batches, Evaluator &evaluator)
      : ElaborationPart(calls), Entry(entry), Regions(regions), Scope(names), Sizes(dims), Ops(operators),
        Batches(batches), Eval(evaluator) {}

  Value reduce(llvm::StringRef name, const ast::CallExpr &call, const std::optional<std::vector<AxisRef>> &given);

  /// The weights of the rows of a batch in `evaluate`, along `batch`; null in other entries.
  void setRowWeights(mlir::Value weights) { RowWeights = weights; }

private:
  struct Factor {
    Value value;
    Span span;
  };
  std::optional<Number> evalFactors(llvm::ArrayRef<const ast::Expr *> factors, std::vector<Factor> &tensors);
  std::optional<llvm::SmallVector<AxisRef>> axesOfSum(const ast::CallExpr &call, llvm::ArrayRef<Factor> factors);
  Value sumOfProduct(const ast::CallExpr &call, llvm::ArrayRef<const ast::Expr *> factors);
  Value mean(const Tensor &x, llvm::ArrayRef<llvm::StringRef> over, const Value *mask, Span span);
  Value weightedMean(mlir::Value value, llvm::ArrayRef<llvm::StringRef> over, mlir::Value weight, mlir::Value mask);
  Value reduceBy(ReduceKind kind, const Tensor &x, llvm::ArrayRef<llvm::StringRef> over, Span span);
  mlir::Value identityOf(ReduceKind kind, mlir::Value like);
  mlir::Value rowWeightsAlong(llvm::ArrayRef<llvm::StringRef> axes);

  EntryBuilder &Entry;
  RegionStack &Regions;
  Names &Scope;
  Dims &Sizes;
  Operators &Ops;
  BatchAccounting &Batches;
  Evaluator &Eval;
  mlir::Value RowWeights;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_REDUCTIONS_H
