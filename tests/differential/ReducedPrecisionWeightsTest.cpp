//===- ReducedPrecisionWeightsTest.cpp - weights in bf16, rounded at random -===//

#include "tests/differential/CompiledModel.h"
#include "tests/differential/CpuCheck.h"
#include "tests/differential/CpuRunner.h"
#include "tests/differential/RandomGraph.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

/// The gradient of every weight is 1, and the rate a sixteenth of the step from 1 to the next lower number of bf16.
static std::string driftingModel() {
  return R"(
dim batch, a = 2048
model m(x[batch]) -> [batch] {
  weight w [a] = 1
  x * sum[a](w)
}
train m {
  data d = csv(train = "none", batch = 2, x = float(column = 0))
  loss l = mean[batch](m(d.x) / d.x)
  optimize sgd(lr = 0.000244140625) on **
  compute(bf16, weights = bf16)
  stop(after = 10)
}
)";
}

static void expectToDrift(Runner &runner, ModuleOp module) {
  ASSERT_TRUE(succeeded(runner.load(module)));
  auto init = module.lookupSymbol<func::FuncOp>("init"), step = module.lookupSymbol<func::FuncOp>("step");
  FailureOr<Values> state = runner.run("init", makeInputs(init, 0));
  ASSERT_TRUE(succeeded(state));
  Values values = *state;
  for (auto &[name, value] : makeInputs(step, 1)) values[name] = value;
  for (double &number : values.at("input d.x").data) number = 1;
  constexpr int steps = 64;
  constexpr double rate = 0x1p-12;
  for (int i = 0; i < steps; ++i) {
    FailureOr<Values> next = runner.run("step", values);
    ASSERT_TRUE(succeeded(next));
    for (auto &[name, value] : *next)
      if (StringRef(name).starts_with("state ")) values[name] = value;
  }
  const std::vector<double> &w = values.at("state w").data;
  double mean = 0;
  bool differs = false;
  for (double number : w) {
    EXPECT_EQ(number, roundTo(number, BFloat16Type::get(module.getContext())));
    mean += number / static_cast<double>(w.size());
    differs |= number != w.front();
  }
  EXPECT_TRUE(differs) << "every weight was rounded alike";
  // To the nearest it would be 1 for ever. A weight takes one of some 4 steps of 2^-8 down with chance 1/16 a time: a
  // deviation of 2^-8 · sqrt(64 · 15 / 256), and of the mean of 2048 of them a 45th of that, 1.7e-4. Allowed are five.
  EXPECT_NEAR(mean, 1 - steps * rate, 5 * 1.7e-4);
}

TEST(ReducedPrecisionWeights, MoveOnAverageByWhatTheNearestNumberWouldLose) {
  MLIRContext context;
  OwningOpRef<ModuleOp> optimized = compileTo(context, driftingModel(), "optimize");
  ASSERT_TRUE(optimized);
  InterpreterRunner interpreter(Rounding::Types);
  expectToDrift(interpreter, *optimized);
  OwningOpRef<ModuleOp> scheduled = compileTo(context, driftingModel(), "schedule");
  ASSERT_TRUE(scheduled);
  CpuRunner cpu(2);
  expectToDrift(cpu, *scheduled);
}

TEST(ReducedPrecisionWeights, TrainOnTheCpuAsInTheInterpreter) {
  MLIRContext context;
  OwningOpRef<ModuleOp> optimized = compileTo(context, R"(
use nn: relu, layer_norm
dim batch, a = 12, b = 40, layer = 3
fn block(x[.., a]) {
  weight up [a, b] = normal(0.3)
  weight down [b, a] = normal(0.3)
  bias c [b]
  x + sum[b](relu(sum[a](layer_norm[a](x) * up) + c) * down)
}
model m(x[batch, a]) -> [batch, a] {
  repeat[layer](y = x) { h: block(y) }
}
train m {
  data d = csv(train = "none", batch = 16, x = float[a](column = 0), y = float[a](column = 12))
  loss mse = mean[batch, a]((m(d.x) - d.y)^2)
  optimize adamw(lr = 0.01, decay = 0.1) on **
  compute(bf16, weights = bf16)
  stop(after = 10)
}
)",
                                              "optimize");
  ASSERT_TRUE(optimized);
  EXPECT_EQ(checkOnCpu(*optimized, 2), "");
}

/// Weights are stored in bf16 alone: there is neither a bf16 copy nor a master copy.
TEST(ReducedPrecisionWeights, AreAllThatThereIsOfThem) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = compileTo(context, driftingModel(), "precision");
  ASSERT_TRUE(module);
  for (auto state : module->getOps<StateOp>())
    EXPECT_EQ(state.getTensorType().getElementType().isBF16(), state.getKind() == "weight") << state.getPath().str();
  module->walk([&](CastOp cast) {
    EXPECT_FALSE(isa<BlockArgument>(cast.getX()) && cast.getType().getElementType().isBF16() &&
                 cast.getX().getType().hasAxis("a"))
        << "a parameter is cast to bf16";
  });
}
