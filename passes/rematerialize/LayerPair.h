//===- LayerPair.h - a stack of layers and its backward pass --------------===//
//
// The forward pass of a stack of layers is a repeat; its backward pass is the reversed repeat that reads what the first
// one stacked. Each *unit* of the forward body (a kernel, tiled op, repeat or contraction, or several contractions that
// are computed together) can be computed again by the backward body. What a policy does not recompute is saved.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_REMATERIALIZE_LAYERPAIR_H
#define TESSERA_PASSES_REMATERIALIZE_LAYERPAIR_H

#include "ir/dialect/Tsr.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <vector>

namespace tessera {

/// Ops that are computed together, or not at all.
struct RecomputeUnit {
  llvm::SmallVector<mlir::Operation *> ops;
  /// Roots: what it reads of other units, and carried arguments; with the results that are computed from it. A clone
  /// loses results that nothing wants, with what it reads for them alone.
  llvm::MapVector<mlir::Value, llvm::SmallVector<mlir::Value, 2>> inputs;

  /// `op` reads a root as one of its operands.
  void addInput(mlir::Value root, mlir::OpOperand &operand);
};

/// A result of the backward body that is equal to a value of the forward body.
struct Duplicate {
  mlir::OpResult backward;
  mlir::Value forward;
};

class LayerPair {
public:
  /// `backward` slices stacks of `forward`.
  LayerPair(RepeatOp forward, RepeatOp backward);

  RepeatOp forward, backward;
  std::vector<RecomputeUnit> units; ///< of the forward body, in program order
  /// Roots of the forward body that the backward body reads as slices.
  llvm::SetVector<mlir::Value> needed;
  std::vector<Duplicate> duplicates;

  /// The unit that computes a root; -1 for region arguments.
  int unitOf(mlir::Value root) const;
  /// What the policy that recomputes some units saves, once what they need is recomputed or saved too. Units that
  /// nothing needs leave the set.
  llvm::SetVector<mlir::Value> savedWith(llvm::BitVector &recomputed) const;

private:
  void findUnits();
  void findNeeded();
  void findDuplicates();

  llvm::DenseMap<mlir::Operation *, int> unitOfOp;
};

/// The pairs in a block.
std::vector<std::pair<RepeatOp, RepeatOp>> findLayerPairs(mlir::Block &block);

/// Has the backward body recompute units instead of reading what they computed. Changes `pair.forward` and
/// `pair.backward`, which may become other ops; the rest of the pair is no longer valid.
void recompute(LayerPair &pair, const llvm::BitVector &units);

} // namespace tessera

#endif // TESSERA_PASSES_REMATERIALIZE_LAYERPAIR_H
