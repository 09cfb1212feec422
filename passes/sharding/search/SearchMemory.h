//===- SearchMemory.h - what was found for a step, found once --------------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_SEARCHMEMORY_H
#define TESSERA_PASSES_SHARDING_SEARCH_SEARCHMEMORY_H

#include "mlir/IR/OwningOpRef.h"
#include "passes/sharding/search/ShardingSearch.h"

namespace tessera {

/// What searches found for functions that decide, for runs of the phase on other modules that differ in the limit, or
/// in other entry functions. Devices and the user's words are the same in all of these runs.
class SearchMemory {
public:
  struct Entry {
    mlir::OwningOpRef<mlir::func::FuncOp> step;
    double bytes;
    bool recomputes, isPinned; ///< of the options
    StepSearch found;
    mlir::ArrayAttr alternatives; ///< null: not asked for yet
  };

  /// Null if it is not known.
  Entry *find(mlir::func::FuncOp step, const SearchOptions &options);
  /// Keeps a copy of the step.
  Entry *remember(mlir::func::FuncOp step, const SearchOptions &options, StepSearch found);

private:
  std::vector<std::unique_ptr<Entry>> entries;
};

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_SEARCHMEMORY_H
