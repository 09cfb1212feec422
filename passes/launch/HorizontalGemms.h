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

namespace tessera {

/// Fuses GEMMs in all blocks of a function's body, moving them. After each move `isGood` judges the function; what it
/// rejects is undone. Returns the number of GEMMs saved.
unsigned fuseGemmsHorizontally(mlir::func::FuncOp function, llvm::function_ref<bool()> isGood);

/// Clears the mark of GEMMs that the target computes faster one by one. Returns by how many fewer GEMMs are saved.
unsigned splitGemms(mlir::func::FuncOp function, const Target &target);

} // namespace tessera

#endif // TESSERA_PASSES_LAUNCH_HORIZONTALGEMMS_H
