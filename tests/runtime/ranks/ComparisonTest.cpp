// The rank that is not like the first one is named, with what differs.

#include "runtime/ranks/Comparison.h"
#include "tests/runtime/ranks/ThreadRanks.h"

using namespace tessera::tests;

namespace {

TEST(ComparisonTest, NamesTheRankAndTheItemThatDiffer) {
  onRanks(3, [](HostCommunicator &world) {
    auto said = [&](const std::string &steps, const std::string &seed) {
      return messageOf([&] {
        requireEqual(world, {{"the program", "a"}, {"the option --steps", steps}, {"the option --seed", seed}},
                     "start all alike");
      });
    };
    EXPECT_EQ(said("1", "2"), "no error");
    bool isOther = world.rank() == 2;
    EXPECT_EQ(said(isOther ? "3" : "1", isOther ? "4" : "2"),
              "rank 2: the option --steps is not the same as on rank 0; start all alike");
    EXPECT_EQ(said("1", world.rank() == 0 ? "" : "2"),
              "rank 1: the option --seed is not the same as on rank 0; start all alike");
  });
}

TEST(ComparisonTest, OneRankExchangesNothing) {
  OneRank world;
  requireEqual(world, {{"the program", "a"}}, "");
  EXPECT_EQ(world.traffic().collectives, 0);
}

} // namespace
