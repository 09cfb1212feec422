//===- CallTraceWriter.h - the values that calls write, for the manifest --===//

#ifndef TESSERA_CODEGEN_PROGRAM_CALLTRACEWRITER_H
#define TESSERA_CODEGEN_PROGRAM_CALLTRACEWRITER_H

#include "passes/cost/ProgramCosts.h"
#include "llvm/Support/JSON.h"

namespace tessera {

/// Writes the calls of kernels and contractions of a scheduled function, in program order, as the array `trace` of
/// docs/manifest.md. A call has the number of its kernel or contraction; its results have the op that computes them,
/// the user's lines, and their places in the arena.
void writeCallTrace(mlir::func::FuncOp function, const ProgramCosts &costs, llvm::json::OStream &json);

} // namespace tessera

#endif // TESSERA_CODEGEN_PROGRAM_CALLTRACEWRITER_H
