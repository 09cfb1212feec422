// Ranks that do not come are named on all others. What mpirun makes of it: MpirunTest.cpp.

#include "runtime/ranks/Watchdog.h"
#include "tests/runtime/ranks/ThreadRanks.h"

#include <gmock/gmock.h>

#include <future>
#include <unistd.h>

using namespace tessera::tests;
using namespace std::chrono_literals;
using testing::AllOf, testing::HasSubstr, testing::MatchesRegex;

namespace {

/// How a watchdog ended its process.
struct Ending {
  ExitStatus status = ExitStatus::Done;
  std::string reason;
};

/// A watchdog that tells how it ends its process, and does not end it.
class Watched {
public:
  explicit Watched(HostCommunicator &world, std::chrono::milliseconds timeout = 300ms)
      : watchdog(world,
                 {timeout, /*grace=*/500ms, /*connect=*/20s,
                  [this](ExitStatus status, const std::string &reason) { ending.set_value({status, reason}); }}) {}

  /// Waits for the end of the process, and returns it; a test that waits for longer fails.
  Ending end() { return hasEnded(20s) ? future.get() : Ending{ExitStatus::Done, "the process did not end"}; }
  bool hasEnded(std::chrono::milliseconds limit) { return future.wait_for(limit) == std::future_status::ready; }

private:
  std::promise<Ending> ending;
  std::future<Ending> future = ending.get_future();

public:
  Watchdog watchdog;
};

std::string describe(int rank, int ranks) {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  return fmt::format("rank {} of {} (process {} on {})", rank, ranks, getpid(), std::string(host).substr(0, 63));
}

/// `own` of `ranks` ends, because rank 2 is lost as `what` says.
void expectLost(Watched &watched, int own, int ranks, const std::string &what, const std::string &position) {
  Ending ending = watched.end();
  EXPECT_EQ(ending.status, ExitStatus::RankLost);
  EXPECT_THAT(ending.reason, AllOf(testing::StartsWith(fmt::format("rank {}: {} {}", own, describe(2, ranks), what)),
                                   HasSubstr("; this rank is " + position)));
}

TEST(WatchdogTest, NamesARankThatDoesNotAnswer) {
  onRanks(3, [](HostCommunicator &world) {
    if (world.rank() == 2) { // connected, but as if its process were stopped
      Peers stopped(world, 20s);
      world.barrier("all others have ended");
      return;
    }
    Watched watched(world);
    watched.watchdog.begin("weights", {});
    watched.watchdog.end();
    watched.watchdog.begin("gradients", {});
    expectLost(watched, world.rank(), 3, "does not answer", "in collective 2, 'gradients', for ");
    world.setObserver(nullptr);
    world.barrier("all others have ended");
  });
}

TEST(WatchdogTest, NamesARankThatDiedAtOnce) {
  onRanks(4, [](HostCommunicator &world) {
    if (world.rank() == 2) {
      Peers died(world, 20s);
      return;
    }
    Watched watched(world, /*timeout=*/0ms);
    expectLost(watched, world.rank(), 4, "has died", "before its first collective");
  });
}

TEST(WatchdogTest, NamesARankThatIsLate) {
  onRanks(3, [](HostCommunicator &world) {
    Watched watched(world);
    watched.watchdog.begin("weights", {});
    watched.watchdog.end();
    bool isLate = world.rank() == 2;
    if (!isLate) watched.watchdog.begin("gradients", {});
    expectLost(watched, world.rank(), 3,
               "has not come to collective 2, 'gradients', within 0.3 s (--rank-timeout): it is after collective 1, "
               "'weights', for ",
               isLate ? "after collective 1, 'weights', for " : "in collective 2, 'gradients', for ");
  });
}

TEST(WatchdogTest, NamesTheLastOfThoseThatWaitForEachOther) {
  // Rank 2 is late for its group's collective; rank 1 waits there, and rank 0 for rank 1 in the next one.
  onRanks(3, [](HostCommunicator &world) {
    Watched watched(world);
    for (int i = world.rank(); i < 2; ++i) {
      watched.watchdog.begin("gradients", {});
      if (i < 1) watched.watchdog.end();
    }
    Ending ending = watched.end();
    EXPECT_THAT(ending.reason, HasSubstr(describe(2, 3) + " has not come to collective "));
    EXPECT_THAT(ending.reason, HasSubstr("it is before its first collective"));
  });
}

TEST(WatchdogTest, NamesACollectiveThatIsNotOver) {
  onRanks(2, [](HostCommunicator &world) {
    Watched watched(world);
    watched.watchdog.begin("gradients", {});
    EXPECT_THAT(watched.end().reason,
                HasSubstr("all ranks answer, but collective 1, 'gradients', is not over within 0.3 s (--rank-timeout): "
                          "the network is stuck or slow; this rank is in collective 1, 'gradients', for "));
  });
}

TEST(WatchdogTest, AddsTheTimeOfComputation) {
  onRanks(2, [](HostCommunicator &world) {
    Watched watched(world);
    watched.watchdog.begin("a call", 700ms);
    EXPECT_THAT(watched.end().reason, HasSubstr("collective 1, 'a call', is not over within 1.0 s (--rank-timeout)"));
  });
}

TEST(WatchdogTest, NamesRanksInAnotherCollective) {
  onRanks(2, [](HostCommunicator &world) {
    Watched watched(world);
    watched.watchdog.begin(world.rank() == 0 ? "gradients" : "weights", {});
    EXPECT_THAT(watched.end().reason, HasSubstr("is in another collective: expected '"));
  });
}

TEST(WatchdogTest, WaitsForARankThatIsBusyBetweenCollectives) {
  onRanks(2, [](HostCommunicator &world) {
    Watched watched(world);
    if (world.rank() == 1) watched.watchdog.allowAlways(1'200ms);
    watched.watchdog.begin("sizes", {}); // ends a single allowance
    watched.watchdog.end();
    if (world.rank() == 0) watched.watchdog.begin("hashes", {});
    EXPECT_FALSE(watched.hasEnded(800ms));
    EXPECT_THAT(watched.end().reason, HasSubstr(describe(1, 2) + " has not come to collective 2, 'hashes'"));
  });
}

TEST(WatchdogTest, WaitsForARankThatIsBusy) {
  onRanks(2, [](HostCommunicator &world) {
    Watched watched(world);
    if (world.rank() == 1) watched.watchdog.allow(1'200ms);
    if (world.rank() == 0) watched.watchdog.begin("gradients", {});
    EXPECT_FALSE(watched.hasEnded(800ms));
    // The allowance is not for ever.
    Ending ending = watched.end();
    EXPECT_THAT(ending.reason, HasSubstr(describe(1, 2) + " has not come to collective 1, 'gradients'"));
  });
}

TEST(WatchdogTest, ShortCollectivesAreNoConcern) {
  onRanks(3, [](HostCommunicator &world) {
    Watched watched(world);
    for (auto until = std::chrono::steady_clock::now() + 900ms; std::chrono::steady_clock::now() < until;) {
      watched.watchdog.begin("gradients", {});
      std::this_thread::sleep_for(10ms);
      watched.watchdog.end();
    }
    EXPECT_FALSE(watched.hasEnded(0ms));
    watched.watchdog.finish();
    EXPECT_FALSE(watched.hasEnded(0ms));
  });
}

TEST(WatchdogTest, RanksThatEndInOrderAreNotMissed) {
  onRanks(4, [](HostCommunicator &world) {
    Watched watched(world);
    world.barrier("all");
    std::this_thread::sleep_for(world.rank() * 100ms);
    watched.watchdog.finish();
    EXPECT_FALSE(watched.hasEnded(0ms));
  });
}

TEST(WatchdogTest, NamesARankThatHasEndedTooEarly) {
  onRanks(3, [](HostCommunicator &world) {
    Watched watched(world);
    if (world.rank() == 2) return watched.watchdog.finish();
    watched.watchdog.begin("gradients", {});
    expectLost(watched, world.rank(), 3, "has ended, although collective 1, 'gradients', is not over",
               "in collective 1, 'gradients'");
  });
}

TEST(WatchdogTest, ARankEndsTheOthersWithItsStatus) {
  onRanks(3, [](HostCommunicator &world) {
    Watched watched(world);
    world.barrier("all are connected");
    if (world.rank() == 1) return watched.watchdog.endOthers(ExitStatus::Fault);
    Ending ending = watched.end();
    EXPECT_EQ(ending.status, ExitStatus::Fault);
    EXPECT_EQ(ending.reason, ""); // the rank says it
  });
}

TEST(WatchdogTest, ShortensLongNames) {
  onRanks(2, [](HostCommunicator &world) {
    Watched watched(world);
    watched.watchdog.begin(std::string(1'000, 'x'), {});
    EXPECT_THAT(watched.end().reason,
                HasSubstr(fmt::format("all ranks answer, but collective 1, '{}', is not over", std::string(63, 'x'))));
  });
}

TEST(WatchdogTest, OneRankHasNobodyToWatch) {
  OneRank world;
  Watched watched(world);
  watched.watchdog.begin("gradients", {});
  EXPECT_FALSE(watched.hasEnded(600ms));
  watched.watchdog.finish();
}

} // namespace
