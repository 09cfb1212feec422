//===- Dominance.h - labels that another one replaces at no cost ----------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_DOMINANCE_H
#define TESSERA_PASSES_SHARDING_SEARCH_DOMINANCE_H

#include "passes/sharding/search/CostGraph.h"

namespace tessera {

/// Drops labels that one of the likeliest labels of the variable can replace in each labelling without raising its
/// cost: Goldstein's criterion of dead-end elimination (1994),
///
///   costs(a) − costs(b) + Σ over pairs of min over the other's labels y of (pair(a, y) − pair(b, y)) ≥ 0.
///
/// A labelling of least cost remains, but costs of labellings with the dropped labels are lost: not for min-marginals.
void dropDominated(CostGraph &graph);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_DOMINANCE_H
