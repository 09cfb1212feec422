// A loss that explodes is noticed once; noise, spikes and slow growth are not.

#include "runtime/train/LossGrowth.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace tessera::runtime;

namespace {

StepReport at(int64_t step, double total, double rate = 0.5) {
  StepReport report;
  report.step = step, report.total = total, report.rate = rate, report.hasRate = true;
  return report;
}

/// The warnings of a run whose loss at each step is `loss(step)`.
template <typename Loss> std::vector<std::string> warnings(double rowsPerStep, Loss loss, int64_t steps = 1000) {
  LossGrowth growth;
  growth.begin(rowsPerStep);
  std::vector<std::string> said;
  for (int64_t step = 1; step <= steps; ++step)
    if (auto warning = growth.note(at(step, loss(step)))) said.push_back(*warning);
  return said;
}

TEST(LossGrowth, WarnsOnceOfAnExplosion) {
  auto said = warnings(32, [](int64_t step) { return std::min(1e30, 2 * std::pow(3.0, step - 1)); });
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("the loss was 2 at the start"), std::string::npos) << said[0];
  EXPECT_NE(said[0].find("the learning rate (0.5) is probably too large"), std::string::npos) << said[0];
  EXPECT_EQ(warnings(32, [](int64_t step) { return step == 1 ? 2.3 : 200; }).size(), 1u); // in the first step
}

TEST(LossGrowth, BlamesANegativeRateForItsSign) {
  LossGrowth growth;
  growth.begin(32);
  std::string said;
  for (int64_t step = 1; step < 50; ++step)
    if (auto warning = growth.note(at(step, std::pow(3.0, step), -0.132))) said = *warning;
  EXPECT_NE(said.find("the learning rate (-0.132) is negative"), std::string::npos) << said;
  EXPECT_EQ(said.find("too large"), std::string::npos) << said;
}

TEST(LossGrowth, TakesTheFirstEvaluationAsTheStartIfItIsLarger) {
  LossGrowth growth;
  growth.begin(1);
  growth.noteStart(100);
  for (int64_t step = 1; step < 100; ++step) EXPECT_FALSE(growth.note(at(step, step == 1 ? 0.001 : 150)));
  growth.noteStart(1); // too late: not of the start
  EXPECT_EQ(growth.describe(), "");
}

TEST(LossGrowth, IsSilentOtherwise) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  auto squared = [&](int64_t) { return std::pow(normal(random), 2); }; // of one row
  for (int run = 0; run < 200; ++run) EXPECT_TRUE(warnings(1, squared).empty()) << run;
  EXPECT_TRUE(warnings(32, [](int64_t step) { return step % 10 == 0 ? 1.0 : 1e6; }).empty()); // spikes
  EXPECT_TRUE(warnings(32, [](int64_t step) { return 1 + 0.008 * step; }).empty());           // slow growth
  EXPECT_TRUE(warnings(32, [](int64_t step) { return -5.0 + step; }).empty());                // log-likelihood
  EXPECT_TRUE(warnings(32, [](int64_t step) { return step == 1 ? 0.0 : 5.0; }).empty());      // no scale
  EXPECT_TRUE(warnings(32, [](int64_t) { return std::nan(""); }).empty());                    // not finite
}

} // namespace
