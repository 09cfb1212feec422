//===- ElementaryTest.cpp - functions of scalars.cuh against the interpreter -===//
//
// Each unary elementwise op is a function of its name. This tests the header as compiled for the CPU: names, signs,
// domains and special values are those of the interpreter; the accuracy of CUDA's own functions is in its manual.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/UnaryFunction.h"
#include "tests/codegen/cuda/EmulatedKernels.h"
#include "tests/support/Ulps.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace tessera;
using namespace tessera::test;

namespace {

std::string textFor(const std::string &function, size_t count) {
  std::string size = std::to_string(count);
  return "#include \"tessera.cuh\"\nextern \"C\" __global__ void __launch_bounds__(32)\n" + function +
         "(const float *x, float *y) { for (int i = threadIdx.x; i < " + size +
         "; i += 32) y[i] = " + (function == "neg" ? "-x[i]" : "tsr::" + function + "(x[i])") + "; }\n";
}

TEST(Elementary, FunctionsAreThoseOfTheInterpreter) {
  std::vector<float> x = allMagnitudes(), y(x.size());
  auto bytes = static_cast<int64_t>(x.size() * sizeof(float));
  for (const UnaryFunction &function : unaryFunctions()) {
    std::string name = function.op.str();
    cuda::CudaKernel kernel{name, textFor(name, x.size()),        {"const float *", "float *"}, 1,
                            32,   {{bytes, false}, {bytes, true}}};
    EmulatedKernels loaded({&kernel});
    ASSERT_EQ(loaded.errors, "") << name;
    ASSERT_EQ(loaded.run(kernel, {x.data(), y.data()}), "") << name;
    double worst = 0;
    float at = 0;
    for (size_t i = 0; i < x.size(); ++i)
      if (double error = ulps(y[i], function.evaluate(x[i])); error > worst) worst = error, at = x[i];
    EXPECT_LE(worst, 4) << name << "(" << at << ")";
  }
}

/// exp(scale x - down) for a row's maximum `down`: the relative error is that of the exponent, a product with log2(e),
/// and that of the power.
TEST(Elementary, ExponentialsOfDifferences) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0, 1, -1, 3.25f, -20, 88, -300, 1e30f, -1e30f, infinity, -infinity, std::nanf("")};
  std::vector<float> down = {0, 1, -2.5f, 20, 88, infinity, -infinity};
  std::string text = "#include \"tessera.cuh\"\nextern \"C\" __global__ void __launch_bounds__(32)\n"
                     "power(const float *x, const float *down, float *y) { if (threadIdx.x == 0) for (int i = 0; i < " +
                     std::to_string(x.size()) + "; ++i) for (int j = 0; j < " + std::to_string(down.size()) +
                     "; ++j) y[" + std::to_string(down.size()) +
                     " * i + j] = tsr::exp_of_difference(x[i], 0.5f, down[j]); }\n";
  std::vector<float> y(x.size() * down.size());
  auto bytes = [](const std::vector<float> &values) { return static_cast<int64_t>(values.size() * sizeof(float)); };
  cuda::CudaKernel kernel{"power", text, {"const float *", "const float *", "float *"},
                          1,       32,   {{bytes(x), false}, {bytes(down), false}, {bytes(y), true}}};
  EmulatedKernels loaded({&kernel});
  ASSERT_EQ(loaded.errors, "");
  ASSERT_EQ(loaded.run(kernel, {x.data(), down.data(), y.data()}), "");
  for (size_t i = 0; i < x.size(); ++i)
    for (size_t j = 0; j < down.size(); ++j) {
      float found = y[down.size() * i + j];
      double expected = std::exp(0.5 * x[i] - double(down[j]));
      if (expected < 0x1p-126) expected = 0; // subnormal
      if (std::isnan(expected) || expected > std::numeric_limits<float>::max() || expected == 0) {
        EXPECT_TRUE(std::isnan(expected) ? std::isnan(found) : found == static_cast<float>(expected))
            << x[i] << ", " << down[j] << ": " << found;
      } else {
        EXPECT_NEAR(found, expected, expected * 0x1p-23 * (2 + std::abs(x[i]) + std::abs(down[j])));
      }
    }
}

