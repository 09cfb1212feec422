//===- ExamplesCudaTest.cpp - the examples as emulated CUDA code ------------===//
//
// Each example, at a small size, in each type: initial values, two steps, evaluation and prediction against the
// interpreter; with the schedules for that size, and with those of large ones.
//
//===----------------------------------------------------------------------===//

#include "frontend/Frontend.h"
#include "ir/dialect/Tsr.h"
#include "tests/differential/CudaCheck.h"
#include "tests/differential/RandomGraph.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {
struct Example {
  const char *file;
  std::vector<std::string> sets;
};

class ExamplesCuda : public testing::TestWithParam<std::tuple<Example, const char *, bool>> {};

std::string nameOf(const testing::TestParamInfo<ExamplesCuda::ParamType> &info) {
  const auto &[example, compute, isScheduledLarge] = info.param;
  std::string name = std::string(example.file).substr(3) + "_" + compute + (isScheduledLarge ? "_as_large" : "");
  for (char &c : name)
    if (!isalnum(c)) c = '_';
  return name;
}

TEST_P(ExamplesCuda, ComputesWhatTheModelSays) {
  const auto &[example, compute, isScheduledLarge] = GetParam();
  MLIRContext context;
  context.loadDialect<TsrDialect, func::FuncDialect>();
  FrontendOptions options;
  options.sets = example.sets;
  tessera::DiagnosticEngine diagnostics;
  auto file = llvm::MemoryBuffer::getFile(std::string(TESSERA_SOURCE_DIR) + "/examples/" + example.file);
  ASSERT_TRUE(file);
  std::string text = (*file)->getBuffer().str();
  constexpr llvm::StringLiteral words =
      "vocab = 50_257"; // too many for the interpreter; a prime number of them leaves tails
  if (size_t at = text.find(words); at != std::string::npos) text.replace(at, words.size(), "vocab = 503");
  auto module = compileModelText(context, text, example.file, options, diagnostics);
  diagnostics.printText(llvm::errs());
  ASSERT_TRUE(module);
  if (std::string(compute) != "f32") setCompute(*module, compute);
  EXPECT_EQ(checkOnCuda(*module, nullptr, isScheduledLarge ? smallDevice() : *Target::named("h100")), "");
}

INSTANTIATE_TEST_SUITE_P(
    All, ExamplesCuda,
    testing::Combine(
        testing::Values(
            Example{"01-regression.tsr", {}}, Example{"02-digits.tsr", {"digits.batch=12"}},
            Example{"03-byte-gpt.tsr", {"depth=2", "heads=2", "head_size=12", "context=12", "d.batch=2", "d.seq=12"}},
            Example{"04-gpt2.tsr", {"depth=2", "heads=2", "head_size=4", "context=8", "d.batch=2", "d.seq=8"}},
            Example{"05-mnist.tsr", {"mnist.batch=3", "width=24"}}, Example{"06-convolution.tsr", {"d.batch=3"}},
            Example{"07-llama.tsr",
                    {"depth=2", "group=2", "head_size=4", "wide=12", "words=40", "context=8", "d.batch=2", "d.seq=8"}}),
        testing::Values("f32", "bf16", "fp16"), testing::Bool()),
    nameOf);
} // namespace
