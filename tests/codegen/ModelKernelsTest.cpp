//===- ModelKernelsTest.cpp - all kernels of whole models -----------------===//
//
// The example models go through every phase up to `fuse`, at small sizes; each kernel that
// comes out is compiled, run on random numbers and compared with the interpreter.
//
//===----------------------------------------------------------------------===//

#include "KernelCheck.h"
#include "ModelText.h"
#include <gtest/gtest.h>
#include <set>

using namespace tessera;
using namespace tessera::test;

namespace {

void checkModel(const std::string &example, const std::vector<std::string> &sets) {
  std::string text = fusedModel(std::string(TESSERA_SOURCE_DIR) + "/examples/" + example, sets);
  ASSERT_NE(text, "");
  LoadedKernels loaded(text);
  ASSERT_EQ(loaded.errors, "");
  std::set<std::string> seen;
  for (LoadedKernels::Kernel &kernel : loaded.kernels)
    if (seen.insert(kernel.interface.name).second) checkKernel(loaded, kernel, {.tolerance = 2e-5});
  printf("  %s: %zu kernels, %zu distinct\n", example.c_str(), loaded.kernels.size(), seen.size());
}

TEST(ModelKernels, Regression) { checkModel("01-regression.tsr", {}); }
TEST(ModelKernels, Digits) { checkModel("02-digits.tsr", {}); }
TEST(ModelKernels, ByteGpt) { checkModel("03-byte-gpt.tsr", {"depth=2", "heads=1", "head_size=8"}); }

} // namespace
