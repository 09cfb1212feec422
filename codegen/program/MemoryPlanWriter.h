//===- MemoryPlanWriter.h - memory against time, for the manifest ---------===//

#ifndef TESSERA_CODEGEN_PROGRAM_MEMORYPLANWRITER_H
#define TESSERA_CODEGEN_PROGRAM_MEMORYPLANWRITER_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace tessera {

/// Writes the object `memory` of docs/manifest.md: the budget, the plans of recomputation and what layers save. Writes
/// nothing if the phase `rematerialize` did not look for plans. `arenaBytes`: of the program. `mostBehind`: what the
/// arena of a program with another plan holds beside values, at most.
void writeMemoryPlan(mlir::ModuleOp module, int64_t arenaBytes, int64_t mostBehind, llvm::json::OStream &json);

/// A number to six digits, so that the last bits of the host's arithmetic do not show.
double sixDigits(double number);

} // namespace tessera

#endif // TESSERA_CODEGEN_PROGRAM_MEMORYPLANWRITER_H
