//===- LaunchGroups.h - ops that are executed together --------------------===//
//
// `schedule` marks horizontally fused ops with one number, `tsr.group`: kernels on a GPU, GEMMs with a common operand
// on a CPU. They are adjacent in their block and have no order among themselves.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_ANALYSIS_LAUNCHGROUPS_H
#define TESSERA_PASSES_ANALYSIS_LAUNCHGROUPS_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Whether both ops are in one launch.
bool isSameLaunch(mlir::Operation *op, mlir::Operation *other);

/// The ops of the launch that `op` is in, in program order; `op` alone if it is not fused.
llvm::SmallVector<mlir::Operation *> launchOf(mlir::Operation *op);

} // namespace tessera

#endif // TESSERA_PASSES_ANALYSIS_LAUNCHGROUPS_H
