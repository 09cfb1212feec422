//===- Frontier.h - memory against time -----------------------------------===//
//
// Plans of recomputation for a step, from the fastest to the one with the least memory, that no other known plan beats
// in both. The memory of each is that of the real planner. The list does not depend on a budget: a budget picks the
// first plan that fits, so a larger budget never gives a slower step.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_REMATERIALIZE_FRONTIER_H
#define TESSERA_PASSES_REMATERIALIZE_FRONTIER_H

#include "passes/cost/OpTimes.h"
#include "passes/rematerialize/BlockUnits.h"
#include "passes/rematerialize/Pins.h"
#include "passes/rematerialize/Spans.h"

namespace tessera {

struct RecomputePlan {
  /// The units of each block of a function, in the order of `stepBlocks`, that are recomputed; empty: none.
  std::vector<llvm::BitVector> blocks;
  /// The spans of each pair of layers, in the order of `allLayerPairs`; none: the pair stays as it is.
  std::vector<std::vector<LayerSpan>> pairs;
};

struct FrontierPoint {
  RecomputePlan plan;
  double seconds = 0; ///< that a step takes longer than without recomputation
  int64_t bytes = 0;  ///< of the arena, without state
  int64_t live = 0;   ///< at most at a time, in the order of ops that the step has; no packing needs less
};

/// The blocks of a function with ops of several passes: its body, and those of repeats such as that of micro-batches.
std::vector<mlir::Block *> stepBlocks(mlir::func::FuncOp function);
/// All pairs of layers in the body of a function, and in the other blocks.
std::vector<std::pair<RepeatOp, RepeatOp>> allLayerPairs(mlir::func::FuncOp function);

/// How often a block runs in a step.
int64_t timesRun(mlir::Block *block);

/// Rewrites a function as planned.
void applyPlan(mlir::func::FuncOp function, const RecomputePlan &plan);

/// A plan, and the memory that a copy of the step takes with it; in the order of ops that it has, or in a better one
/// (`lowerPeak`), which takes longer to find.
FrontierPoint measure(mlir::func::FuncOp step, RecomputePlan plan, double seconds, bool movesOps = false);

/// The first point that needs at most `room` bytes, perhaps after ops have moved; if none does, the last one.
size_t firstWithin(llvm::ArrayRef<FrontierPoint> frontier, int64_t room, mlir::func::FuncOp step);

/// The first point recomputes nothing but what is pinned.
std::vector<FrontierPoint> findFrontier(mlir::func::FuncOp step, PinPatterns &pins, const OpTimes &times);

/// The plan that recomputes each layer from its input; with segments, from the inputs of some layers.
FrontierPoint findUniform(mlir::func::FuncOp step, PinPatterns &pins, const OpTimes &times, bool usesSegments);

} // namespace tessera

#endif // TESSERA_PASSES_REMATERIALIZE_FRONTIER_H
