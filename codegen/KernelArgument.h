//===- KernelArgument.h - what an argument of a kernel points to ----------===//

#ifndef TESSERA_CODEGEN_KERNELARGUMENT_H
#define TESSERA_CODEGEN_KERNELARGUMENT_H

#include <cstdint>

namespace tessera {

/// Operands are read, results are written.
struct KernelArgument {
  int64_t bytes;
  bool isWritten;
};

} // namespace tessera

#endif // TESSERA_CODEGEN_KERNELARGUMENT_H
