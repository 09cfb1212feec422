//===- EntryPlaces.h - places of the values of an entry function ----------===//

#ifndef TESSERA_PASSES_MEMORY_ENTRYPLACES_H
#define TESSERA_PASSES_MEMORY_ENTRYPLACES_H

#include "passes/memory/Storage.h"

namespace tessera {

/// Where the highest of packed buffers ends in the arena, and what it is at least, in bytes.
struct PackedEnd {
  int64_t bytes = 0, bound = 0;
};

/// Gives the buffers of an entry function their offsets, behind the state of the module, which has its places. Leaves
/// room for other memory with the lifetimes `beside`.
PackedEnd packEntry(StoragePlan &plan, mlir::ModuleOp module, llvm::ArrayRef<Lifetime> beside = {});

/// Writes `tsr.place` and `tsr.places` of a plan that is packed.
void writePlaces(mlir::func::FuncOp function, const StoragePlan &plan);

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_ENTRYPLACES_H
