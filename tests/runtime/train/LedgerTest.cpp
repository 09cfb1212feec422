// A run ends with its median step beside what was predicted.

#include "runtime/train/Ledger.h"
#include "runtime/machine/MachineMemory.h"

#include <gtest/gtest.h>

#include <thread>

using namespace tessera::runtime;

namespace {

void sleepFor(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

TEST(Ledger, TheFirstStepDoesNotCount) {
  Ledger ledger;
  EXPECT_EQ(ledger.seconds(), std::nullopt);
  EXPECT_EQ(ledger.describe({}), "");
  sleepFor(20);
  ledger.step();
  EXPECT_EQ(ledger.seconds(), std::nullopt);
  EXPECT_EQ(ledger.describe({}), "");
  ledger.step();
  ASSERT_TRUE(ledger.seconds());
  EXPECT_LT(*ledger.seconds(), 0.02);
}

TEST(Ledger, TakesTheMedian) {
  Ledger ledger;
  ledger.step();
  for (int milliseconds : {20, 20, 300, 20, 0}) sleepFor(milliseconds), ledger.step();
  EXPECT_GE(*ledger.seconds(), 0.0199);
  EXPECT_LT(*ledger.seconds(), 0.25);
}

TEST(Ledger, PausesDoNotCount) {
  Ledger ledger;
  ledger.step();
  for (int step = 0; step < 3; ++step) {
    sleepFor(300);
    ledger.skip();
    ledger.step();
  }
  EXPECT_LT(*ledger.seconds(), 0.15);
}

/// Of more steps than are kept, the first ones are forgotten.
TEST(Ledger, OfLongRunsTheLastStepsCount) {
  Ledger ledger;
  ledger.step();
  for (int step = 0; step < 20; ++step) sleepFor(2), ledger.step();
  for (int step = 0; step < 10000; ++step) ledger.step();
  EXPECT_LT(*ledger.seconds(), 0.001);
}

/// What a library between ranks keeps for itself is not predicted.
TEST(Ledger, SaysWhatIsNotPredictedOnRanks) {
  Ledger ledger;
  for (int step = 0; step < 3; ++step) ledger.step();
  Manifest manifest;
  EXPECT_EQ(ledger.describe(manifest).find("not counting"), std::string::npos);
  manifest.target.ranks.mesh = {{"data", 2}};
  EXPECT_TRUE(ledger.describe(manifest).ends_with(" at most, not counting what MPI or NCCL allocate"));
}

/// The text of a run whose median step takes about 20 ms.
std::string textFor(const std::string &source, double seconds, double least, double most) {
  Ledger ledger;
  ledger.step();
  for (int step = 0; step < 3; ++step) sleepFor(20), ledger.step();
  Manifest manifest;
  manifest.predicted.source = source;
  if (!source.empty()) {
    PredictedEntry &step = manifest.predicted.entries["step"];
    step.seconds = seconds, step.least = least, step.most = most;
  }
  return ledger.describe(manifest);
}

TEST(Ledger, ComparesCalibratedPredictions) {
  for (const char *source : {"calibrated", "data sheet"}) {
    std::string text = textFor(source, 1e-3, 0.9e-3, 1.1e-3);
    EXPECT_NE(text.find(" times the predicted 1.00 ms"), std::string::npos) << text;
    EXPECT_EQ(text.find("calibrated"), std::string::npos) << text;
    text = textFor(source, 10, 9, 11);
    EXPECT_NE(text.find(" times the predicted 10.0 s"), std::string::npos) << text;
    text = textFor(source, 0.021, 0.02, 0.022);
    EXPECT_NE(text.find(" the predicted 21.0 ms"), std::string::npos) << text;
  }
}

/// Predictions are of compiled code. Where a run does much else, the time of that code is compared.
TEST(Ledger, TellsCompiledCodeFromWhatIsBetweenSteps) {
  using std::chrono::microseconds;
  auto textFor = [](microseconds inCode) {
    Ledger ledger;
    for (int step = 0; step < 5; ++step) sleepFor(20), ledger.ran(inCode), ledger.step();
    Manifest manifest;
    manifest.predicted.source = "calibrated";
    manifest.predicted.entries["step"].seconds = 1e-3;
    return ledger.describe(manifest);
  };
  std::string text = textFor(microseconds(1100));
  EXPECT_NE(text.find(" ms a step, 1.10 ms of them in compiled code, 10.0 % above the predicted 1.00 ms"),
            std::string::npos)
      << text;
  text = textFor(microseconds(20'000));
  EXPECT_EQ(text.find("compiled code"), std::string::npos) << text;
  EXPECT_NE(text.find(" times the predicted 1.00 ms"), std::string::npos) << text;
}

TEST(Ledger, SaysThatADeviceIsNotCalibrated) {
  std::string text = textFor("assumed", 0.02, 0.005, 0.06);
  EXPECT_NE(text.find(" ms a step, predicted 5.00 ms to 60.0 ms: the device is not calibrated"), std::string::npos)
      << text;
  EXPECT_EQ(text.find('%'), std::string::npos) << text;
}

TEST(Ledger, WithoutAPredictionItSaysWhatWasMeasured) {
  std::string text = textFor("", 0, 0, 0);
  EXPECT_NE(text.find(" ms a step"), std::string::npos) << text;
  EXPECT_EQ(text.find(" ms a step, predicted"), std::string::npos) << text;
}

TEST(Ledger, ComparesMemory) {
  EXPECT_GT(anonymousMemory(), 1 << 16);
  Ledger ledger;
  ledger.setHeld(int64_t(3) << 30);
  ledger.step(), ledger.step();
  Manifest manifest;
  std::string text = ledger.describe(manifest);
  EXPECT_NE(text.find("of memory, predicted "), std::string::npos) << text;
  EXPECT_NE(text.find(" GiB at most"), std::string::npos) << text;
  manifest.target.architectures = {"sm_90"};
  text = ledger.describe(manifest);
  EXPECT_NE(text.find("of memory of the host, predicted "), std::string::npos) << text;
}

} // namespace
