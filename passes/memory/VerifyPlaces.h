//===- VerifyPlaces.h - proves that a scheduled program reads what was written ---------===//

#ifndef TESSERA_PASSES_MEMORY_VERIFYPLACES_H
#define TESSERA_PASSES_MEMORY_VERIFYPLACES_H

#include "ir/dialect/Tsr.h"

namespace tessera {

class ScratchPlaces;

/// Executes each entry function of a scheduled module on symbols, every iteration of every repeat: each op must find,
/// at its operands' places, exactly the bytes that were written for them. It follows that no two live buffers overlap,
/// state ends in its own place, and all accesses are within the arena. Fails with an error at the op that reads wrong
/// bytes.
llvm::LogicalResult verifyPlaces(mlir::ModuleOp module);

/// The same of one entry function, and that no kernel's scratch memory overwrites what is read later. `arenaBytes`
/// includes the scratch memory.
llvm::LogicalResult verifyScratch(mlir::func::FuncOp function, const ScratchPlaces &scratch, int64_t arenaBytes);

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_VERIFYPLACES_H
