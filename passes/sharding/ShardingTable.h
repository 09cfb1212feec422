//===- ShardingTable.h - the shardings of all ops of a function -----------===//
//
// What `shard` decides of a function, whoever decides it: the user's rules (Assignment.h), or the search
// (search/ShardingSearch.h). `partition` reads what this records.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_SHARDINGTABLE_H
#define TESSERA_PASSES_SHARDING_SHARDINGTABLE_H

#include "passes/sharding/Sharding.h"
#include "llvm/ADT/DenseMap.h"

namespace tessera {

struct ShardingTable {
  llvm::DenseMap<mlir::Operation *, Sharding> ofOps;
  /// Of each operand of a repeat, then of each result that it stacks.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Sharding>> ofRepeats;
  llvm::DenseMap<mlir::Value, Sharding> ofValues;
  llvm::SmallVector<Sharding> ofResults; ///< of the function

  /// Writes `tsr.sharding` of the ops of a function, and of its arguments and results.
  void record(mlir::func::FuncOp function) const;
};

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SHARDINGTABLE_H
