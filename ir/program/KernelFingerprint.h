//===- KernelFingerprint.h - which kernels are the same code --------------===//

#ifndef TESSERA_IR_PROGRAM_KERNELFINGERPRINT_H
#define TESSERA_IR_PROGRAM_KERNELFINGERPRINT_H

#include "ir/dialect/Tsr.h"
#include <vector>

namespace tessera {

/// What the code of a kernel or a tiled op depends on, as numbers and as addresses of types and attributes, which
/// exist once in a context. Names and places are not part of it. For comparison within one context only.
using KernelFingerprint = std::vector<const void *>;
KernelFingerprint fingerprint(KernelOp kernel);
KernelFingerprint fingerprint(TiledOp tiled);

} // namespace tessera

#endif // TESSERA_IR_PROGRAM_KERNELFINGERPRINT_H
