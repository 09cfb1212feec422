//===- DelayedSums.h - which ops may leave a sum to later ones ------------===//
//
// What `delayReductions` (LateReductions.h) will make of a function that is divided, seen before it is: where ranks may
// have the terms of a sum without adding them up.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_DELAYEDSUMS_H
#define TESSERA_PASSES_SHARDING_SEARCH_DELAYEDSUMS_H

#include "ir/dialect/Tsr.h"
#include "llvm/ADT/DenseSet.h"

namespace tessera {

/// Whether an op sums over an axis that its result lacks, so that ranks may have the terms of a sum.
bool isSum(mlir::Operation *op);

class DelayedSums {
public:
  explicit DelayedSums(mlir::func::FuncOp function);

  /// Whether an op is linear in sums that nothing else reads: it may compute the terms of its result from terms.
  bool mayPend(mlir::Operation *op) const { return ops.contains(op); }
  /// Whether a repeat may carry or stack the terms of a result.
  bool mayPend(mlir::OpResult ofRepeat) const { return repeated.contains(ofRepeat); }

private:
  /// What was found on the way from a value to the sums that it is linear in.
  struct Trace {
    mlir::BlockArgument accumulator; ///< that counts as a sum itself
    bool mayBeStacked = false;       ///< by repeats inside
    bool accumulates = false, hasSum = false;
    llvm::SmallVector<mlir::Operation *> ops;
    llvm::SmallVector<mlir::OpResult> stacks;
  };
  void addCarried(mlir::OpResult result);
  void add(const Trace &trace);
  static bool isLinear(mlir::Operation *op, Trace &trace);
  static bool isTerm(mlir::Value value, Trace &trace);

  llvm::DenseSet<mlir::Operation *> ops;
  llvm::DenseSet<mlir::Value> repeated;
};

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_DELAYEDSUMS_H
