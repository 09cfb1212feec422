//===- LossScalingTest.cpp - non-finite steps under a loss scale -------------===//
//
// A small model is trained in fp16. In a hundred of its steps a value of the batch is infinite or NaN: such a step
// must change only the counters and the scale.
//
//===----------------------------------------------------------------------===//

#include "tests/differential/CompiledModel.h"
#include "tests/differential/CpuRunner.h"
#include "tests/differential/RandomGraph.h"
#include "gtest/gtest.h"
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

static constexpr const char *model = R"(
use nn: relu
dim batch, a = 6, b = 20

model m(x[batch, a]) -> [batch, a] {
  weight w [a, b] = normal(0.3)
  weight v [b, a] = normal(0.3)
  bias c [b]
  state seen [] = 0
  state mu [b] = 0
  let h = sum[a](x * w)
  seen := seen + 1
  mu := 0.9 * mu + 0.1 * mean[batch](h)
  sum[b](relu(h - mu + c) * v)
}

train m {
  data d = csv(train = "none", batch = 8, x = float[a](column = 0), y = float[a](column = 6))
  loss mse = mean[batch, a]((m(d.x) - d.y)^2)
  optimize adamw(lr = 0.01, decay = 0.1) on **
  compute(fp16)
  stop(after = 10)
}
)";

static double numberOf(const Values &values, const std::string &name) { return values.at(name).data[0]; }

/// Parameters, moments and the model's states; all other state is counters.
static bool isLearned(StringRef name) {
  return name.starts_with("state ") && !name.contains("step") && !name.contains("scale") && !name.contains("seed");
}

static void train(Runner &runner, ModuleOp module, int steps, int injected) {
  ASSERT_TRUE(succeeded(runner.load(module)));
  auto init = module.lookupSymbol<func::FuncOp>("init"), step = module.lookupSymbol<func::FuncOp>("step");
  FailureOr<Values> state = runner.run("init", makeInputs(init, 0));
  ASSERT_TRUE(succeeded(state));
  EXPECT_EQ(numberOf(*state, "state loss_scale"), 65536);

  Choices choices(7);
  double scale = 65536;
  int skipped = 0, learned = 0, clean = 0;
  for (int number = 0; number < steps; ++number) {
    Values values = *state;
    for (auto &[name, value] : makeInputs(step, number)) values[name] = value;
    bool isBad = choices.integer(0, steps - 1 - number) < injected - skipped;
    if (isBad) {
      double bad[] = {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                      std::numeric_limits<double>::quiet_NaN()};
      std::vector<double> &data = values.at(choices.oneIn(2) ? "input d.x" : "input d.y").data;
      data[choices.integer(0, static_cast<int>(data.size()) - 1)] = bad[choices.integer(0, 2)];
    }
    FailureOr<Values> next = runner.run("step", values);
    ASSERT_TRUE(succeeded(next));
    skipped += isBad, learned += !isBad;
    clean = isBad ? 0 : clean + 1;
    if (isBad) scale = std::max(scale / 2, 0x1p-24);
    SCOPED_TRACE(testing::Message() << "step " << number << (isBad ? ", not finite" : ""));
    EXPECT_EQ(numberOf(*next, "state loss_scale"), scale);
    EXPECT_EQ(numberOf(*next, "output loss_scale"), scale);
    EXPECT_EQ(numberOf(*next, "state clean_steps"), clean);
    EXPECT_EQ(numberOf(*next, "state skipped_steps"), skipped);
    EXPECT_EQ(numberOf(*next, "output skipped"), skipped);
    EXPECT_EQ(numberOf(*next, "output finite"), !isBad);
    EXPECT_EQ(numberOf(*next, "state step"), number + 1);
    EXPECT_EQ(numberOf(*next, "state seen"), learned);
    for (auto &[name, value] : *next) {
      if (StringRef(name).starts_with("state ")) {
        // Bit for bit: numbers are compared as they are, and none of them is NaN.
        if (isLearned(name) && isBad) EXPECT_EQ(value.reordered((*state)[name].type).data, (*state)[name].data) << name;
        if (name == "state w" && !isBad) EXPECT_NE(value.reordered((*state)[name].type).data, (*state)[name].data);
        (*state)[name] = value;
      }
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_EQ(skipped, injected);
  EXPECT_EQ(learned, steps - injected);
}

/// 100 of 250 steps are not finite.
static void trainFrom(StringRef phase, Runner &&runner) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = compileTo(context, model, phase);
  ASSERT_TRUE(module);
  train(runner, *module, 250, 100);
}

TEST(LossScaling, AStepThatIsNotFiniteChangesNothingInTheInterpreter) {
  trainFrom("optimize", InterpreterRunner(Rounding::Types));
}

TEST(LossScaling, AStepThatIsNotFiniteChangesNothingOnTheCpu) { trainFrom("schedule", CpuRunner(2)); }

/// After 2000 clean steps the scale doubles.
TEST(LossScaling, GrowsAgain) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = compileTo(context, model, "schedule");
  ASSERT_TRUE(module);
  CpuRunner runner(2);
  ASSERT_TRUE(succeeded(runner.load(*module)));
  auto init = module->lookupSymbol<func::FuncOp>("init"), step = module->lookupSymbol<func::FuncOp>("step");
  FailureOr<Values> state = runner.run("init", makeInputs(init, 0));
  ASSERT_TRUE(succeeded(state));
  Values values = *state;
  for (auto &[name, value] : makeInputs(step, 1)) values[name] = value;
  values.at("state clean_steps").data[0] = 1998;
  for (double expected : {65536.0, 131072.0, 131072.0}) {
    FailureOr<Values> next = runner.run("step", values);
    ASSERT_TRUE(succeeded(next));
    EXPECT_EQ(numberOf(*next, "state loss_scale"), expected);
    for (auto &[name, value] : *next)
      if (StringRef(name).starts_with("state ")) values[name] = value;
  }
  EXPECT_EQ(numberOf(values, "state clean_steps"), 1);
}
