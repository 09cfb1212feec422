//===- SavedValues.h - what a repeat saves for its backward pass ----------===//

#ifndef TESSERA_IR_AUTODIFF_SAVEDVALUES_H
#define TESSERA_IR_AUTODIFF_SAVEDVALUES_H

#include "ir/autodiff/ReverseMode.h"
#include "ir/dialect/Reshape.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {

/// Decides, for each value of a repeat's body that the adjoint of the body reads, whether it is saved or recomputed.
///
///   1. Free values are never saved: those that follow cheaply from constants, positions, random draws, slices and
///      invariants.
///   2. Reshapes (rename, split, merge, broadcast) of a value are recomputed.
///   3. Values that are expensive to compute (contractions, reductions, composites) and carried arguments are saved.
///      Where the target's library computes biased sums only, a contraction and the bias that is added to it are one
///      value.
///   4. An elementwise value is recomputed if the unsaved values that this takes have no more bytes than the value
///      itself. So of `gelu(x)` only x is saved, whatever primitive ops it consists of.
///   5. A value that the adjoint reads from memory (an operand of a contraction) would have to be stored again. It is
///      recomputed only if nothing more has to be saved for that: the sum with a bias after a normalization, `gelu(x)`
///      where x is saved.
class SavedValues {
public:
  /// `adjoint` holds the adjoint of the body of `forward`; it refers to values of the body.
  SavedValues(RepeatOp forward, mlir::Block &adjoint);

  /// Whether the adjoint recomputes the value of an op; else it is saved. Not for region arguments.
  bool isRecomputed(mlir::Value value) {
    return recomputed.contains(value) || isFree(value) || isReshape(value.getDefiningOp());
  }

private:
  bool isFree(mlir::Value value);
  bool isElementwise(mlir::Value value);
  bool isSumWithBias(AddOp add);
  void need(mlir::Value value, bool isReadInMemory);
  /// The elementwise values that a recomputation of `value` computes, and the values that it would have to save in
  /// addition.
  struct RecomputationCone {
    llvm::SetVector<mlir::Value> computed, unsaved;
  };
  RecomputationCone coneOf(mlir::Value value);
  void decide(mlir::Value value);
  void decideStored(mlir::Value value);

  RepeatOp forward;
  bool givesBiasedSumsOnly; ///< of the target
  llvm::DenseMap<mlir::Value, bool> freeValues;
  llvm::SetVector<mlir::Value> elementwise; ///< read in loops and undecided, in the order of reading
  llvm::SetVector<mlir::Value> stored;      ///< the same, read from memory
  ValueSet saved, recomputed;
};

} // namespace tessera

#endif // TESSERA_IR_AUTODIFF_SAVEDVALUES_H
