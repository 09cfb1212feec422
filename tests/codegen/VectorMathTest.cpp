//===- VectorMathTest.cpp - accuracy of elementary functions --------------===//
//
// Every 1021st f32 of all signs and magnitudes, including subnormals, infinities and NaN, is compared with libm in f64.
// The bounds are in the table of codegen/cpu/builder/VectorMath.cpp.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/builder/VectorMath.h"
#include "KernelCheck.h"
#include "ir/dialect/UnaryFunction.h"
#include "tests/support/Ulps.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::test;

namespace {

/// Largest error of a unary op on each vector width.
void expectAccuracy(const char *op, double (*reference)(double), double bound) {
  std::vector<float> inputs = allMagnitudes();
  for (const char *march : {"native", "x86-64-v3"}) {
    std::string type = "[n: " + std::to_string(inputs.size()) + "], f32";
    LoadedKernels loaded(
        KernelText{
            {{"x", type}}, "\"n\"", "", "n", test::op("%y", std::string(op) + " %x : " + T(type)), {{"%y", type}}}
            .str(),
        march);
    ASSERT_EQ(loaded.errors, "");
    std::vector<float> results(inputs.size());
    void *addresses[] = {inputs.data(), results.data()};
    loaded.kernel().code(addresses, 0, loaded.kernel().interface.iterations, nullptr);
    double worst = 0;
    float at = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      double error = ulps(results[i], reference(inputs[i]));
      if (error > worst) worst = error, at = inputs[i];
    }
    EXPECT_LE(worst, bound) << op << "(" << at << ") on " << march;
    printf("  %-6s %-10s %.3f ulp, at %a\n", op, march, worst, at);
  }
}

TEST(VectorMath, EveryFunctionOfTheTable) {
  for (const ElementaryFunction &function : elementaryFunctions()) {
    const UnaryFunction *reference =
        llvm::find_if(unaryFunctions(), [&](const UnaryFunction &unary) { return unary.op == function.op; });
    ASSERT_NE(reference, unaryFunctions().end()) << function.op.str();
    expectAccuracy(function.op.data(), reference->evaluate, function.maxUlps);
  }
}

/// Bitwise equal to the interpreter for pairs of all signs and magnitudes.
TEST(VectorMath, Mod) {
  std::vector<float> inputs = allMagnitudes(), left, right;
  std::vector<float> special{0.0f, -0.0f, 1.0f, -1.0f,    3.0f,  -7.0f,    0x1p-149f, 0x1.8p-140f, 1e-30f,
                             0.1f, -0.3f, 1e9f, -3.3e20f, 3e38f, INFINITY, -INFINITY, NAN,         493827156.0f};
  for (float a : special)
    for (float b : special) left.push_back(a), right.push_back(b);
  std::mt19937 random(5);
  std::uniform_real_distribution<float> near(-50, 50);
  for (int i = 0; i < 200000; ++i) {
    left.push_back(inputs[random() % inputs.size()]), right.push_back(inputs[random() % inputs.size()]);
    float b = near(random);
    left.push_back(b * static_cast<float>(random() % 100)), right.push_back(b);
  }
  std::string type = "[n: " + std::to_string(left.size()) + "], f32", t = T(type);
  std::string body = test::op("%y", "mod %a, %b : (" + t + ", " + t + ") -> " + t);
  for (const char *march : {"native", "x86-64-v3"})
    for (const char *vector : {"n", ""}) {
      LoadedKernels loaded(KernelText{{{"a", type}, {"b", type}}, "\"n\"", "", vector, body, {{"%y", type}}}.str(),
                           march);
      ASSERT_EQ(loaded.errors, "");
      std::vector<float> results(left.size());
      void *addresses[] = {left.data(), right.data(), results.data()};
      loaded.kernel().code(addresses, 0, loaded.kernel().interface.iterations, nullptr);
      for (size_t i = 0; i < left.size(); ++i) {
        double a = left[i], b = right[i], exact = std::fmod(a, b); // the interpreter's rule
        if (exact != 0 && (exact < 0) != (b < 0)) exact += b;
        auto expected = static_cast<float>(exact);
        ASSERT_TRUE(std::isnan(expected) ? std::isnan(results[i])
                                         : results[i] == expected && std::signbit(results[i]) == std::signbit(expected))
            << a << " % " << b << " is " << results[i] << ", expected " << expected;
      }
    }
}

TEST(VectorMath, Pow) {
  std::vector<float> special{0.0f,   -0.0f, 1.0f,   -1.0f,    2.0f,      -2.0f, 3.0f, -3.0f, 0.5f, -0.5f,
                             1e-40f, 1e30f, -1e30f, INFINITY, -INFINITY, NAN,   7.0f, 10.5f, -0.3f};
  std::vector<float> bases, exponents;
  for (float a : special)
    for (float b : special) bases.push_back(a), exponents.push_back(b);
  std::mt19937 random(3);
  std::uniform_real_distribution<float> logs(-20, 20), powers(-8, 8);
  for (int i = 0; i < 200000; ++i) bases.push_back(std::exp(logs(random))), exponents.push_back(powers(random));
  std::string type = "[n: " + std::to_string(bases.size()) + "], f32";
  LoadedKernels loaded(KernelText{
      {{"a", type}, {"b", type}},
      "\"n\"",
      "",
      "n",
      test::op("%y", "pow %a, %b : (" + T(type) + ", " + T(type) + ") -> " + T(type)),
      {{"%y", type}}}.str());
  ASSERT_EQ(loaded.errors, "");
  std::vector<float> results(bases.size());
  void *addresses[] = {bases.data(), exponents.data(), results.data()};
  loaded.kernel().code(addresses, 0, loaded.kernel().interface.iterations, nullptr);
  for (size_t i = 0; i < bases.size(); ++i) {
    double exact = std::pow(static_cast<double>(bases[i]), static_cast<double>(exponents[i]));
    ASSERT_LE(ulps(results[i], exact), 1)
        << "pow(" << bases[i] << ", " << exponents[i] << ") is " << results[i] << ", expected " << exact;
    if (exact == 0) ASSERT_EQ(std::signbit(results[i]), std::signbit(exact)) << bases[i] << ", " << exponents[i];
  }
}

} // namespace
