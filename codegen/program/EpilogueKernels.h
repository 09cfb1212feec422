//===- EpilogueKernels.h - kernels in place of a library's epilogues -------===//

#ifndef TESSERA_CODEGEN_PROGRAM_EPILOGUEKERNELS_H
#define TESSERA_CODEGEN_PROGRAM_EPILOGUEKERNELS_H

#include "codegen/program/GemmTable.h"
#include "codegen/program/KernelTable.h"

namespace tessera {

/// The kernel that computes the epilogue of a GEMM from its sums, which are stored: in `aux` if GELU has one, else in
/// c. With GELU its operands are the sums; with GELU's gradient c and `aux`. Its results are c, which may be in place,
/// and the sum of c along M if the epilogue gives that. It is the body of a new function in `module`.
KernelOp buildEpilogueKernel(mlir::ModuleOp module, const ContractionGemm &gemm);

/// Emits the kernel of each GEMM with an epilogue, for a library that turns out not to have that epilogue. Equal ones
/// are shared, and no entry function calls them.
llvm::LogicalResult emitEpilogueKernels(mlir::MLIRContext *context, Backend &backend, KernelTable &kernels,
                                        GemmTable &gemms);

} // namespace tessera

#endif // TESSERA_CODEGEN_PROGRAM_EPILOGUEKERNELS_H
