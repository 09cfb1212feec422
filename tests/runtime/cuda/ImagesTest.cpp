// Which machine code is loaded, and what to do if the driver is too old for all of it.

#include "runtime/cuda/Images.h"
#include "runtime/base/Error.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

using namespace tessera::runtime;
using namespace tessera::runtime::cuda;

namespace {

/// The architectures of the images that a GPU runs, best first.
std::vector<std::string> choicesOf(const std::vector<const char *> &architectures, int major, int minor) {
  std::vector<TsrImage> images;
  for (const char *architecture : architectures) images.push_back({architecture, 0, 1, 0, nullptr});
  images.push_back({nullptr, 0, 0, 0, nullptr});
  std::map<uint32_t, ImageChoices> found = chooseImages(images.data(), 1, major, minor);
  std::vector<std::string> names;
  for (const TsrImage *image : found[0]) names.push_back(image->architecture);
  return names;
}

using Names = std::vector<std::string>;

TEST(Images, MachineCodeIsBeforePtx) {
  std::vector<const char *> all = {"compute_80", "sm_80", "sm_90a", "sm_100a", "compute_90"};
  EXPECT_EQ(choicesOf(all, 9, 0), (Names{"sm_90a", "compute_90", "compute_80"}));
  EXPECT_EQ(choicesOf(all, 8, 0), (Names{"sm_80", "compute_80"}));
  EXPECT_EQ(choicesOf(all, 8, 6), (Names{"sm_80", "compute_80"}));
  EXPECT_EQ(choicesOf(all, 10, 0), (Names{"sm_100a", "compute_90", "compute_80"}));
  EXPECT_EQ(choicesOf(all, 12, 0), (Names{"compute_90", "compute_80"}));
  EXPECT_EQ(choicesOf({"sm_80", "sm_86", "sm_89"}, 8, 9), (Names{"sm_89", "sm_86", "sm_80"}));
  EXPECT_EQ(choicesOf({"sm_90a", "compute_90a"}, 10, 0), Names{});
}

std::string advice(int status, const char *toolkit, int supported) { return driverAdvice(status, toolkit, supported); }

TEST(Images, AdviceNamesTheDriver) {
  for (int status : {200, 209, 222})
    EXPECT_EQ(advice(status, "13.0", 12040),
              "; the program was made with CUDA 13.0, which needs driver 580 or later, and the driver here is one for "
              "CUDA 12.4: update it, or compile the program with CUDA 12 (CUDA_HOME names its folder)");
  EXPECT_NE(advice(200, "12.8", 11080).find("needs driver 525 or later"), std::string::npos);
  EXPECT_NE(advice(222, "12.9", 12040).find("PTX made with CUDA 12.9 needs a driver for that version"),
            std::string::npos);
  EXPECT_EQ(advice(200, "12.9", 12040), ""); // the version is not the cause
  EXPECT_EQ(advice(222, "12.4", 13000), "");
  EXPECT_EQ(advice(2, "13.0", 12040), "");
  EXPECT_EQ(advice(200, "", 12040),
            "; programs made with CUDA 13 need driver 580 or later, with CUDA 12 driver 525 or later");
}

TEST(Images, WhatTheDriverDoesNotLoadIsSkipped) {
  setenv("TESSERA_CUDA_DRIVER", TESSERA_FAKE_CUDA, 1);
  std::ifstream file(TESSERA_EMPTY_IMAGE, std::ios::binary);
  std::string good{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()}, bad(64, 'x');
  TsrImage first{"sm_90a", 0, 1, bad.size(), bad.data()}, second{"compute_90", 0, 1, good.size(), good.data()};
  LoadedImage loaded = loadImage({&first, &second}, "cannot load", "13.0");
  EXPECT_EQ(loaded.image, &second);
  EXPECT_NE(loaded.module, nullptr);
  try {
    loadImage({&first}, "cannot load kernel k", "14.0");
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("cannot load kernel k: CUDA_ERROR_INVALID_IMAGE"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("made with CUDA 14.0"), std::string::npos) << error.what();
  }
}

} // namespace
