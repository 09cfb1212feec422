//===- VerifyKernels.h - what holds after `fuse` ---------------------------===//

#ifndef TESSERA_PASSES_FUSION_VERIFYKERNELS_H
#define TESSERA_PASSES_FUSION_VERIFYKERNELS_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Checks that every op outside kernels is a GEMM, a repeat, a tiled op or a view, and that each kernel obeys the rules
/// of docs/ir.md.
llvm::LogicalResult verifyKernels(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_FUSION_VERIFYKERNELS_H
