//===- DeviceHeaders.h - the headers that generated kernels include ---------===//

#ifndef TESSERA_CODEGEN_CUDA_DEVICE_DEVICEHEADERS_H
#define TESSERA_CODEGEN_CUDA_DEVICE_DEVICEHEADERS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tessera::cuda {

struct DeviceHeader {
  llvm::StringLiteral name, text;
};

/// `tessera.cuh`, which all kernels include, and the headers that it includes.
llvm::ArrayRef<DeviceHeader> deviceHeaders();

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_DEVICE_DEVICEHEADERS_H
