//===- MessagePassing.h - a bound, and bounds of labels -------------------===//
//
// Sequential tree-reweighted message passing (TRW-S; Kolmogorov, "Convergent tree-reweighted message passing for energy
// minimization", 2006), in the form that moves costs explicitly (Kolmogorov, "A new look at reweighted message
// passing", 2015). It raises a lower bound of the dual of the linear relaxation over the local polytope. On a tree the
// bound is the optimum after one pass in each direction.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_MESSAGEPASSING_H
#define TESSERA_PASSES_SHARDING_SEARCH_MESSAGEPASSING_H

#include "passes/sharding/search/CostGraph.h"

namespace tessera {

enum class Direction { Forward, Backward };

/// One pass over the variables. At a variable,
///
/// 1. each pair with a variable before it moves all it can to this one: of each label the least over the other's
///    labels;
/// 2. what the variable has then, θ, is shared among the pairs with variables after it: each gets θ / max(pairs before,
///    pairs after). What is left stays.
///
/// Then pairs have the minimum 0, so the graph's bound is the sum of the variables' minima. Costs only move where they
/// raise it: a pass never lowers the bound, but for rounding. In step 1 θ(label) − min θ is what a labelling with this
/// label costs at least above the bound, which is what `bounds` of a variable keep.
///
/// Returns the labels that each variable would choose after those before it had chosen theirs, given messages from
/// those after it. The next pass must be in the other direction.
std::vector<unsigned> passMessages(CostGraph &graph, Direction direction);

/// Step 1 for one pair: moves to each label of a side the least cost over the labels of the other one.
void collectMessage(CostGraph::Pair &pair, unsigned side);

/// Changes the label of one variable at a time as long as that lowers the cost. `labels` are the graph's.
void improveLabels(const CostGraph &graph, std::vector<unsigned> &labels);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_MESSAGEPASSING_H
