//===- GraphMemory.h - what of a graph goes through memory, and stays there -===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_GRAPHMEMORY_H
#define TESSERA_PASSES_SHARDING_SEARCH_GRAPHMEMORY_H

#include "passes/sharding/search/ShardingGraph.h"

namespace tessera {

/// What the ops of each node read of other nodes, and what others read of them.
void addTraffic(llvm::MutableArrayRef<ShardingNode> nodes, const ShardingGraph &graph);

/// What takes memory at the peak of live memory of the function without sharding.
void addAlive(llvm::MutableArrayRef<ShardingNode> nodes, const ShardingGraph &graph);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_GRAPHMEMORY_H
