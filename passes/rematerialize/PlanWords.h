//===- PlanWords.h - what a plan recomputes, for a person -----------------===//

#ifndef TESSERA_PASSES_REMATERIALIZE_PLANWORDS_H
#define TESSERA_PASSES_REMATERIALIZE_PLANWORDS_H

#include "passes/rematerialize/Frontier.h"

namespace tessera {

/// "nothing", or what is recomputed in the layers of each stack and outside of stacks:
///
///   layer x 8 of 12: 9 of 14 ops, x 4: 3        the first 8 layers recompute 9 ops each, the others 3
///   layer x 12: 4 segments of 3, 9 of 14 ops    the layers of a segment are computed again, and in them 9 ops more
///   2 ops outside of stacks
std::string wordsOf(mlir::func::FuncOp step, const RecomputePlan &plan);

} // namespace tessera

#endif // TESSERA_PASSES_REMATERIALIZE_PLANWORDS_H
