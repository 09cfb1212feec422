//===- GraphRecomputation.h - what of a graph may be computed again -------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_GRAPHRECOMPUTATION_H
#define TESSERA_PASSES_SHARDING_SEARCH_GRAPHRECOMPUTATION_H

#include "passes/sharding/search/GraphMemory.h"

namespace tessera {

/// Says of stacks that a repeat in the opposite order reads that they need not be stored; and of what computes them
/// that it may run there again, each iteration by itself or segments of them.
void addRecomputation(llvm::MutableArrayRef<ShardingNode> nodes, llvm::MutableArrayRef<ShardingEdge> edges,
                      const ShardingGraph &graph, const RunMoments &moments);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_GRAPHRECOMPUTATION_H
