// Blocks inside a step come from the region; libraries need nothing else.

#include "runtime/base/SmallBlocks.h"
#include "runtime/base/Threads.h"
#include "runtime/machine/Gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

using namespace tessera::runtime;

namespace {

TEST(SmallBlocks, ServesOnlyInsideSteps) {
  smallblocks::reserve();
  EXPECT_EQ(smallblocks::tryTake(64, 1), nullptr);
  smallblocks::StepScope scope;
  void *block = smallblocks::tryTake(64, 1);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(smallblocks::blockSize(block), 64u);
  EXPECT_TRUE(smallblocks::tryGive(block));
  int local = 0;
  EXPECT_FALSE(smallblocks::tryGive(&local));
}

TEST(SmallBlocks, BlocksDoNotOverlapAndAreReused) {
  smallblocks::reserve();
  smallblocks::StepScope scope;
  // No containers here: they would take blocks of the same region.
  constexpr size_t most = 60;
  void *first[most], *blocks[most];
  for (int round = 0; round < 3; ++round) {
    size_t count = 0;
    for (size_t size : {1, 64, 65, 200, 1000, 5000}) {
      for (int i = 0; i < 10; ++i) {
        void *block = smallblocks::tryTake(size, 64);
        ASSERT_NE(block, nullptr);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
        EXPECT_GE(smallblocks::blockSize(block), size);
        memset(block, round, smallblocks::blockSize(block));
        blocks[count++] = block;
      }
    }
    std::sort(blocks, blocks + count);
    EXPECT_EQ(std::adjacent_find(blocks, blocks + count), blocks + count);
    if (round == 0) std::copy(blocks, blocks + count, first);
    EXPECT_TRUE(std::equal(blocks, blocks + count, first));
    for (size_t i = 0; i < count; ++i) EXPECT_TRUE(smallblocks::tryGive(blocks[i]));
  }
}

TEST(SmallBlocks, LargeRequestsAreCounted) {
  smallblocks::reserve();
  smallblocks::StepScope scope;
  uint64_t before = smallblocks::stepAllocations();
  EXPECT_EQ(smallblocks::tryTake(1 << 20, 1), nullptr);
  EXPECT_GT(smallblocks::stepAllocations(), before);
}

#ifdef TESSERA_MALLOC_HOOKS
TEST(SmallBlocks, ContractionsNeedNothingElse) {
  smallblocks::reserve();
  Threads threads(2);
  std::vector<Gemm> gemms;
  int64_t scratchBytes = 64;
  for (int64_t n : {1, 3, 16, 64, 200, 513})
    for (bool transposed : {false, true}) {
      GemmDescription d;
      d.dimsA = {n, n}, d.stridesA = {n, 1};
      d.dimsB = {n, n}, d.stridesB = transposed ? std::vector<int64_t>{1, n} : std::vector<int64_t>{n, 1};
      d.dimsC = {n, n}, d.stridesC = {n, 1};
      d.accumulate = n % 2 == 1;
      gemms.emplace_back(d);
      scratchBytes = std::max(scratchBytes, gemms.back().scratchBytes());
    }
  std::vector<float> a(513 * 513, 1), b = a, c = a, scratch(scratchBytes / 4 + 1);
  uint64_t before = smallblocks::stepAllocations();
  {
    smallblocks::StepScope scope;
    for (int round = 0; round < 5; ++round)
      for (Gemm &gemm : gemms) {
        gemm.run(a.data(), b.data(), nullptr, c.data(), scratch.data());
        threads.copy(a.data(), b.data(), 513 * 513 * 4);
      }
  }
  EXPECT_EQ(smallblocks::stepAllocations(), before);
}
#endif

} // namespace
