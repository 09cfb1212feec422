//===- Images.cpp - chooses the machine code for a GPU --------------------===//
//
// A driver loads machine code that its own major version of CUDA or an earlier one made, and PTX that its own version
// or an earlier one made. So machine code is preferred, and what the driver does not load is no reason to give up
// while there is another image.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Images.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

namespace tessera::runtime::cuda {

/// How well an image fits a GPU of `major`.`minor`; 0: it does not run there. Machine code for the GPU is best, then
/// such for an earlier one of the same major version, then PTX; of equals that for the later GPU.
static int fitOf(const std::string &architecture, int major, int minor) {
  size_t digits = architecture.find_first_of("0123456789");
  if (digits == std::string::npos) return 0;
  int number = atoi(architecture.c_str() + digits), own = 10 * major + minor;
  bool isPtx = architecture.rfind("compute_", 0) == 0, isSpecific = isalpha(architecture.back());
  if (number > own || (isSpecific && number != own)) return 0;
  if (isPtx) return 1000 + number;
  return number == own ? 3000 : number / 10 == major ? 2000 + number : 0;
}

std::map<uint32_t, ImageChoices> chooseImages(const TsrImage *images, size_t kernels, int major, int minor) {
  std::map<uint32_t, ImageChoices> choices;
  for (const TsrImage *image = images; image && image->architecture; ++image) {
    if (image->kernels > kernels || image->firstKernel > kernels - image->kernels)
      fail("the program's code has more kernels than its manifest; compile it again");
    if (fitOf(image->architecture, major, minor) > 0) choices[image->firstKernel].push_back(image);
  }
  for (auto &[first, list] : choices)
    std::sort(list.begin(), list.end(), [&](const TsrImage *a, const TsrImage *b) {
      int fitOfA = fitOf(a->architecture, major, minor), fitOfB = fitOf(b->architecture, major, minor);
      return fitOfA != fitOfB ? fitOfA > fitOfB : a < b;
    });
  return choices;
}

/// Errors that another image may not have.
static bool dependsOnImage(int status) {
  constexpr std::array errors = {errorInvalidImage,  errorNoBinary,       errorInvalidPtx,
                                 errorNoJitCompiler, errorUnsupportedPtx, errorJitDisabled};
  return std::find(errors.begin(), errors.end(), status) != errors.end();
}

LoadedImage loadImage(const ImageChoices &choices, const std::string &what, const std::string &toolkit) {
  const Driver &driver = Driver::get();
  int problem = 0; // of the best image
  for (const TsrImage *image : choices) {
    Module module = nullptr;
    int status = driver.moduleLoadData(&module, image->code);
    if (status == 0) return {image, module};
    if (problem == 0) problem = status;
    if (!dependsOnImage(status)) break;
  }
  int supported = 0;
  driver.getVersion(&supported);
  try {
    driver.check(problem, what);
  } catch (const Error &error) {
    fail("{}{}", error.what(), driverAdvice(problem, toolkit, supported));
  }
  fail("{}: the program has no machine code", what);
}

/// The first driver for any version of a major version of CUDA, by NVIDIA's table for minor version compatibility.
static int leastDriver(int major) { return major >= 13 ? 580 : major == 12 ? 525 : 450; }

std::string driverAdvice(int status, const std::string &toolkit, int supported) {
  if (status != errorInvalidImage && status != errorNoBinary && status != errorUnsupportedPtx) return "";
  int major = 0, minor = 0, driverMajor = supported / 1000, driverMinor = supported % 1000 / 10;
  if (sscanf(toolkit.c_str(), "%d.%d", &major, &minor) != 2)
    return fmt::format("; programs made with CUDA 13 need driver {} or later, with CUDA 12 driver {} or later",
                       leastDriver(13), leastDriver(12));
  if (major > driverMajor)
    return fmt::format(
        "; the program was made with CUDA {}, which needs driver {} or later, and the driver here is one "
        "for CUDA {}.{}: update it, or compile the program with CUDA {} (CUDA_HOME names its folder)",
        toolkit, leastDriver(major), driverMajor, driverMinor, driverMajor);
  if (major == driverMajor && minor > driverMinor && status == errorUnsupportedPtx)
    return fmt::format("; PTX made with CUDA {} needs a driver for that version or a later one, and the driver here is "
                       "one for CUDA {}.{}: update it, or compile the program for the machine code of this GPU "
                       "(--target=cuda:sm_90a, for example)",
                       toolkit, driverMajor, driverMinor);
  return "";
}

} // namespace tessera::runtime::cuda
