//===- ImageTable.h - machine code for GPUs in a program ------------------===//

#ifndef TESSERA_CODEGEN_CUDA_IMAGETABLE_H
#define TESSERA_CODEGEN_CUDA_IMAGETABLE_H

#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace tessera {

/// Machine code of consecutive kernels, for an architecture.
struct DeviceImage {
  std::string architecture;
  uint32_t firstKernel, kernels;
  std::string code;
};

/// Emits `tsr_images` (runtime/Abi.h).
void emitImageTable(mlir::ModuleOp code, llvm::ArrayRef<DeviceImage> images);

} // namespace tessera

#endif // TESSERA_CODEGEN_CUDA_IMAGETABLE_H
