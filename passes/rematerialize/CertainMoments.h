//===- CertainMoments.h - live bytes that every plan has ------------------===//
//
// For a lower bound of the time of plans: what is live at a moment of the step whatever is recomputed, and what is live
// there unless it is recomputed. All counts are at most those of the storage planner: values count with their elements,
// without padding, and of two values that may share storage one.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_REMATERIALIZE_CERTAINMOMENTS_H
#define TESSERA_PASSES_REMATERIALIZE_CERTAINMOMENTS_H

#include "passes/rematerialize/LayerPair.h"

namespace tessera {

/// Right before an op of a block of the step, or while a repeat runs.
struct CertainMoment {
  /// What the units of a block (`stepBlocks`, `BlockUnits`) have to do with it.
  struct OfBlock {
    unsigned block = 0;
    llvm::SetVector<mlir::Value> live; ///< results of units that are live unless these are recomputed
    llvm::BitVector computed;          ///< units of which a clone would be computed before
    llvm::DenseSet<mlir::Value> free;  ///< values that a clone may read and that count already, or not at all
  };

  int64_t bytes = 0; ///< live in any plan
  std::vector<OfBlock> blocks;
  llvm::SmallVector<unsigned> stacks; ///< pairs (`allLayerPairs`) of which the backward pass has read no layer yet
  int running = -1;                   ///< one of `stacks`, whose backward repeat is in its first iteration
};

std::vector<CertainMoment> certainMoments(mlir::func::FuncOp step);

/// In the first iteration of the backward repeat of a pair, right before an op.
struct BackwardMoment {
  int64_t bytes = 0;                ///< of values of the body that are live with any policy
  llvm::DenseSet<mlir::Value> held; ///< roots of `LayerPair::needed` that are live, saved or not; counted in `bytes`
};

/// `step` has the pair.
std::vector<BackwardMoment> backwardMoments(const LayerPair &pair);

/// Bytes of what the other iterations of the backward repeat stack. They are live too where the stack is divided: the
/// parts are joined, and a joined value has room in full from the beginning.
int64_t joinedBytes(const LayerPair &pair);

/// Bytes of what a layer stacks of a root that its backward pass needs: of its views if only they are read.
int64_t leastStackedBytes(const LayerPair &pair, mlir::Value root);

} // namespace tessera

#endif // TESSERA_PASSES_REMATERIALIZE_CERTAINMOMENTS_H
