// How far an arena is above its bound, in words; what to compile a program with that does not fit.

#include "runtime/train/MemoryNeeds.h"

#include <gtest/gtest.h>

using namespace tessera::runtime;

namespace {

std::string gapOf(int64_t bytes, std::optional<int64_t> bound) {
  ArenaSpec arena;
  arena.bytes = bytes, arena.bound = bound;
  return describeGap(arena);
}

/// A program with these arenas of `step`, of which it has the first one.
Manifest withPlans(std::initializer_list<int64_t> arenas) {
  Manifest manifest;
  manifest.arena.bytes = *arenas.begin();
  for (int64_t bytes : arenas) {
    double seconds = 0.01 * static_cast<double>(manifest.memory.frontier.size());
    manifest.memory.frontier.push_back({bytes, seconds, "", bytes == *arenas.begin()});
  }
  manifest.predicted.entries["step"].seconds = 0.5;
  return manifest;
}

constexpr int64_t gib = int64_t(1) << 30;

TEST(MemoryNeeds, AmountsAreRounded) {
  EXPECT_EQ(memoryAmount(gib), "1GiB");
  EXPECT_EQ(memoryAmount(gib + 1), "1.001GiB");
  EXPECT_EQ(memoryAmount(gib / 2), "512MiB");
  EXPECT_EQ(memoryAmount(25 * gib + 1), "25.01GiB");
  EXPECT_EQ(memoryAmount(180 * gib + 1), "180.1GiB");
  EXPECT_EQ(memoryAmount(1536), "1.5KiB");
  EXPECT_EQ(memoryWithin(2 * gib - 1), "1.999GiB");
}

TEST(MemoryNeeds, AdvisesTheFastestPlanThatFits) {
  Manifest manifest = withPlans({8 * gib, 6 * gib, 4 * gib, 2 * gib});
  std::string amount = memoryAmount(plansByMemory(manifest)[2].bytes);
  EXPECT_EQ(memoryAdvice(manifest, 5 * gib), "compile with --memory=" + amount + " (a step takes about 4.0 % longer)");
  EXPECT_GT(plansByMemory(manifest)[2].bytes, 4 * gib);
}

TEST(MemoryNeeds, PlansThatSaveLessThanTheyDescribeAreNone) {
  Manifest manifest = withPlans({8 * gib, 8 * gib - 1000, 7 * gib});
  manifest.textBytes = 10000;
  std::vector<PlanMemory> plans = plansByMemory(manifest);
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans[0].bytes, programBytes(manifest));
  EXPECT_EQ(plans[1].plan, &manifest.memory.frontier[2]);
}

TEST(MemoryNeeds, SaysTheLeastWhereNoPlanFits) {
  Manifest manifest = withPlans({8 * gib, 6 * gib, 4 * gib});
  EXPECT_EQ(memoryAdvice(manifest, gib).rfind("compile with a smaller batch; with --memory it takes 4.0 GiB", 0), 0u);
}

TEST(MemoryNeeds, AdvisesNoMemoryWhereNothingIsRecomputed) {
  EXPECT_EQ(memoryAdvice(withPlans({8 * gib}), gib), "compile with a smaller batch");
  EXPECT_EQ(memoryAdvice(Manifest(), gib), "compile with a smaller batch");
  Manifest least = withPlans({4 * gib, 8 * gib}); // the program has the smallest arena
  std::swap(least.memory.frontier[0], least.memory.frontier[1]);
  EXPECT_EQ(memoryAdvice(least, gib), "compile with a smaller batch");
}

TEST(MemoryNeeds, OfAGpuTheDriverHasItsMemoryAlready) {
  Manifest manifest = withPlans({8 * gib, 6 * gib});
  manifest.target.architectures = {"sm_90a"};
  EXPECT_EQ(memoryAdvice(manifest, 6 * gib).rfind("compile with --memory=", 0), 0u);
  EXPECT_EQ(memoryAdvice(manifest, 6 * gib - 1).rfind("compile with a smaller batch; with", 0), 0u);
}

TEST(MemoryNeeds, DescribesTheGap) {
  EXPECT_EQ(gapOf(1000, 1000), "optimal");
  EXPECT_EQ(gapOf(0, 0), "optimal");
  EXPECT_EQ(gapOf(1003, 1000), "0.3 % above its bound");
  EXPECT_EQ(gapOf(100001, 100000), "less than 0.1 % above its bound");
  EXPECT_EQ(gapOf(1000, std::nullopt), "");
}

} // namespace
