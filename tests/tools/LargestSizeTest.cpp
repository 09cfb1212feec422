//===- LargestSizeTest.cpp - the search of `tessera plan --largest` -------===//

#include "tools/LargestSize.h"
#include <gtest/gtest.h>
#include <set>

using namespace tessera;

namespace {

using Bytes = std::function<std::optional<int64_t>(int64_t)>;

/// The result, and how many sizes were planned, none of them twice.
std::pair<int64_t, size_t> search(SizeRange range, int64_t limit, const Bytes &bytes) {
  std::set<int64_t> planned;
  auto bytesWith = [&](int64_t size) {
    EXPECT_EQ(size % range.unit, 0);
    EXPECT_GT(size, 0);
    EXPECT_TRUE(planned.insert(size).second) << size << " is planned twice";
    return bytes(size);
  };
  int64_t size = LargestSize(range, limit, bytesWith).find();
  return {size, planned.size()};
}

int64_t largestOf(int64_t start, int64_t limit, const Bytes &bytes) { return search({start, 1}, limit, bytes).first; }

TEST(LargestSize, FindsTheLargestFromAnyStart) {
  for (int64_t fixed : {0, 10, 1000})
    for (int64_t start : {1, 3, 64, 1000})
      for (int64_t limit : {5, 11, 500, 1500, 7000}) {
        auto linear = [&](int64_t size) { return fixed + 7 * size; };
        auto steps = [&](int64_t size) { return fixed + 7 * (size / 10 * 10); };
        auto square = [&](int64_t size) { return fixed + size * size; };
        for (const Bytes &bytes : {Bytes(linear), Bytes(steps), Bytes(square)}) {
          int64_t expected = 2000;
          while (expected > 0 && *bytes(expected) > limit) --expected;
          EXPECT_EQ(largestOf(start, limit, bytes), expected) << fixed << " " << start << " " << limit;
        }
      }
}

TEST(LargestSize, NeedsFewPlansWhereMemoryIsLinear) {
  auto [size, plans] = search({4, 1}, 80'000'000'000, [](int64_t size) { return 1'900'000'000 + 26'000'000 * size; });
  EXPECT_EQ(size, 3003);
  EXPECT_LE(plans, 20u);
}

TEST(LargestSize, TakesMultiplesOnly) {
  auto bytes = [](int64_t size) { return 10 * size; };
  EXPECT_EQ(search({64, 8}, 1000, bytes).first, 96);
  EXPECT_EQ(search({64, 8}, 500, bytes).first, 48);
  EXPECT_EQ(search({64, 8}, 79, bytes).first, 0);
}

TEST(LargestSize, ASizeThatTheModelRefusesDoesNotFit) {
  auto bytes = [](int64_t size) { return size > 1024 ? std::nullopt : std::optional<int64_t>(size); };
  EXPECT_EQ(largestOf(64, 1 << 20, bytes), 1024);
  EXPECT_EQ(largestOf(1024, 1 << 20, bytes), 1024);
  EXPECT_EQ(largestOf(1024, 100, bytes), 100);
  auto fromTwo = [](int64_t size) { return size < 2 ? std::nullopt : std::optional<int64_t>(size * 1000); };
  EXPECT_EQ(largestOf(1024, 2999, fromTwo), 2);
  EXPECT_EQ(largestOf(64, 1999, fromTwo), 0);
}

// From 100 on, memory is divided into chunks, and grows more slowly: 99 is the largest below, 390 that of all.
TEST(LargestSize, LooksBeyondASizeThatDoesNotFit) {
  auto bytes = [](int64_t size) { return size < 100 ? 10 * size : size < 120 ? 2000 : 600 + size; };
  for (int64_t start : {1, 7, 99, 390, 1000}) EXPECT_EQ(largestOf(start, 990, bytes), 390) << start;
}

// Results are stored in equal parts of at most 16 rows: a prime number of rows cannot be divided.
TEST(LargestSize, FindsRoundSizesBeyondOthers) {
  auto bytes = [](int64_t size) {
    int64_t part = 16;
    while (size % part != 0) --part;
    return size + 100 * (part == 1 ? size : part);
  };
  constexpr int64_t limit = 1600 + 2050;
  EXPECT_GT(bytes(2039), limit); // a prime number
  int64_t found = largestOf(4, limit, bytes);
  EXPECT_GE(found, 2048);
  EXPECT_LE(bytes(found), limit);
  EXPECT_GT(bytes(found + 1), limit);
}

} // namespace
