//===- ElementaryTest.cpp - functions of scalars.cuh against the interpreter -===//
//
// Each unary elementwise op is a function of its name. This tests the header as compiled for the CPU: names, signs,
// domains and special values are those of the interpreter; the accuracy of CUDA's own functions is in its manual.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/UnaryFunction.h"
#include "tests/codegen/cuda/EmulatedKernels.h"
#include "tests/support/Ulps.h"
#include <gtest/gtest.h>

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

} // namespace
