//===- VariableJoin.h - two variables as one ------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_VARIABLEJOIN_H
#define TESSERA_PASSES_SHARDING_SEARCH_VARIABLEJOIN_H

#include "passes/sharding/search/CostGraph.h"

namespace tessera {

/// Joins variables that are in a pair: the labels of the one are the two's labels together. Cycles through both become
/// shorter, and those of three a pair, so the bound of message passing may rise where it is below the optimum on
/// cycles. Of two labels together the bound is known: that of the graph, and by how much the two and their pair are
/// above their minima. Those with a bound of `most` and more are dropped at once, which is what keeps the labels few.
///
/// Each variable is joined once at most, pairs with the fewest labels first, and only where that leaves at most
/// `mostLabels`. `dropped` gets the least bound of what was dropped. Returns whether any were joined. The graph may be
/// empty afterwards.
bool joinVariables(CostGraph &graph, double most, size_t mostLabels, double &dropped);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_VARIABLEJOIN_H
