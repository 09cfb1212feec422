// Blocks inside a step come from the region.

#include "runtime/machine/StepAllocator.h"
#include "runtime/machine/OnednnGemm.h"
#include "runtime/machine/Threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

using namespace tessera::runtime;

namespace {

TEST(StepAllocator, ServesOnlyInsideSteps) {
  stepallocator::reserve();
  EXPECT_EQ(stepallocator::tryTake(64, 1), nullptr);
  stepallocator::StepScope scope;
  void *block = stepallocator::tryTake(64, 1);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(stepallocator::blockSize(block), 64u);
  EXPECT_TRUE(stepallocator::tryGive(block));
  int local = 0;
  EXPECT_FALSE(stepallocator::tryGive(&local));
}

TEST(StepAllocator, BlocksDoNotOverlapAndAreReused) {
  stepallocator::reserve();
  stepallocator::StepScope scope;
  // No containers here: they would take blocks of the same region.
  constexpr size_t most = 60;
  void *first[most], *blocks[most];
  for (int round = 0; round < 3; ++round) {
    size_t count = 0;
    for (size_t size : {1, 64, 65, 200, 1000, 5000}) {
      for (int i = 0; i < 10; ++i) {
        void *block = stepallocator::tryTake(size, 64);
        ASSERT_NE(block, nullptr);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
        EXPECT_GE(stepallocator::blockSize(block), size);
        memset(block, round, stepallocator::blockSize(block));
        blocks[count++] = block;
      }
    }
    std::sort(blocks, blocks + count);
    EXPECT_EQ(std::adjacent_find(blocks, blocks + count), blocks + count);
    if (round == 0) std::copy(blocks, blocks + count, first);
    EXPECT_TRUE(std::equal(blocks, blocks + count, first));
    for (size_t i = 0; i < count; ++i) EXPECT_TRUE(stepallocator::tryGive(blocks[i]));
  }
}

TEST(StepAllocator, BlocksAreAlignedToPagesOnRequest) {
  stepallocator::reserve();
  stepallocator::StepScope scope;
  uint64_t before = stepallocator::stepAllocations();
  for (size_t alignment : {64, 128, 1024, 4096})
    for (size_t size : {1, 100, 5000, 16640}) {
      void *block = stepallocator::tryTake(size, alignment);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
      EXPECT_GE(stepallocator::blockSize(block), size);
      EXPECT_TRUE(stepallocator::tryGive(block));
    }
  EXPECT_EQ(stepallocator::stepAllocations(), before);
  EXPECT_EQ(stepallocator::tryTake(100, 8192), nullptr);
  EXPECT_GT(stepallocator::stepAllocations(), before);
}

TEST(StepAllocator, LargeRequestsAreCounted) {
  stepallocator::reserve();
  stepallocator::StepScope scope;
  uint64_t before = stepallocator::stepAllocations();
  EXPECT_EQ(stepallocator::tryTake(1 << 20, 1), nullptr);
  EXPECT_GT(stepallocator::stepAllocations(), before);
}

#ifdef TESSERA_MALLOC_HOOKS
TEST(StepAllocator, ServesContractions) {
  stepallocator::reserve();
  Threads threads(2);
  std::vector<OnednnGemm> gemms;
  int64_t scratchBytes = 64;
  for (int64_t n : {1, 3, 16, 64, 200, 513})
    for (bool transposed : {false, true}) {
      GemmSpec d;
      d.a.dims = {n, n}, d.a.strides = {n, 1};
      d.b.dims = {n, n}, d.b.strides = transposed ? std::vector<int64_t>{1, n} : std::vector<int64_t>{n, 1};
      d.c.dims = {n, n}, d.c.strides = {n, 1};
      d.accumulate = n % 2 == 1;
      gemms.emplace_back(d);
      scratchBytes = std::max(scratchBytes, gemms.back().scratchBytes());
    }
  std::vector<float> a(513 * 513, 1), b = a, c = a, scratch(scratchBytes / 4 + 1);
  uint64_t before = stepallocator::stepAllocations();
  {
    stepallocator::StepScope scope;
    for (int round = 0; round < 5; ++round)
      for (OnednnGemm &gemm : gemms) {
        gemm.run(a.data(), b.data(), nullptr, c.data(), scratch.data());
        threads.copy(a.data(), b.data(), 513 * 513 * 4);
      }
  }
  EXPECT_EQ(stepallocator::stepAllocations(), before);
}
#endif

} // namespace
