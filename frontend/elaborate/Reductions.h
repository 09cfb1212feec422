//===- Reductions.h - reductions, and sums of products ----------------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_REDUCTIONS_H
#define TESSERA_FRONTEND_ELABORATE_REDUCTIONS_H

#include "frontend/elaborate/NameResolver.h"
#include "frontend/elaborate/Operators.h"

namespace tessera {

/// `sum`, `mean`, `max` and `min` over axes. In `evaluate` and `predict` samples that only pad the batch
/// have weight 0.
class Reductions : ElaborationComponent {
public:
  Reductions(CallStack &calls, EntryBuilder &entry, RegionStack &regions, NameResolver &names, Dims &dims,
             Operators &operators, BatchAccounting &batches, Evaluator &evaluator)
      : ElaborationComponent(calls), entry(entry), regions(regions), resolver(names), sizes(dims), ops(operators),
        batches(batches), evaluator(evaluator) {}

  LanguageValue reduce(llvm::StringRef name, const ast::CallExpr &call,
                       const std::optional<std::vector<AxisRef>> &given);

  /// The weights of the samples of a batch in `evaluate` and `predict`, along `batch`; null in other entries.
  void setSampleWeights(mlir::Value weights) { sampleWeights = weights; }

private:
  struct Factor {
    LanguageValue value;
    Span span;
  };
  std::optional<Number> evalFactors(llvm::ArrayRef<const ast::Expr *> factors, std::vector<Factor> &tensors);
  std::optional<llvm::SmallVector<AxisRef>> axesOfSum(const ast::CallExpr &call, llvm::ArrayRef<Factor> factors);
  bool checkFactors(llvm::ArrayRef<Factor> factors, llvm::ArrayRef<AxisRef> over);
  LanguageValue sumOfProduct(const ast::CallExpr &call, llvm::ArrayRef<const ast::Expr *> factors);
  LanguageValue mean(const Tensor &x, llvm::ArrayRef<llvm::StringRef> over, const LanguageValue *mask, Span span);
  LanguageValue weightedMean(mlir::Value value, llvm::ArrayRef<llvm::StringRef> over, mlir::Value weight,
                             mlir::Value mask);
  LanguageValue reduceBy(ReduceKind kind, const Tensor &x, llvm::ArrayRef<llvm::StringRef> over, Span span);
  mlir::Value identityOf(ReduceKind kind, mlir::Value like);
  mlir::Value sampleWeightsAlong(llvm::ArrayRef<llvm::StringRef> axes);

  EntryBuilder &entry;
  RegionStack &regions;
  NameResolver &resolver;
  Dims &sizes;
  Operators &ops;
  BatchAccounting &batches;
  Evaluator &evaluator;
  mlir::Value sampleWeights;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_REDUCTIONS_H
