//===- SavedValues.h - what a repeat saves for its backward pass ----------===//

#ifndef TESSERA_IR_AUTODIFF_SAVEDVALUES_H
#define TESSERA_IR_AUTODIFF_SAVEDVALUES_H

#include "ir/autodiff/ReverseMode.h"
#include "ir/dialect/Reshape.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {

/// Decides, for each value of a repeat's body that the adjoint of the body reads, whether it is saved or recomputed.
///
///   1. What elementwise ops, and ops that move elements, compute from constants, positions, draws, slices and
///      invariants is free to recompute, and never saved.
///   2. Reshapes (rename, split, merge, broadcast) of a value are recomputed.
///   3. What is expensive to compute (contractions, reductions, composites) and carried arguments are saved. Where the
///      target's library computes biased sums only, a contraction and the bias that is added to it are one value.
///   4. An elementwise value is recomputed if the values that this needs, and that are not saved yet, have no more
///      bytes than the value itself. So of `gelu(x)` only x is saved, whatever ops it consists of.
///   5. One that the adjoint reads in memory (a contraction's operand) must be stored there again. It is recomputed
///      only if nothing more has to be saved for that: the sum with a bias after a normalization, `gelu(x)` where x is
///      saved. Where the target has memory for it, a value that the forward body stores too is saved instead: a kernel
///      would read its operands and write it once more.
class SavedValues {
public:
  /// `adjoint` holds the adjoint of the body of `forward`; it refers to values of the body.
  SavedValues(RepeatOp forward, mlir::Block &adjoint);

  /// Whether the adjoint recomputes the value of an op; else it is saved. Undefined for region arguments.
  bool isRecomputed(mlir::Value value) {
    return recomputed.contains(value) || isFree(value) || isReshape(value.getDefiningOp());
  }

private:
  bool isFree(mlir::Value value);
  bool isElementwise(mlir::Value value);
  bool isSumWithBias(AddOp add);
  void need(mlir::Value value, bool isReadInMemory);
  /// What recomputing a value takes: elementwise values, up to those that are saved, and values that are not saved yet.
  struct RecomputationCone {
    llvm::SetVector<mlir::Value> computed, unsaved;
  };
  RecomputationCone coneOf(mlir::Value value);
  void decide(mlir::Value value);
  void decideStored(mlir::Value value);

  RepeatOp forward;
  bool givesBiasedSumsOnly, savesStoredOperands; ///< of the target
  llvm::DenseMap<mlir::Value, bool> knownFree;
  llvm::SetVector<mlir::Value> elementwise; ///< needed, undecided, in the order of need
  llvm::SetVector<mlir::Value> stored;      ///< the same of those that are read in memory
  ValueSet saved, recomputed;
};

} // namespace tessera

#endif // TESSERA_IR_AUTODIFF_SAVEDVALUES_H
