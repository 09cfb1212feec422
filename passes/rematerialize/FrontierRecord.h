//===- FrontierRecord.h - what a module says about recomputation ----------===//

#ifndef TESSERA_PASSES_REMATERIALIZE_FRONTIERRECORD_H
#define TESSERA_PASSES_REMATERIALIZE_FRONTIERRECORD_H

#include "passes/rematerialize/LayerValues.h"

namespace tessera {

/// As `tsr.frontier`: for each point the bytes of the arena, those that are live at most, the predicted seconds that a
/// step takes longer, and in words what is recomputed. As `tsr.layer_values`: what the chosen one saves and recomputes.
/// `step` is as it is before any plan is applied. `pricesValues`: with the price of each value's alternative.
void recordFrontier(mlir::func::FuncOp step, llvm::ArrayRef<FrontierPoint> frontier, size_t chosen,
                    const PinPatterns &names, const OpTimes &times, bool pricesValues);

} // namespace tessera

#endif // TESSERA_PASSES_REMATERIALIZE_FRONTIERRECORD_H
