//===- SavedValues.h - what a repeat keeps for its backward pass ----------===//

#ifndef TESSERA_IR_SAVEDVALUES_H
#define TESSERA_IR_SAVEDVALUES_H

#include "ir/ReverseMode.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {

/// Decides, for each value of a repeat's body that the adjoint of the body reads, whether it is saved or computed
/// again.
///
///   1. At hand: what follows cheaply from constants, positions, draws, slices and invariants. Never saved.
///   2. Views (rename, split, merge, broadcast) of a value are taken again.
///   3. A value that must lie in memory anyway is saved: what is dear to compute (contractions, reductions,
///      composites), carried arguments, and what the adjoint of a contraction reads.
///   4. Any other elementwise value is computed again where what that takes and is not yet saved has no more bytes than
///      the value itself. So of `gelu(x)` only x is saved, whatever its parts are.
class SavedValues {
public:
  /// `adjoint` holds the adjoint of the body of `forward`; it refers to values of the body.
  SavedValues(RepeatOp forward, mlir::Block &adjoint);

  /// Whether the adjoint computes the value of an op again; else it is saved. Says nothing of region arguments.
  bool isComputedAgain(mlir::Value value) {
    return again.contains(value) || isAtHand(value) || isView(value.getDefiningOp());
  }

private:
  static bool isView(mlir::Operation *op) { return llvm::isa<RenameOp, SplitOp, MergeOp, BroadcastOp>(op); }
  bool isAtHand(mlir::Value value);
  void need(mlir::Value value, bool isReadInMemory);
  void decide(mlir::Value value);

  RepeatOp forward;
  llvm::DenseMap<mlir::Value, bool> atHand;
  llvm::SetVector<mlir::Value> elementwise; ///< needed, undecided, in the order of need
  ValueSet saved, again;
};

} // namespace tessera

#endif // TESSERA_IR_SAVEDVALUES_H
