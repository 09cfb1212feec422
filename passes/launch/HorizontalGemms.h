//===- HorizontalGemms.h - horizontal fusion of GEMMs ---------------------===//
//
// The projections of one input to queries, keys and values are narrow GEMMs that each read the whole input; so are
// their gradients. Fused, they read it once and share its packed panels. The matrices need not be adjacent: the columns
// (or rows) of the fused GEMM come from several matrices. Such contractions of a block are moved next to each other and
// marked with one number, `tsr.group`.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_LAUNCH_HORIZONTALGEMMS_H
#define TESSERA_PASSES_LAUNCH_HORIZONTALGEMMS_H

#include "ir/program/Target.h"
#include "passes/memory/MemoryLimit.h"

namespace tessera {

/// Fuses GEMMs in all blocks of a function's body, moving them, where that needs no more memory than the limit of the
/// function allows. Its storage must have been planned without collisions. Returns the number of GEMMs saved.
unsigned fuseGemmsHorizontally(mlir::func::FuncOp function, const MemoryLimit &limit);

/// Fuses the GEMMs of a function that `schedule` would fuse in it as it is, so that whatever else is done to it before
/// does not change what is computed together.
llvm::LogicalResult fuseGemmsEarly(mlir::func::FuncOp function, int64_t stateBytes);

/// Whether the GEMMs of a function were fused early, or there were none to fuse.
bool hasFusedGemms(mlir::func::FuncOp function);
void setHasFusedGemms(mlir::func::FuncOp function, bool value);

/// Clears the mark of GEMMs that the target computes faster one by one. Returns by how many fewer GEMMs are saved.
unsigned splitGemms(mlir::func::FuncOp function, const Target &target);

} // namespace tessera

#endif // TESSERA_PASSES_LAUNCH_HORIZONTALGEMMS_H
