//===- Images.cpp - chooses the machine code for a GPU --------------------===//

#include "runtime/cuda/Images.h"

#include "runtime/base/Error.h"

#include <cctype>
#include <cstdlib>

namespace tessera::runtime::cuda {

/// How well an image fits a GPU of `major`.`minor`: 4: machine code for it; 2: for an earlier one of the same major
/// version; 1: PTX; 0: it does not run there.
static int fitOf(const std::string &architecture, int major, int minor) {
  size_t digits = architecture.find_first_of("0123456789");
  if (digits == std::string::npos) return 0;
  int number = atoi(architecture.c_str() + digits), own = 10 * major + minor;
  bool isPtx = architecture.rfind("compute_", 0) == 0,
       isSpecific = architecture.find_last_of("af") != std::string::npos && isalpha(architecture.back());
  if (isPtx) return number == own || (number < own && !isSpecific) ? 1 : 0;
  if (number == own) return 4;
  return number / 10 == major && number < own && !isSpecific ? 2 : 0;
}

std::map<uint32_t, const TsrImage *> chooseImages(const TsrImage *images, size_t kernels, int major, int minor) {
  std::map<uint32_t, const TsrImage *> best;
  for (const TsrImage *image = images; image && image->architecture; ++image) {
    if (image->kernels > kernels || image->firstKernel > kernels - image->kernels)
      fail("the program's code has more kernels than its manifest; compile it again");
    int fit = fitOf(image->architecture, major, minor);
    if (fit == 0) continue;
    const TsrImage *&chosen = best[image->firstKernel];
    if (!chosen || fit > fitOf(chosen->architecture, major, minor)) chosen = image;
  }
  return best;
}

} // namespace tessera::runtime::cuda
