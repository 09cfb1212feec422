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
  /// Null if it is not known. The pointer is valid until the next call of `remember`.
  const StepSearch *find(mlir::func::FuncOp step, const SearchOptions &options) const;
  /// Keeps a copy of the step.
  const StepSearch *remember(mlir::func::FuncOp step, const SearchOptions &options, StepSearch found);

private:
  struct Entry {
    mlir::OwningOpRef<mlir::func::FuncOp> step;
    double bytes;
    bool recomputes, isPinned; ///< of the options
    std::vector<Mesh> notTaken;
    StepSearch found;
  };
  std::vector<Entry> entries;
};

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_SEARCHMEMORY_H
