//===- ElementaryTest.cpp - functions of numbers.cuh against the interpreter -===//
//
// Each elementwise op of one number is a function of its name. On the CPU's twin of the header: names, signs, domains and special
// values are those of the interpreter; the accuracy of CUDA's own functions is what its manual states.
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
  return "#include \"tessera.cuh\"\nextern \"C\" __global__ void __launch_bounds__(1)\n" + function +
         "(const float *x, float *y) { for (int i = 0; i < " + size +
         "; ++i) y[i] = " + (function == "neg" ? "-x[i]" : "tsr::" + function + "(x[i])") + "; }\n";
}

TEST(Elementary, FunctionsAreThoseOfTheInterpreter) {
  std::vector<float> x = allMagnitudes(), y(x.size());
  auto bytes = static_cast<int64_t>(x.size() * sizeof(float));
  for (const UnaryFunction &function : unaryFunctions()) {
    std::string name = function.op.str();
    cuda::CudaKernel kernel{name, textFor(name, x.size()),        {"const float *", "float *"}, 1,
                            1,    {{bytes, false}, {bytes, true}}};
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
