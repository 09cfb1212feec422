//===- CudaProgram.h - from a scheduled module to a program for GPUs --------===//

#ifndef TESSERA_CODEGEN_HOST_CUDAPROGRAM_H
#define TESSERA_CODEGEN_HOST_CUDAPROGRAM_H

#include "codegen/program/Program.h"

namespace tessera {

/// `generateProgram` where the options are for a GPU.
llvm::FailureOr<CompiledProgram> generateForCuda(mlir::ModuleOp module, const CodegenOptions &options);

} // namespace tessera

#endif // TESSERA_CODEGEN_HOST_CUDAPROGRAM_H
