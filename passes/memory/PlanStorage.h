//===- PlanStorage.h - storage without collisions -------------------------===//

#ifndef TESSERA_PASSES_MEMORY_PLANSTORAGE_H
#define TESSERA_PASSES_MEMORY_PLANSTORAGE_H

#include "passes/memory/Storage.h"

namespace tessera {

/// Plans the storage of an entry function, and copies operands where two values would collide. Adds the number of
/// copies. Fails with an error on the function if copies do not help.
mlir::FailureOr<StoragePlan> planStorage(mlir::func::FuncOp function, unsigned &copies);

/// Bytes of the arena that the state of a module takes, at its beginning.
int64_t stateBytes(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_PLANSTORAGE_H
