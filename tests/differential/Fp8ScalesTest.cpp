//===- Fp8ScalesTest.cpp - training with fp8 operands -----------------------===//
//
// The largest magnitudes, which scales are computed from, are followed through steps with known batches, with
// non-finite batches, and with batches far larger than those before. A model must learn as it does in f32.
//
//===----------------------------------------------------------------------===//

#include "tests/differential/CompiledModel.h"
#include "tests/differential/CpuRunner.h"
#include "tests/differential/RandomGraph.h"
#include "gtest/gtest.h"
#include <cmath>
#include <memory>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

static constexpr const char *model = R"(
use nn: relu
dim batch, a = 12, b = 40, c = 8

model m(x[batch, a]) -> [batch, c] {
  weight w [a, b] = normal(0.3)
  weight v [b, c] = normal(0.3)
  bias p [b]
  let e = relu(x)
  h: sum[b](relu(sum[a](e * w) + p) * v)
}

train m {
  data d = csv(train = "none", batch = 32, x = float[a](column = 0), y = float[c](column = 12))
  loss mse = mean[batch, c]((m(d.x) - d.y)^2)
  optimize adamw(lr = 0.01, decay = 0) on **
  stop(after = 10)
}
)";

namespace {
/// A program with its runner and its state.
class Training {
public:
  Training(std::unique_ptr<Runner> on, StringRef phase, StringRef compute) : runner(std::move(on)) {
    module = compileTo(context, model, phase, compute);
    if (!module || failed(runner->load(*module))) return;
    FailureOr<Values> first = runner->run("init", makeInputs(module->lookupSymbol<func::FuncOp>("init"), 0));
    if (succeeded(first)) state = *first;
  }
  bool isReady() const { return !state.empty(); }
  double number(const std::string &name, size_t at = 0) { return state.at(name).data[at]; }

  /// A batch that a linear map of what is not negative could learn; `number` selects it.
  void setBatch(int number) {
    auto step = module->lookupSymbol<func::FuncOp>("step");
    for (auto &[name, value] : makeInputs(step, number)) state[name] = value;
    TensorValue &x = state.at("input d.x"), &y = state.at("input d.y");
    size_t a = 12, c = 8;
    for (size_t row = 0; row < 32; ++row)
      for (size_t j = 0; j < c; ++j) {
        double sum = 0;
        for (size_t i = 0; i < a; ++i)
          sum += std::max(x.data[row * a + i], 0.0) * std::sin(static_cast<double>(i * c + j));
        y.data[row * c + j] = static_cast<float>(sum / 4);
      }
  }
  TensorValue &input() { return state.at("input d.x"); }
  TensorValue &weights() { return state.at("state w"); }

  ::testing::AssertionResult run() {
    FailureOr<Values> next = runner->run("step", state);
    if (failed(next)) return ::testing::AssertionFailure() << "the step does not run";
    for (auto &[name, value] : *next) state[name] = value;
    return ::testing::AssertionSuccess();
  }

private:
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<Runner> runner;
  Values state;
};
} // namespace

/// Of relu(x) rounded to bf16, which the first contraction multiplies.
static double largest(const TensorValue &x) {
  double number = std::max(0.0, *llvm::max_element(x.data));
  return roundTo(number, BFloat16Type::get(x.type.getContext()));
}

static void followLargestNumber(Training &training) {
  ASSERT_TRUE(training.isReady());
  const std::string amax = "state relu.amax";
  float expected = 16; // the guess
  EXPECT_EQ(training.number(amax), expected);
  int number = 0;
  for (double scale : {1.0, 1.0, 40.0, 1.0, 0.0, 1.0}) {
    training.setBatch(number++);
    for (double &x : training.input().data) x = static_cast<float>(x * scale);
    if (scale != 0) expected = std::max(static_cast<float>(largest(training.input())), expected * 0.875f);
    ASSERT_TRUE(training.run());
    EXPECT_EQ(training.number(amax), expected) << "after batch " << number;
    EXPECT_EQ(training.number("output finite"), 1);
  }
  for (float bad : {INFINITY, NAN}) {
    training.setBatch(number++);
    training.input().data[17] = bad;
    std::vector<double> weights = training.weights().data;
    ASSERT_TRUE(training.run());
    EXPECT_EQ(training.number(amax), expected) << "after " << bad;
    EXPECT_EQ(training.number("output finite"), 0);
    EXPECT_EQ(training.weights().data, weights);
  }
  // One outlier: it is cut off, and makes the largest number grow, but not without bound.
  training.setBatch(number++);
  training.input().data[17] = 1e30F;
  ASSERT_TRUE(training.run());
  EXPECT_EQ(training.number(amax), expected * 1024);
  EXPECT_EQ(training.number("output finite"), 1);
}

TEST(Fp8Scales, FollowTheLargestNumberInTheInterpreter) {
  Training training(std::make_unique<InterpreterRunner>(Rounding::Types), "optimize", "fp8");
  followLargestNumber(training);
}

TEST(Fp8Scales, FollowTheLargestNumberOnTheCpu) {
  Training training(std::make_unique<CpuRunner>(2), "schedule", "fp8");
  followLargestNumber(training);
}

/// The losses over the first and the last of many batches.
static std::pair<double, double> learn(StringRef compute) {
  Training training(std::make_unique<CpuRunner>(2), "schedule", compute);
  if (!training.isReady()) return {NAN, NAN};
  double first = 0, last = 0;
  for (int number = 0; number < 400; ++number) {
    training.setBatch(number);
    if (!training.run()) return {NAN, NAN};
    if (number == 0) first = training.number("output total");
    if (number >= 380) last += training.number("output total") / 20;
  }
  return {first, last};
}

TEST(Fp8Scales, AModelLearnsAsInF32) {
  auto [start, full] = learn("f32");
  double low = learn("fp8").second;
  EXPECT_LT(full, start / 10);
  // Products are exact to some percents, so the loss has a floor of the square of that.
  EXPECT_LT(low, 1.2 * full + 0.003 * start);
}
