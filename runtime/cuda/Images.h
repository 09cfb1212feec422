//===- Images.h - chooses the machine code for a GPU ----------------------===//

#ifndef TESSERA_RUNTIME_CUDA_IMAGES_H
#define TESSERA_RUNTIME_CUDA_IMAGES_H

#include "runtime/Abi.h"
#include "runtime/cuda/Driver.h"

#include <map>
#include <vector>

namespace tessera::runtime::cuda {

/// Images of the same kernels that a GPU runs, best first.
using ImageChoices = std::vector<const TsrImage *>;

/// The images that a GPU of compute capability `major`.`minor` runs, by their first kernel; kernels without such an
/// image are left out. `images` ends with one without an architecture. Throws an Error if an image exceeds `kernels`.
std::map<uint32_t, ImageChoices> chooseImages(const TsrImage *images, size_t kernels, int major, int minor);

struct LoadedImage {
  const TsrImage *image;
  Module module;
};

/// Loads the first of the choices, of which there is at least one, that the driver loads. `what` begins the message of
/// an error, `toolkit` is the CUDA version that made the images ("13.0"; empty: not known).
LoadedImage loadImage(const ImageChoices &choices, const std::string &what, const std::string &toolkit);

/// What to do if the driver returns `status` for an image that CUDA `toolkit` made: the end of a message, or nothing.
/// `supported` is the CUDA version of the driver, as cuDriverGetVersion gives it (12040); 0: not known.
std::string driverAdvice(int status, const std::string &toolkit, int supported);

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_IMAGES_H
