//===- BatchAccounting.h - how batches and their parts make up a loss -------===//
//
// Under `accumulate` a batch is cut into parts, and `evaluate` weighs the
// batches of a split. Both need to know how a loss or metric was reduced over
// the rows of a batch.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_FRONTEND_BATCHACCOUNTING_H
#define TESSERA_FRONTEND_BATCHACCOUNTING_H

#include "frontend/elaborate/CallStack.h"

namespace tessera {

class Dims;

/// How the value of a batch comes about from those of its parts, under accumulation.
enum class OfParts { Mean, Sum, Neither };

/// Records the reductions over the rows of a batch, in the entry being built.
class BatchAccounting : ElaborationPart {
public:
  BatchAccounting(CallStack &calls, const Dims &sizes) : ElaborationPart(calls), Sizes(sizes) {}

  void beginEntry();

  /// Into how many parts `accumulate` cuts a batch; 1 without it.
  unsigned parts() const { return Parts; }
  void setParts(unsigned parts) { Parts = parts; }
  bool isAccumulating() const { return Parts > 1; }

  /// Parts along an axis that is like `batch` meet only parts along `batch`, so that such reductions depend on how the
  /// batch is cut.
  void noteReduction(mlir::Value value, llvm::ArrayRef<llvm::StringRef> over, OfParts parts, Span span);
  /// Positions of rows are those within a part.
  void noteRowPositions(llvm::StringRef axis, Span span);
  /// A mean over rows that weigh differently, `count` together; `weights` are those of the model file, or null if only
  /// padding is left out.
  void noteWeightedMean(mlir::Value value, mlir::Value count, mlir::Value weights);

  /// What the value of a loss or metric weighs in the mean over all batches: the weights of the means that it is
  /// computed from. Null: its rows.
  mlir::Value countOf(mlir::Value value, const ast::Bind &bind) const;
  /// How the parts of a batch combine to this loss or metric; marks the reductions in it as logged.
  OfParts partsOfLog(mlir::Value value, const ast::Bind &bind);
  /// Warns of reductions over the batch that make up no loss or metric: each part is reduced for itself.
  void warnOfReductions() const;

private:
  OfParts partsOf(mlir::Value value);

  /// A value that a reduction over `batch` made; or another use of its rows' positions, without a value.
  struct Reduction {
    mlir::Value value;
    OfParts parts = OfParts::Mean;
    Span span;
    bool isLogged = false; ///< a loss or metric is this value, or a sum of such values with factors
  };
  struct WeightedMean {
    mlir::Value value, count, weights;
  };

  const Dims &Sizes;
  unsigned Parts = 1;
  std::vector<Reduction> Reductions;
  std::vector<WeightedMean> WeightedMeans;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_BATCHACCOUNTING_H
