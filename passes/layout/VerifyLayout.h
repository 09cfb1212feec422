//===- VerifyLayout.h - what holds after `layout` --------------------------------===//

#ifndef TESSERA_PASSES_LAYOUT_VERIFYLAYOUT_H
#define TESSERA_PASSES_LAYOUT_VERIFYLAYOUT_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Checks that contractions of the shape of a GEMM are GEMMs, that renames, splits and merges outside kernels are
/// views, that repeats slice and stack along the outermost axis, and that state has one type in the table and in all
/// entry functions.
llvm::LogicalResult verifyLayout(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_LAYOUT_VERIFYLAYOUT_H
