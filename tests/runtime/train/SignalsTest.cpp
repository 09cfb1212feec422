// Simultaneous stop requests count once; a later one ends the process.

#include "runtime/train/Signals.h"

#include <csignal>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace tessera::runtime;

namespace {

TEST(Signals, SimultaneousSignalsAreOneRequest) {
  Signals signals;
  EXPECT_EQ(signals.stopRequested(), 0);
  raise(SIGTERM);
  raise(SIGTERM);
  raise(SIGINT);
  EXPECT_NE(signals.stopRequested(), 0);
}

TEST(Signals, SecondSignalEndsTheProcess) {
  auto stopTwice = [] {
    Signals signals;
    raise(SIGTERM);
    usleep(1'200'000);
    raise(SIGTERM);
    _exit(0);
  };
  EXPECT_EXIT(stopTwice(), testing::KilledBySignal(SIGTERM), "");
}

} // namespace
