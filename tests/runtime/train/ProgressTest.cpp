// The throughput shown is that of the steps.

#include "runtime/train/Progress.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

using namespace tessera::runtime;

namespace {

TEST(Progress, ThroughputExcludesOtherWork) {
  std::FILE *out = std::tmpfile();
  Progress::Plan plan;
  plan.lastStep = 100, plan.logEvery = 1, plan.perStep = 1, plan.out = out;
  Progress progress(plan);
  StepReport report;
  report.step = 1;
  progress.step(report);
  auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  progress.leaveOut(std::chrono::steady_clock::now() - begin);
  report.step = 2;
  progress.step(report);
  std::rewind(out);
  char line[200] = {};
  double speed = 0;
  ASSERT_TRUE(std::fgets(line, sizeof(line), out) && std::fgets(line, sizeof(line), out));
  const char *at = strstr(line, "step 2/100  ");
  ASSERT_NE(at, nullptr) << line;
  ASSERT_EQ(sscanf(at, "step 2/100    %lf", &speed), 1) << line;
  EXPECT_GT(speed, 1.5) << line; // with the second it would be below 1
  std::fclose(out);
}

TEST(Progress, NansHaveNoSign) { EXPECT_EQ(formatValues({{"a", -std::nan("")}, {"b", -1}}), "a nan, b -1"); }

} // namespace
