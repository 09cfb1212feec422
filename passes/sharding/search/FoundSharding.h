//===- FoundSharding.h - what labels of a graph say of its function -------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_FOUNDSHARDING_H
#define TESSERA_PASSES_SHARDING_SEARCH_FOUNDSHARDING_H

#include "passes/sharding/ShardingTable.h"
#include "passes/sharding/search/ShardingGraph.h"

namespace tessera {

/// The shardings of the ops and values of the function of a graph, by the forms of its nodes, and those of states by
/// their paths. `mesh`: the names of the mesh axes.
class FoundSharding {
public:
  FoundSharding(const ShardingGraph &graph, llvm::ArrayRef<Form> forms, llvm::ArrayRef<llvm::StringRef> mesh);

  const ShardingTable &getTable() const { return table; }
  const llvm::StringMap<Sharding> &getStates() const { return ofStates; }

private:
  Sharding shardingOf(const Form &form) const;
  Sharding ofSource(const ValueSource *source, mlir::Value value) const;
  void addBlock(mlir::Block &block);
  void addRepeat(RepeatOp repeat);

  const ShardingGraph &graph;
  llvm::ArrayRef<Form> forms;
  llvm::ArrayRef<llvm::StringRef> mesh;
  ShardingTable table;
  llvm::StringMap<Sharding> ofStates;
};

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_FOUNDSHARDING_H
