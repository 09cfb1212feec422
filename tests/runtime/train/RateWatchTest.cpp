// Learning rates below zero, and zeros for a large part of a run, are noticed once; warm-ups are not.

#include "runtime/train/RateWatch.h"

#include <gtest/gtest.h>

using namespace tessera::runtime;

namespace {

/// The warnings of a run whose learning rate at each step is `rate(step)`.
template <typename Rate> std::vector<std::string> warnings(int64_t steps, Rate rate, int64_t first = 1) {
  RateWatch watch;
  watch.begin(steps);
  std::vector<std::string> said;
  for (int64_t step = first; step <= steps; ++step) {
    StepReport report;
    report.step = step, report.rate = rate(step), report.hasRate = true;
    if (auto warning = watch.note(report)) said.push_back(*warning);
  }
  return said;
}

TEST(RateWatch, WarnsOnceOfANegativeRate) {
  auto said = warnings(200, [](int64_t step) { return 0.1 - 0.001 * static_cast<double>(step - 1); });
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("negative, -0.001, at step 102"), std::string::npos) << said[0];
}

TEST(RateWatch, WarnsOfARunWithoutARate) {
  auto said = warnings(300, [](int64_t) { return 0.0; });
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("the learning rate is 0 at steps 1 to 10: nothing is learned"), std::string::npos) << said[0];
  EXPECT_EQ(warnings(3, [](int64_t) { return 0.0; }).size(), 1u);
}

TEST(RateWatch, WarnsOfAScheduleThatEndsBeforeTheRun) {
  auto said = warnings(300, [](int64_t step) { return step <= 30 ? 0.01 : 0.0; });
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("the learning rate is 0 since step 31, and the run has 300 steps"), std::string::npos);
  EXPECT_NE(said[0].find("in the 270 steps from there on; let the schedule end at step 300"), std::string::npos);
  EXPECT_NE(said[0].find("or the run at step 30"), std::string::npos) << said[0];
  EXPECT_EQ(warnings(300, [](int64_t step) { return step <= 30 ? 0.01 : 0.0; }, 100).size(), 1u); // resumed
}

TEST(RateWatch, IsSilentOtherwise) {
  EXPECT_TRUE(warnings(1, [](int64_t) { return 0.0; }).empty());                                         // of a warm-up
  EXPECT_TRUE(warnings(300, [](int64_t step) { return 0.01 * static_cast<double>(step - 1); }).empty()); // warm-up
  EXPECT_TRUE(warnings(300, [](int64_t step) { return step <= 280 ? 0.01 : 0.0; }).empty());             // the end
  EXPECT_TRUE(warnings(300, [](int64_t step) { return step % 20 == 0 ? 0.0 : 0.01; }).empty());          // restarts
}

} // namespace
