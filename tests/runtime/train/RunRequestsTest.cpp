// Ranks decide alike, whichever of them was asked; one rank asks nobody.

#include "runtime/train/RunRequests.h"
#include "tests/runtime/ranks/ThreadRanks.h"

#include <csignal>

using namespace tessera::tests;

namespace {

void readNothing() {}

TEST(SharedRequests, AStopOfOneRankIsThatOfAll) {
  onRanks(4, [](HostCommunicator &world) {
    SharedRequests::Own own;
    SharedRequests requests(world, [&] { return own; });
    EXPECT_EQ(requests.next("batch", readNothing), 0);
    if (world.rank() == 2) own.stop = SIGTERM;
    EXPECT_EQ(requests.stop(), 0) << "before the others know";
    EXPECT_EQ(requests.next("batch", readNothing), SIGTERM);
    EXPECT_EQ(requests.stop(), SIGTERM);
  });
}

TEST(SharedRequests, ASaveOfOneRankIsThatOfAllUntilItIsDone) {
  onRanks(3, [](HostCommunicator &world) {
    SharedRequests::Own own;
    SharedRequests requests(world, [&] { return own; });
    own.save = world.rank() == 1;
    EXPECT_FALSE(requests.save());
    requests.next("batch", readNothing);
    own.save = false; // rank 1 may be asked only once
    EXPECT_TRUE(requests.save());
    requests.next("batch", readNothing);
    EXPECT_TRUE(requests.save());
    requests.clearSave();
    requests.next("batch", readNothing);
    EXPECT_FALSE(requests.save());
  });
}

TEST(SharedRequests, AnErrorOfOneRankIsThrownOnAllAfterAllHaveRead) {
  onRanks(3, [](HostCommunicator &world) {
    SharedRequests requests(world, [] { return SharedRequests::Own{}; });
    bool hasRead = false;
    EXPECT_EQ(messageOf([&] {
                requests.next("batch", [&] {
                  hasRead = true;
                  if (world.rank() == 1) fail("{} was changed", "x.csv");
                });
              }),
              "rank 1: x.csv was changed");
    EXPECT_TRUE(hasRead);
  });
}

TEST(SharedRequests, OneRankReadsNothingOnceItIsToStop) {
  OneRank world;
  SharedRequests::Own own;
  SharedRequests requests(world, [&] { return own; });
  int reads = 0;
  EXPECT_EQ(requests.next("batch", [&] { ++reads; }), 0);
  own = {SIGINT, true};
  EXPECT_EQ(requests.stop(), SIGINT);
  EXPECT_TRUE(requests.save());
  EXPECT_EQ(requests.next("batch", [&] { ++reads; }), SIGINT);
  EXPECT_EQ(reads, 1);
  EXPECT_EQ(world.traffic().collectives, 0);
}

TEST(RunRequestsTest, MinutesCountFromTheLastCheckpoint) {
  OneRank world;
  RunRequests requests(world);
  EXPECT_FALSE(requests.save());
  requests.setMinutes(1e-9);
  EXPECT_TRUE(requests.save());
  requests.setMinutes(10);
  requests.saving();
  EXPECT_FALSE(requests.save());
}

} // namespace
