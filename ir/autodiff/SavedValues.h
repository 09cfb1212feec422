//===- SavedValues.h - what a repeat saves for its backward pass ----------===//

#ifndef TESSERA_IR_SAVEDVALUES_H
#define TESSERA_IR_SAVEDVALUES_H

#include "ir/autodiff/ReverseMode.h"
#include "ir/dialect/Reshape.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {

/// Decides, for each value of a repeat's body that the adjoint of the body reads, whether it is saved or computed
/// again.
///
///   1. At hand: what elementwise ops, and ops that move elements, compute from constants, positions, draws, slices and
///      invariants. Never saved.
///   2. Reshapes (rename, split, merge, broadcast) of a value are repeated.
///   3. What is expensive to compute (contractions, reductions, composites) and carried arguments are saved. Where the
///      target's library computes biased sums only, a contraction and the bias that is added to it are one value.
///   4. An elementwise value is computed again where what that takes and is not yet saved has no more bytes than
///      the value itself. So of `gelu(x)` only x is saved, whatever its parts are.
///   5. One that the adjoint reads in memory (a contraction's operand) must be written there again, which is worth it
///      only where nothing more has to be saved for it: the sum with a bias behind a normalization, `gelu(x)` where x
///      is saved.
class SavedValues {
public:
  /// `adjoint` holds the adjoint of the body of `forward`; it refers to values of the body.
  SavedValues(RepeatOp forward, mlir::Block &adjoint);

  /// Whether the adjoint computes the value of an op again; else it is saved. Says nothing of region arguments.
  bool isComputedAgain(mlir::Value value) {
    return again.contains(value) || isAtHand(value) || isReshape(value.getDefiningOp());
  }

private:
  bool isAtHand(mlir::Value value);
  bool isElementwise(mlir::Value value);
  bool isSumWithBias(AddOp add);
  void need(mlir::Value value, bool isReadInMemory);
  /// Elementwise values on the way from `value` up to what is saved, and what would have to be saved on top.
  struct WayUp {
    llvm::SetVector<mlir::Value> computed, missing;
  };
  WayUp wayUp(mlir::Value value);
  void decide(mlir::Value value);
  void decideStored(mlir::Value value);

  RepeatOp forward;
  bool givesBiasedSumsOnly; ///< of the target
  llvm::DenseMap<mlir::Value, bool> atHand;
  llvm::SetVector<mlir::Value> elementwise; ///< needed, undecided, in the order of need
  llvm::SetVector<mlir::Value> stored;      ///< the same of those that are read in memory
  ValueSet saved, again;
};

} // namespace tessera

#endif // TESSERA_IR_SAVEDVALUES_H
