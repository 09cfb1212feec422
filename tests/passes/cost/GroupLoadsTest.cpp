//===- GroupLoadsTest.cpp - what links carry for groups of ranks ----------===//

#include "passes/cost/GroupLoads.h"
#include <gtest/gtest.h>
#include <random>
#include <string>

using namespace tessera;

namespace {

std::string text(const GroupsOnMachines &groups) {
  return std::to_string(groups.ranks) + " ranks, " + std::to_string(groups.size) + " of them " +
         std::to_string(groups.stride) + " apart, on machines with " + std::to_string(groups.devices) +
         ", which share " + std::to_string(groups.insideSharing) + " and " + std::to_string(groups.networkSharing);
}

void expectCounted(const GroupsOnMachines &groups) {
  GroupLoads counted = countGroupLoads(groups), found = groupLoads(groups);
  EXPECT_EQ(found.machines, counted.machines) << text(groups);
  for (auto [mine, oracle] : {std::pair(found.ring, counted.ring), std::pair(found.direct, counted.direct)}) {
    EXPECT_NEAR(mine.inside, oracle.inside, 1e-9 * oracle.inside) << text(groups);
    EXPECT_NEAR(mine.network, oracle.network, 1e-9 * oracle.network) << text(groups);
  }
}

/// Strides, sizes and machines that divide each other, and such that do not: also fewer ranks than the machines have.
TEST(GroupLoads, AreThoseOfACountOfAllRanks) {
  std::mt19937 random(25);
  auto draw = [&](int64_t most) { return std::uniform_int_distribution<int64_t>(1, most)(random); };
  for (int i = 0; i < 4000; ++i) {
    GroupsOnMachines groups;
    groups.stride = draw(10), groups.size = draw(i % 4 == 0 ? 100 : 12), groups.devices = draw(12);
    groups.ranks = groups.stride * groups.size * draw(6);
    groups.insideSharing = draw(5), groups.networkSharing = draw(5);
    groups.hasRingOfAdapters = i % 2 == 0;
    expectCounted(groups);
  }
}

TEST(GroupLoads, AreThoseOfACountOnMachinesAsTheyAre) {
  for (int64_t devices : {1, 2, 3, 4, 6, 8, 12, 16, 24})
    for (int64_t stride : {1, 2, 3, 4, 6, 8, 16, 24})
      for (int64_t size : {1, 2, 3, 4, 8, 12, 16, 64, 96})
        for (bool hasRingOfAdapters : {false, true})
          for (int64_t outer : {1, 2, 6}) {
            expectCounted({stride * size * outer, stride, size, devices, 1, devices, hasRingOfAdapters});
            expectCounted({stride * size * outer, stride, size, devices, 4, 2, hasRingOfAdapters});
          }
}

/// A count of these ranks would not end.
TEST(GroupLoads, TakeNoLongerForMoreRanks) {
  const int64_t many = int64_t(1) << 40;
  GroupLoads inside = groupLoads({many, 2, 4, 8, 1, 1, true});
  EXPECT_EQ(inside, (GroupLoads{1, {3, 0}, {3, 0}}));
  GroupLoads apart = groupLoads({many, 8, many / 8, 8, 1, 4, false});
  auto others = static_cast<double>(many / 8 - 1);
  EXPECT_EQ(apart, (GroupLoads{many / 8, {0, 4 * others}, {0, 4 * others}}));
  GroupLoads everywhere = groupLoads({many, 1, many, 8, 1, 1, true});
  EXPECT_EQ(everywhere.machines, many / 8);
  EXPECT_EQ(everywhere.direct, (GroupLoads::PerByte{7, static_cast<double>(many - 8)}));
  EXPECT_EQ(everywhere.ring.network, static_cast<double>(many - 1) / 8);
  EXPECT_EQ(groupLoads({many, 1, many, many, 1, 1, true}).machines, 1);
  // Groups of 12 and machines of 8 do not divide each other.
  EXPECT_EQ(groupLoads({3 * many, 1, 12, 8, 1, 1, true}), groupLoads({24, 1, 12, 8, 1, 1, true}));
}

} // namespace
