//===- Trace.h - what each call of an entry function writes, for the manifest ---===//

#ifndef TESSERA_CODEGEN_HOST_TRACE_H
#define TESSERA_CODEGEN_HOST_TRACE_H

#include "ir/dialect/Tsr.h"
#include "llvm/Support/JSON.h"

namespace tessera {

/// Writes the calls of kernels and contractions of a scheduled function, in their order, as the array `trace` of
/// docs/manifest.md: for each result the op it comes from, the user's line, and where it lies.
void writeTrace(mlir::func::FuncOp function, llvm::json::OStream &json);

} // namespace tessera

#endif // TESSERA_CODEGEN_HOST_TRACE_H
