//===- SearchMemory.cpp - what was found for a step, found once ------------===//

#include "passes/sharding/search/SearchMemory.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace tessera;

const StepSearch *SearchMemory::find(func::FuncOp step, const SearchOptions &options) const {
  for (const Entry &entry : entries)
    if (entry.bytes == options.bytes && entry.recomputes == options.recomputes && entry.isPinned == options.isPinned &&
        entry.notTaken == options.notTaken &&
        OperationEquivalence::isEquivalentTo(*entry.step, step, OperationEquivalence::IgnoreLocations))
      return &entry.found;
  return nullptr;
}

const StepSearch *SearchMemory::remember(func::FuncOp step, const SearchOptions &options, StepSearch found) {
  entries.push_back(
      {step.clone(), options.bytes, options.recomputes, options.isPinned, options.notTaken, std::move(found)});
  return &entries.back().found;
}
