// Small cases, and random work items against the definition.

#include "runtime/cuda/Dependencies.h"

#include <gtest/gtest.h>
#include <random>

using namespace tessera::runtime::cuda;

namespace {

using Numbers = std::vector<uint32_t>;

MemoryAccess read(DevicePointer address, int64_t bytes) { return {address, bytes, false}; }
MemoryAccess write(DevicePointer address, int64_t bytes) { return {address, bytes, true}; }

TEST(Dependencies, ReadersWaitForTheWriterAndNotForEachOther) {
  Dependencies work;
  EXPECT_EQ(work.add({write(100, 50)}), Numbers{});
  EXPECT_EQ(work.add({read(100, 50), write(200, 8)}), Numbers{0});
  EXPECT_EQ(work.add({read(149, 1), write(300, 8)}), Numbers{0});
  EXPECT_EQ(work.add({read(150, 8), write(308, 8)}), Numbers{});
}

TEST(Dependencies, WriterWaitsForAllReaders) {
  Dependencies work;
  work.add({write(0, 64)});
  work.add({read(0, 16)});
  work.add({read(16, 48)});
  EXPECT_EQ(work.add({write(8, 16)}), (Numbers{1, 2}));
  EXPECT_EQ(work.add({read(0, 64)}), Numbers{3});
}

TEST(Dependencies, ImpliedDependenciesAreOmitted) {
  Dependencies work;
  work.add({write(0, 8)});
  work.add({read(0, 8), write(8, 8)});
  EXPECT_EQ(work.add({read(0, 8), read(8, 8), write(16, 8)}), Numbers{1});
}

TEST(Dependencies, InPlaceItemDoesNotWaitForItself) {
  Dependencies work;
  EXPECT_EQ(work.add({read(0, 8), write(0, 8)}), Numbers{});
  EXPECT_EQ(work.add({read(0, 8), write(0, 8)}), Numbers{0});
  EXPECT_EQ(work.add({read(64, 0), write(0, 0)}), Numbers{});
}

/// As the launches for the gradients of queries and of keys and values do.
TEST(Dependencies, LaunchesOfATiledOpRunAtTheSameTime) {
  Dependencies work;
  work.add({write(0, 64)});
  EXPECT_EQ(work.add({read(0, 64), write(64, 64), read(128, 0), read(192, 0)}), Numbers{0});
  EXPECT_EQ(work.add({read(0, 64), read(64, 0), write(128, 64), write(192, 64)}), Numbers{0});
  EXPECT_EQ(work.add({read(64, 64), read(192, 64), write(256, 8)}), (Numbers{1, 2}));
}

bool conflict(const std::vector<MemoryAccess> &first, const std::vector<MemoryAccess> &second) {
  for (const MemoryAccess &a : first)
    for (const MemoryAccess &b : second)
      if ((a.isWrite || b.isWrite) && a.address < b.address + b.bytes && b.address < a.address + a.bytes) return true;
  return false;
}

TEST(Dependencies, RandomWorkIsOrderedIfAndOnlyIfItConflicts) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    Dependencies work;
    std::vector<std::vector<MemoryAccess>> items;
    std::vector<std::vector<bool>> waits; // by what add() returned, directly or not
    for (uint32_t item = 0; item < 60; ++item) {
      std::vector<MemoryAccess> accesses;
      for (unsigned i = 0; i <= random() % 3; ++i)
        accesses.push_back({random() % 200, static_cast<int64_t>(1 + random() % 30), random() % 3 == 0});
      std::vector<bool> all(item), expected(item);
      Numbers direct = work.add(accesses);
      for (uint32_t other : direct) {
        for (uint32_t next : direct) EXPECT_FALSE(next < other && waits[other][next]) << "implied: " << next;
        all[other] = true;
        for (uint32_t i = 0; i < other; ++i) all[i] = all[i] || waits[other][i];
      }
      for (uint32_t other = 0; other < item; ++other) {
        if (!conflict(items[other], accesses)) continue;
        expected[other] = true;
        for (uint32_t i = 0; i < other; ++i) expected[i] = expected[i] || waits[other][i];
      }
      EXPECT_EQ(all, expected) << "seed " << seed << ", item " << item;
      items.push_back(accesses);
      waits.push_back(all);
    }
  }
}

} // namespace
