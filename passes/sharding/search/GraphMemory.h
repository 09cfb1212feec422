//===- GraphMemory.h - what of a graph goes through memory, and stays there -===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_GRAPHMEMORY_H
#define TESSERA_PASSES_SHARDING_SEARCH_GRAPHMEMORY_H

#include "passes/sharding/search/ShardingGraph.h"

namespace tessera {

/// What the ops of each node read of other nodes, and what others read of them.
void addTraffic(llvm::MutableArrayRef<ShardingNode> nodes, const ShardingGraph &graph);

/// The moments of a function (`Life`).
class RunMoments {
public:
  explicit RunMoments(mlir::func::FuncOp function);
  unsigned count() const { return number; }
  /// Of an op, or of all ops in a repeat.
  Life of(mlir::Operation *op) const { return lives.lookup(op); }
  /// From what computes a value, or for an argument from the first use on, to its last use.
  Life of(mlir::Value value) const;

private:
  void add(mlir::Block &block);

  unsigned number = 0;
  llvm::DenseMap<mlir::Operation *, Life> lives;
};

/// Whether a value is an argument of a repeat that it carries.
bool isCarriedBy(RepeatOp repeat, mlir::Value value);

/// What takes memory at which moments, without exchanges and with them.
void addAlive(llvm::MutableArrayRef<ShardingNode> nodes, llvm::MutableArrayRef<ShardingEdge> edges,
              const ShardingGraph &graph, const RunMoments &moments);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_GRAPHMEMORY_H
