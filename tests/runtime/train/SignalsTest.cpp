// Simultaneous stop requests count once; a later one ends the process.

#include "runtime/train/Signals.h"
#include "runtime/base/ReplacementFile.h"
#include "tests/runtime/TemporaryFolder.h"

#include <csignal>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace tessera::runtime;
using namespace tessera::tests;

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
  TemporaryFolder folder;
  auto stopTwice = [&] {
    Signals signals;
    ReplacementFile file(folder / "a");
    raise(SIGTERM);
    usleep(1'200'000);
    raise(SIGTERM);
    _exit(0);
  };
  EXPECT_EXIT(stopTwice(), testing::KilledBySignal(SIGTERM), "");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

TEST(Signals, HandlersHaveAStackOfTheirOwn) {
  Signals signals;
  stack_t stack = {};
  ASSERT_EQ(sigaltstack(nullptr, &stack), 0);
  EXPECT_FALSE(stack.ss_flags & SS_DISABLE);
  for (int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    struct sigaction action = {};
    ASSERT_EQ(sigaction(signal, nullptr, &action), 0);
    EXPECT_TRUE(action.sa_handler == SIG_IGN || action.sa_flags & SA_ONSTACK) << signal;
  }
}

} // namespace
