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

TEST(Signals, HangupBeginsAStopAndDoesNotCountAsItsFirstSignal) {
  auto hangUp = [] {
    Signals signals;
    raise(SIGHUP);
    usleep(1'200'000);
    raise(SIGHUP);
    raise(SIGINT);
    if (signals.stopRequested() == SIGHUP) fprintf(stderr, "goes on");
    usleep(1'200'000);
    raise(SIGINT);
    _exit(0);
  };
  EXPECT_EXIT(hangUp(), testing::KilledBySignal(SIGINT), "goes on");
}

TEST(Signals, SaveRequestsWaitForTheRun) {
  auto save = [] {
    holdSaveRequests();
    raise(SIGUSR1);
    Signals signals;
    _exit(signals.saveRequested() ? 7 : 0);
  };
  EXPECT_EXIT(save(), testing::ExitedWithCode(7), "");
  auto release = [] {
    holdSaveRequests();
    raise(SIGUSR1);
    releaseSaveRequests();
    _exit(0);
  };
  EXPECT_EXIT(release(), testing::KilledBySignal(SIGUSR1), "");
}

TEST(Signals, ARunThatIsOverIgnoresThem) {
  auto afterStop = [] {
    {
      Signals signals;
      raise(SIGTERM);
      signals.finish();
      raise(SIGUSR1);
    }
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) raise(signal);
    _exit(7);
  };
  EXPECT_EXIT(afterStop(), testing::ExitedWithCode(7), "");
  auto afterEnd = [] { // nobody asked to stop: Ctrl-C has its usual effect
    {
      Signals signals;
      signals.finish();
    }
    raise(SIGUSR1);
    raise(SIGINT);
    _exit(7);
  };
  EXPECT_EXIT(afterEnd(), testing::KilledBySignal(SIGINT), "");
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
