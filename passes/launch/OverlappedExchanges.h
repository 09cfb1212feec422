//===- OverlappedExchanges.h - exchanges beside kernels --------------------===//
//
// On a device whose exchanges run beside kernels, time is lost only where kernels wait for them. So `schedule`
//
//   1. starts exchanges of slices and invariants of a repeat an iteration early (`tsr.early`), such as the gathers of
//      a layer's weights (passes/analysis/EarlyStarts.h);
//   2. gives exchanges whose results only leave the repeat places of their own (`tsr.late`), such as the reductions of
//      a layer's gradients, so that kernels of the layers that follow need not wait until these places are free;
//   3. starts others as far up in their block as what they send allows, but behind the repeats before the last one.
//
// Each of these takes memory.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_LAUNCH_OVERLAPPEDEXCHANGES_H
#define TESSERA_PASSES_LAUNCH_OVERLAPPEDEXCHANGES_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// An exchange that can run beside kernels, and what of the arena that takes at most.
struct Overlap {
  enum class Kind { Early, Late, Moved } kind;
  StartOp start;
  int64_t bytes = 0;
};

/// Those of a function whose exchanges have no marks, in order; of each kind that it can be the first.
llvm::SmallVector<Overlap> findOverlaps(mlir::func::FuncOp function);

/// Marks early and late exchanges, and moves the starts of others.
void applyOverlaps(llvm::ArrayRef<Overlap> overlaps);

/// Removes the marks. The order of ops stays.
void clearOverlaps(mlir::func::FuncOp function);

/// Whether an op reads what a late exchange received: it may run much later than the ops around it.
bool readsLate(mlir::Operation *op);

} // namespace tessera

#endif // TESSERA_PASSES_LAUNCH_OVERLAPPEDEXCHANGES_H
