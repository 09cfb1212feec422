// How far an arena is above its bound, in words.

#include "runtime/train/MemoryNeeds.h"

#include <gtest/gtest.h>

using namespace tessera::runtime;

namespace {

std::string gapOf(int64_t bytes, std::optional<int64_t> bound) {
  ArenaSpec arena;
  arena.bytes = bytes, arena.bound = bound;
  return describeGap(arena);
}

TEST(MemoryNeeds, DescribesTheGap) {
  EXPECT_EQ(gapOf(1000, 1000), "optimal");
  EXPECT_EQ(gapOf(0, 0), "optimal");
  EXPECT_EQ(gapOf(1003, 1000), "0.3 % above its bound");
  EXPECT_EQ(gapOf(100001, 100000), "less than 0.1 % above its bound");
  EXPECT_EQ(gapOf(1000, std::nullopt), "");
}

} // namespace
