// Every kind of contraction of the manifest against a plain loop.

#include "runtime/machine/Gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace tessera;
using namespace tessera::runtime;

namespace {

using Sizes = std::vector<int64_t>;

int64_t extent(const Sizes &dims, const Sizes &strides) {
  int64_t last = 0;
  for (size_t i = 0; i < dims.size(); ++i) last += (dims[i] - 1) * strides[i];
  return last + 1;
}

std::vector<float> randomNumbers(int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> numbers(count);
  for (float &x : numbers) x = uniform(engine);
  return numbers;
}

/// Address of [batch..., i, j]; a batch dimension of size 1 is broadcast.
int64_t offsetAt(const Sizes &dims, const Sizes &strides, const Sizes &batch, int64_t i, int64_t j) {
  int64_t offset = 0;
  for (size_t d = 0; d < batch.size(); ++d) offset += (dims[d] == 1 ? 0 : batch[d]) * strides[d];
  return offset + i * strides[batch.size()] + j * strides[batch.size() + 1];
}

void expectEqualsLoop(const GemmDescription &d) {
  auto a = randomNumbers(extent(d.dimsA, d.stridesA), 1), b = randomNumbers(extent(d.dimsB, d.stridesB), 2);
  auto c = randomNumbers(extent(d.dimsC, d.stridesC), 3), before = c;
  auto bias = randomNumbers(d.bias ? 1 << 16 : 1, 4);
  Gemm gemm(d);
  std::vector<char> scratch(gemm.scratchBytes() + 64);
  auto *aligned = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64);
  gemm.run(a.data(), b.data(), d.bias ? bias.data() : nullptr, c.data(), aligned);

  size_t batchRank = d.dimsC.size() - 2;
  Sizes batch(batchRank, 0);
  int64_t M = d.dimsC[batchRank], N = d.dimsC[batchRank + 1], K = d.dimsA[batchRank + 1];
  for (;;) {
    for (int64_t i = 0; i < M; ++i)
      for (int64_t j = 0; j < N; ++j) {
        int64_t at = offsetAt(d.dimsC, d.stridesC, batch, i, j);
        double sum = d.accumulate ? before[at] : 0;
        if (d.bias) sum += bias[offsetAt(d.dimsC, *d.bias, batch, i, j)];
        for (int64_t k = 0; k < K; ++k)
          sum += double(a[offsetAt(d.dimsA, d.stridesA, batch, i, k)]) * b[offsetAt(d.dimsB, d.stridesB, batch, k, j)];
        ASSERT_NEAR(c[at], sum, 1e-5 * K) << d.name << " at " << i << ", " << j;
      }
    size_t axis = batchRank;
    while (axis > 0 && ++batch[axis - 1] == d.dimsC[axis - 1]) batch[--axis] = 0;
    if (axis == 0) return;
  }
}

GemmDescription plain(int64_t M, int64_t N, int64_t K) {
  GemmDescription d;
  d.name = "plain";
  d.dimsA = {M, K}, d.stridesA = {K, 1};
  d.dimsB = {K, N}, d.stridesB = {N, 1};
  d.dimsC = {M, N}, d.stridesC = {N, 1};
  return d;
}

TEST(Gemm, Plain) { expectEqualsLoop(plain(33, 47, 20)); }
TEST(Gemm, OneRow) { expectEqualsLoop(plain(1, 47, 20)); }
TEST(Gemm, OneColumn) { expectEqualsLoop(plain(33, 1, 20)); }
TEST(Gemm, OneTerm) { expectEqualsLoop(plain(33, 5, 1)); }

TEST(Gemm, Transposed) {
  GemmDescription d = plain(33, 47, 20);
  d.stridesA = {1, 33};
  expectEqualsLoop(d);
  d.stridesB = {1, 20};
  expectEqualsLoop(d);
  d.stridesA = {20, 1};
  expectEqualsLoop(d);
}

TEST(Gemm, Accumulate) {
  GemmDescription d = plain(33, 47, 20);
  d.accumulate = true;
  expectEqualsLoop(d);
}

TEST(Gemm, BiasAlongColumnsAndRows) {
  GemmDescription d = plain(33, 47, 20);
  d.bias = Sizes{0, 1};
  expectEqualsLoop(d);
  d.bias = Sizes{1, 0};
  expectEqualsLoop(d);
}

TEST(Gemm, Batched) {
  GemmDescription d;
  d.name = "batched";
  d.dimsA = {2, 3, 8, 16}, d.stridesA = {3 * 8 * 16, 16, 3 * 16, 1}; // heads between rows and columns
  d.dimsB = {2, 3, 16, 8}, d.stridesB = {3 * 8 * 16, 16, 1, 3 * 16};
  d.dimsC = {2, 3, 8, 8}, d.stridesC = {192, 64, 8, 1};
  expectEqualsLoop(d);
  d.accumulate = true;
  expectEqualsLoop(d);
}

TEST(Gemm, BroadcastBatch) {
  GemmDescription d;
  d.name = "broadcast";
  d.dimsA = {4, 8, 16}, d.stridesA = {128, 16, 1};
  d.dimsB = {1, 16, 8}, d.stridesB = {128, 8, 1};
  d.dimsC = {4, 8, 8}, d.stridesC = {64, 8, 1};
  expectEqualsLoop(d);
}

TEST(Gemm, Bfloat16) {
  GemmDescription d = plain(32, 32, 32);
  d.type = ElementType::BF16;
  GemmPlan plan = planGemm(d);
  EXPECT_EQ(plan.error, "");
  // 1.0 is 0x3f80: every sum is 32.
  std::vector<uint16_t> ones(32 * 32, 0x3f80);
  std::vector<float> c(32 * 32);
  std::vector<char> scratch(plan.scratchBytes + 1);
  Gemm(d).run(ones.data(), ones.data(), nullptr, c.data(), scratch.data());
  for (float x : c) EXPECT_EQ(x, 32);
}

TEST(Gemm, PlanReportsSlowPathsAndErrors) {
  EXPECT_FALSE(planGemm(plain(64, 64, 64)).isReference);
  EXPECT_NE(planGemm(plain(64, 64, 64)).implementation, "");
  GemmDescription strided = plain(64, 64, 64); // no unit stride in a
  strided.stridesA = {256, 2};
  EXPECT_TRUE(planGemm(strided).isReference || !planGemm(strided).error.empty());
  GemmDescription wrong = plain(64, 64, 64);
  wrong.dimsB = {63, 64};
  EXPECT_NE(planGemm(wrong).error, "");
  EXPECT_THROW(Gemm{wrong}, std::runtime_error);
}

} // namespace
