//===- MemoryBudget.h - a program within a given memory -------------------===//
//
// A budget is the memory of the whole program. What it takes beside its arena (buffers of batches, the library, the
// process itself) is known once it is planned, so the phases run more than once.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_MEMORYBUDGET_H
#define TESSERA_TOOLS_MEMORYBUDGET_H

#include "runtime/program/Manifest.h"
#include "tools/PhaseRun.h"

namespace tessera {

/// The budget of a module, if its phases up to those that the options name have yet to find what the arena may take.
std::optional<int64_t> budgetToFind(mlir::ModuleOp module, const CommandOptions &options);

/// Runs the phases such that the program fits into `budget` bytes: first without recomputation; if that does not fit,
/// the phase `rematerialize` gets to know what the arena may take. Where a sharding is searched for, several are tried,
/// from the fastest one on. Prints errors, and returns an exit status.
int runPhasesWithin(int64_t budget, Input &input, const CommandOptions &options, PhaseRun &run);

/// Warns of a program that takes more than the budget that its module records: a module behind `rematerialize` is
/// compiled as it is, also after it was edited. Returns whether it did.
bool warnAboveBudget(mlir::ModuleOp module, const runtime::Manifest &manifest, const CommandOptions &options);

} // namespace tessera

#endif // TESSERA_TOOLS_MEMORYBUDGET_H