/// The largest element of a row has the exponential 1, and its neighbours what their difference gives: also where rows
/// are large finite values, as where a mask is no infinity.
TEST(Elementary, ExponentialsOfDifferencesOfLargeValues) {
  const float most = std::numeric_limits<float>::max();
  std::vector<float> x, scales = {1, 0.5f, 0.377964473f, 0.088388348f};
  for (float size : {1.0f, 1e4f, 1e9f, 1e10f, 1e30f, most})
    for (float largest : {size, -size}) x.insert(x.end(), {largest, std::nextafter(largest, -most)});
  std::string text =
      "#include \"tessera.cuh\"\nextern \"C\" __global__ void __launch_bounds__(32)\n"
      "power(const float *x, const float *scales, float *y) { if (threadIdx.x == 0) for (int i = 0; i < " +
      std::to_string(x.size()) + "; ++i) for (int j = 0; j < " + std::to_string(scales.size()) + "; ++j) y[" +
      std::to_string(scales.size()) +
      " * i + j] = tsr::exp_of_difference(x[i], scales[j], scales[j] * x[i / 2 * 2]); }\n";
  std::vector<float> y(x.size() * scales.size());
  auto bytes = [](const std::vector<float> &values) { return static_cast<int64_t>(values.size() * sizeof(float)); };
  cuda::CudaKernel kernel{"power", text, {"const float *", "const float *", "float *"},
                          1,       32,   {{bytes(x), false}, {bytes(scales), false}, {bytes(y), true}}};
  EmulatedKernels loaded({&kernel});
  ASSERT_EQ(loaded.errors, "");
  ASSERT_EQ(loaded.run(kernel, {x.data(), scales.data(), y.data()}), "");
  for (size_t i = 0; i < x.size(); ++i)
    for (size_t j = 0; j < scales.size(); ++j) {
      float product = x[i] * scales[j], largest = x[i / 2 * 2] * scales[j], found = y[scales.size() * i + j];
      double expected = std::exp(double(product) - double(largest));
      EXPECT_NEAR(found, expected < 0x1p-126 ? 0 : expected, expected * 0x1p-20) << x[i] << ", " << scales[j];
      if (i % 2 == 0) {
        EXPECT_EQ(found, 1) << x[i] << ", " << scales[j];
      }
    }
}

/// A value that goes through a 16-bit type has the bits of two conversions.
TEST(Elementary, RoundingIsAConversionAndBack) {
  std::vector<float> x = allMagnitudes();
  std::string size = std::to_string(x.size()), text = "#include \"tessera.cuh\"\n";
  text += "extern \"C\" __global__ void __launch_bounds__(32)\nthrough(const float *x, float *y, float *z) {\n"
          "  for (int i = threadIdx.x; i < " +
          size + "; i += 32) y[i] = tsr::rounded<tsr::bf16>(x[i]), z[i] = tsr::rounded<tsr::f16>(x[i]);\n}\n";
  std::vector<float> y(x.size()), z(x.size());
  auto bytes = static_cast<int64_t>(x.size() * sizeof(float));
  cuda::CudaKernel kernel{"through", text, {"const float *", "float *", "float *"},
                          1,         32,   {{bytes, false}, {bytes, true}, {bytes, true}}};
  EmulatedKernels loaded({&kernel});
  ASSERT_EQ(loaded.errors, "");
  ASSERT_EQ(loaded.run(kernel, {x.data(), y.data(), z.data()}), "");
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i])) continue;
    EXPECT_EQ(z[i], static_cast<float>(static_cast<_Float16>(x[i])));
    constexpr float roundedToInfinity = 0x1.ffp127f; // halfway from bf16's largest number to the next power of two
    if (std::abs(x[i]) >= roundedToInfinity)
      EXPECT_TRUE(std::isinf(y[i])) << x[i];
    else
      EXPECT_LE(std::abs(y[i] - x[i]), std::abs(x[i]) * 0x1p-8f + 0x1p-133f) << x[i];
    EXPECT_EQ(std::bit_cast<uint32_t>(y[i]) & 0xffff, 0u);
  }
}

} // namespace
