//===- EntryCode.h - the code of entry functions --------------------------===//
//
// An entry function of a scheduled module becomes one C function that runs kernels, library calls and loops in order,
// all with fixed addresses in the arena.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_PROGRAM_ENTRYCODE_H
#define TESSERA_CODEGEN_PROGRAM_ENTRYCODE_H

#include "codegen/Backend.h"
#include "codegen/program/ExchangeTable.h"
#include "codegen/program/GemmTable.h"
#include "codegen/program/KernelTable.h"
#include "passes/cost/CallSequence.h"
#include "passes/memory/ScratchPlaces.h"

namespace tessera {

/// The manifest's lists of what a program calls.
struct ProgramTables {
  KernelTable kernels;
  GemmTable gemms;
  ExchangeTable exchanges;
};

/// Emits `tsr_entry_NAME(TsrRuntime *, char *arena)` for `function` into `code`, in the LLVM dialect. The back end
/// emits the kernels, whose scratch memory gets its places. Kernels, library calls and exchanges are entered into the
/// tables. Returns all calls.
llvm::FailureOr<CallSequence> emitEntry(mlir::func::FuncOp function, mlir::ModuleOp code, Backend &backend,
                                        ProgramTables &tables, ScratchPlaces &scratch);

/// Emits the constant `tsr_abi_version`.
void emitAbiVersion(mlir::ModuleOp code);

} // namespace tessera

#endif // TESSERA_CODEGEN_PROGRAM_ENTRYCODE_H
