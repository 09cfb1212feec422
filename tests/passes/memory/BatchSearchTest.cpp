//===- BatchSearchTest.cpp - the largest batch that fits ---------------------===//

#include "passes/memory/BatchSearch.h"
#include "gtest/gtest.h"

using namespace tessera;

using Bytes = llvm::function_ref<int64_t(int64_t)>;

/// The result, and how often memory was planned.
static std::pair<int64_t, int> search(int64_t most, int64_t limit, Bytes bytes) {
  int plans = 0;
  auto bytesWith = [&](int64_t rows) -> std::optional<int64_t> { return ++plans, bytes(rows); };
  int64_t rows = largestBatch({0, 0}, {most, bytes(most)}, limit, bytesWith);
  return {rows, plans};
}

TEST(BatchSearch, FindsTheLargestInAnyMemory) {
  for (int64_t fixed : {0, 10, 1000})
    for (int64_t most : {2, 3, 64, 1000})
      for (int64_t limit : {5, 11, 500, 1500, 7000}) {
        auto linear = [&](int64_t rows) { return fixed + 7 * rows; };
        auto steps = [&](int64_t rows) { return fixed + 7 * (rows / 10 * 10); };
        auto square = [&](int64_t rows) { return fixed + rows * rows; };
        for (Bytes bytes : {Bytes(linear), Bytes(steps), Bytes(square)}) {
          if (bytes(most) <= limit) continue;
          int64_t expected = most - 1;
          while (expected > 0 && bytes(expected) > limit) --expected;
          EXPECT_EQ(search(most, limit, bytes).first, expected) << fixed << " " << most << " " << limit;
        }
      }
}

TEST(BatchSearch, NeedsFewPlansWhereMemoryIsLinear) {
  auto [rows, plans] = search(1 << 20, 1'000'000, [](int64_t rows) { return 12345 + 97 * rows; });
  EXPECT_EQ(rows, (1'000'000 - 12345) / 97);
  EXPECT_LE(plans, 8);
}

TEST(BatchSearch, ABatchWithoutPlanDoesNotFit) {
  auto bytesWith = [](int64_t rows) { return rows < 4 ? std::nullopt : std::optional<int64_t>(rows * 10); };
  EXPECT_EQ(largestBatch({0, 0}, {10, 100}, 55, bytesWith), 5);
  EXPECT_EQ(largestBatch({0, 0}, {10, 100}, 15, bytesWith), 0);
}

TEST(BatchSearch, BeginsAtWhatFits) {
  int plans = 0;
  auto bytesWith = [&](int64_t rows) -> std::optional<int64_t> { return ++plans, 1000 + 10 * rows; };
  EXPECT_EQ(largestBatch({64, 1640}, {128, 2280}, 2005, bytesWith), 100);
  EXPECT_LE(plans, 3);
  EXPECT_EQ(largestBatch({64, 1640}, {65, 1650}, 1645, bytesWith), 64);
}

TEST(BatchSearch, FindsTheLimitOfPlans) {
  auto bytesWith = [](int64_t rows) { return rows > 1024 ? std::nullopt : std::optional<int64_t>(rows); };
  EXPECT_EQ(largestBatch({64, 64}, {4096, std::nullopt}, 1 << 20, bytesWith), 1024);
}
