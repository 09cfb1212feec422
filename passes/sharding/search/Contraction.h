//===- Contraction.h - variables in at most two pairs ---------------------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_CONTRACTION_H
#define TESSERA_PASSES_SHARDING_SEARCH_CONTRACTION_H

#include "passes/sharding/search/CostGraph.h"

namespace tessera {

/// Takes out variables that are in one pair or in two: what the best label of one costs is a cost of the other variable
/// or a pair of the other two (the reductions RI and RII of PBQP; Scholz and Eckstein, 2002). That is exact, and since
/// a cycle of three becomes a pair, the bound of message passing may rise. A variable that was taken out keeps one
/// label, which stands for whatever is best; `toProblem` finds it.
///
/// Variables whose reduction takes more than `mostWork` steps stay. Returns whether there was one that did not.
bool contract(CostGraph &graph, double mostWork);

/// Adds a pair of which `costs[1]` is known and not `costs[0]`: to the one of the same variables, or as a new one.
/// Incidences are not found anew.
void addPair(CostGraph &graph, CostGraph::Pair pair);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_CONTRACTION_H
