// The message that ends a run blames the learning rate only where it can be the reason.

#include "runtime/train/Divergence.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tessera::runtime;

namespace {

/// The message of a run that is finite, with a loss of `loss(step)`, up to step `finite`.
template <typename Loss> std::string messageAfter(int64_t finite, double rate, Loss loss) {
  Divergence divergence;
  divergence.lossGrowth().begin(32);
  int64_t step = 0;
  while (!divergence.isOver()) {
    StepReport report;
    report.step = ++step;
    report.finite = step <= finite;
    report.total = report.finite ? loss(step) : std::nan("");
    report.losses = {{"ce", report.total}};
    report.rate = rate, report.hasRate = true;
    report.gradNorm = 1, report.hasGradNorm = true;
    divergence.note(report);
    divergence.lossGrowth().note(report);
  }
  return divergence.describe(step, "");
}

bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

double steady(int64_t) { return 1; }
double growing(int64_t step) { return std::pow(3.0, step); }

TEST(Divergence, OfTheFirstStepIsThatOfAFormula) {
  std::string said = messageAfter(0, 0.1, steady);
  EXPECT_TRUE(has(said, "the first time at step 1, in the loss 'ce', though the gradients are finite;")) << said;
  EXPECT_TRUE(has(said, "no step before was finite: a formula is probably outside of its domain")) << said;
  EXPECT_FALSE(has(said, "lower the learning rate")) << said;
}

TEST(Divergence, AfterAGrowingLossIsThatOfTheRate) {
  std::string said = messageAfter(40, 0.1, growing);
  EXPECT_TRUE(has(said, "lower the learning rate or clip the gradients")) << said;
  EXPECT_FALSE(has(said, "formula")) << said;
  said = messageAfter(40, -0.1, growing);
  EXPECT_TRUE(has(said, "the learning rate was -0.1: let it stay above 0")) << said;
  EXPECT_FALSE(has(said, "lower")) << said;
}

TEST(Divergence, WithoutGrowthMayBeEither) {
  std::string said = messageAfter(40, 0.1, steady);
  EXPECT_TRUE(has(said, "lower the learning rate")) << said;
  EXPECT_TRUE(has(said, "since the loss did not grow before, a formula")) << said;
  said = messageAfter(40, 1e-8, steady);
  EXPECT_TRUE(has(said, "the learning rate, 1e-08, is hardly the reason")) << said;
  EXPECT_FALSE(has(said, "lower")) << said;
}

} // namespace
