//===- Images.h - chooses the machine code for a GPU ----------------------===//

#ifndef TESSERA_RUNTIME_CUDA_IMAGES_H
#define TESSERA_RUNTIME_CUDA_IMAGES_H

#include "runtime/Abi.h"

#include <cstddef>
#include <map>

namespace tessera::runtime::cuda {

/// The images that fit a GPU of compute capability `major`.`minor` best, by their first kernel; kernels without a
/// fitting image are left out. `images` ends with one without an architecture. Throws an Error if an image exceeds
/// `kernels`.
std::map<uint32_t, const TsrImage *> chooseImages(const TsrImage *images, size_t kernels, int major, int minor);

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_IMAGES_H
