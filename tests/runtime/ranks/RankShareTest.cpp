// How ranks on one machine divide it.

#include "runtime/ranks/RankShare.h"
#include "runtime/ranks/RankMachines.h"
#include "tests/runtime/ranks/ThreadRanks.h"

#include <algorithm>
#include <sched.h>
#include <set>

using namespace tessera::tests;

namespace {

TEST(RankShareTest, DividesEvenly) {
  Processors processors = {0, 4, 1, 5, 2, 6, 3, 7};
  EXPECT_EQ(shareOf(processors, 800, 0, 1).processors, processors);
  EXPECT_EQ(shareOf(processors, 800, 1, 2).processors, (Processors{2, 6, 3, 7}));
  EXPECT_EQ(shareOf(processors, 800, 1, 4).processors, (Processors{1, 5}));
  EXPECT_EQ(shareOf(processors, 800, 1, 4).memory, 200);
  EXPECT_EQ(shareOf(processors, 800, 1, 4).threads(), 2);
}

TEST(RankShareTest, AllRanksHaveAsManyThreads) {
  for (int count = 1; count <= 9; ++count)
    for (int ranks = 1; ranks <= 12; ++ranks) {
      Processors processors;
      for (int i = 0; i < count; ++i) processors.push_back(10 + i);
      std::set<int> used;
      for (int rank = 0; rank < ranks; ++rank) {
        RankShare share = shareOf(processors, 0, rank, ranks);
        EXPECT_EQ(share.threads(), std::max(1, count / ranks));
        for (int processor : share.processors) {
          EXPECT_TRUE(std::count(processors.begin(), processors.end(), processor));
          if (ranks <= count) EXPECT_TRUE(used.insert(processor).second) << processor << " is used twice";
          used.insert(processor);
        }
      }
      // With more ranks than processors, none is idle.
      if (ranks >= count) EXPECT_EQ(used.size(), processors.size());
    }
}

TEST(RankShareTest, FollowsTheAffinityOfTheProcess) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  Processors processors = allowedProcessors();
  EXPECT_EQ(processors.size(), static_cast<size_t>(CPU_COUNT(&before)));
  std::thread([&] { // so that the process keeps its own
    restrictTo({processors.back()});
    EXPECT_EQ(allowedProcessors(), Processors{processors.back()});
  })
      .join();
  EXPECT_EQ(allowedProcessors(), processors);
  EXPECT_NE(messageOf([] { restrictTo({CPU_SETSIZE - 1}); }).find("cannot run on processors 1023 only: "),
            std::string::npos);
}

TEST(RankShareTest, RanksWithTheSameProcessorsShareThem) {
  int count = static_cast<int>(allowedProcessors().size());
  onRanks(2, [&](HostCommunicator &world) {
    RankShare share = agreeOnShare(world, allowedProcessors(), 1000 + world.rank());
    EXPECT_EQ(share.threads(), std::max(1, count / 2));
    EXPECT_EQ(share.memory, 500); // of the least that one saw
  });
}

TEST(RankShareTest, BoundRanksKeepTheirProcessors) {
  Processors processors = allowedProcessors();
  if (processors.size() < 2) GTEST_SKIP() << "this machine has one processor";
  onRanks(2, [&](HostCommunicator &world) {
    Processors own = {processors[world.rank()]};
    RankShare share = agreeOnShare(world, own, 1000);
    EXPECT_EQ(share.processors, own);
    EXPECT_EQ(share.memory, 500); // which is shared all the same
  });
}

TEST(RankShareTest, NoRankHasMoreThreadsThanAnother) {
  Processors processors = allowedProcessors();
  if (processors.size() < 2) GTEST_SKIP() << "this machine has one processor";
  onRanks(2, [&](HostCommunicator &world) {
    Processors own = world.rank() == 0 ? Processors{processors[0]} : processors;
    EXPECT_EQ(agreeOnShare(world, own, 0).threads(), 1);
  });
}

TEST(RankMachinesTest, RanksOfOneProcessAreOnOneMachine) {
  onRanks(3, [](HostCommunicator &world) { EXPECT_EQ(machinesOfRanks(world), (std::vector<int>{0, 0, 0})); });
}

} // namespace
