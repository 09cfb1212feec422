//===- BatchAccounting.h - how micro-batches and batches combine -------===//
//
// Under `accumulate` a batch is cut into micro-batches, and `evaluate` weights
// the batches of a split. Both need to know how a loss or metric was reduced over
// the samples of a batch.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_BATCHACCOUNTING_H
#define TESSERA_FRONTEND_ELABORATE_BATCHACCOUNTING_H

#include "frontend/elaborate/CallStack.h"

namespace tessera {

class Dims;
struct RepeatRegion;

/// How the values of micro-batches combine to that of the batch, under accumulation. Other: they do not.
enum class BatchReduction { Mean, Sum, Other };

/// Records the reductions over the samples of a batch, in the entry function being built.
class BatchAccounting : ElaborationComponent {
public:
  BatchAccounting(CallStack &calls, const Dims &sizes) : ElaborationComponent(calls), sizes(sizes) {}

  void beginEntry(bool isEvaluate);

  /// The number of micro-batches that `accumulate` cuts a batch into; 1 without it.
  unsigned microBatchCount() const { return microBatches; }
  void setMicroBatchCount(unsigned count) { microBatches = count; }
  bool isAccumulating() const { return microBatches > 1; }

  /// Records a reduction over `over`. Over another axis that is like `batch`, its result depends on how the batch is
  /// cut, because a micro-batch has only its own samples along both.
  void noteReduction(mlir::Value value, llvm::ArrayRef<llvm::StringRef> over, BatchReduction reduction, Span span);
  /// Records that positions along an axis of samples are read: they are positions in the micro-batch.
  void noteSamplePositions(llvm::StringRef axis, Span span);
  /// Records a mean over samples with different weights, whose sum is `count`; `weights` are those of the model file,
  /// or null if only padding is left out.
  void noteWeightedMean(mlir::Value value, mlir::Value count, mlir::Value weights);

  /// The weight of a loss or metric in the mean over all batches: the sum of weights of the mean that it is computed
  /// from. Null: the number of samples.
  mlir::Value countOf(mlir::Value value, const ast::Bind &bind) const;
  /// Warns of a loss or metric whose mean over the batches of a split is not its value for the whole split.
  void warnOfBatchValue(mlir::Value value, const ast::Bind &bind, bool isLoss) const;
  /// How a loss or metric combines over micro-batches. Marks the reductions that it is computed from as logged.
  BatchReduction reductionOfLogged(mlir::Value value, const ast::Bind &bind);
  /// Records the next value of a state. Sums over `batch` that are only added to the state add up over micro-batches.
  void noteAssignment(mlir::Value next, mlir::Value state);
  /// Warns of reductions over the batch that no loss or metric is a sum of: each micro-batch is reduced separately.
  void warnOfReductions() const;
  /// Warns of states whose next value follows from the one before and otherwise from what all micro-batches share: an
  /// average of a weight moves as often as there are parts. `micro` is the finished body of the loop over them.
  void warnOfRepetition(const RepeatRegion &micro) const;

private:
  /// The result of a reduction over `batch`; without a value, another use of its positions.
  struct Reduction {
    mlir::Value value;
    BatchReduction kind = BatchReduction::Mean;
    BatchReduction own = BatchReduction::Mean; ///< that of evaluation, where a batch is not cut
    Span span;
    bool isLogged = false; ///< a loss or metric is this value, or a sum of such values with factors
    bool isAdded = false;  ///< a state is assigned itself plus a sum of such values with factors
  };
  using Reductions = llvm::SmallVector<Reduction *>;
  struct WeightedMean {
    mlir::Value value, count, weights;
  };

  const Reduction *findReduction(mlir::Value value) const;
  BatchReduction reductionOf(mlir::Value value);
  bool findSums(mlir::Value value, Reductions &sums);
  bool findAddedSums(mlir::Value next, mlir::Value state, Reductions &sums);

  const Dims &sizes;
  unsigned microBatches = 1;
  bool isEvaluation = false;
  std::vector<Reduction> reductions;
  std::vector<WeightedMean> weightedMeans;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_BATCHACCOUNTING_H
