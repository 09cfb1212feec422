// Contractions of all shapes against a plain loop.

#include "runtime/machine/OnednnGemm.h"

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

void expectEqualsLoop(const GemmSpec &d) {
  auto a = randomNumbers(extent(d.a.dims, d.a.strides), 1), b = randomNumbers(extent(d.b.dims, d.b.strides), 2);
  auto c = randomNumbers(extent(d.c.dims, d.c.strides), 3), before = c;
  auto bias = randomNumbers(d.bias ? 1 << 16 : 1, 4);
  OnednnGemm gemm(d);
  std::vector<char> scratch(gemm.scratchBytes() + 64);
  auto *aligned = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64);
  gemm.run(a.data(), b.data(), d.bias ? bias.data() : nullptr, c.data(), aligned);

  size_t batchRank = d.c.dims.size() - 2;
  Sizes batch(batchRank, 0);
  int64_t M = d.c.dims[batchRank], N = d.c.dims[batchRank + 1], K = d.a.dims[batchRank + 1];
  for (;;) {
    for (int64_t i = 0; i < M; ++i)
      for (int64_t j = 0; j < N; ++j) {
        int64_t at = offsetAt(d.c.dims, d.c.strides, batch, i, j);
        double sum = d.accumulate ? before[at] : 0;
        if (d.bias) sum += bias[offsetAt(d.c.dims, *d.bias, batch, i, j)];
        for (int64_t k = 0; k < K; ++k)
          sum +=
              double(a[offsetAt(d.a.dims, d.a.strides, batch, i, k)]) * b[offsetAt(d.b.dims, d.b.strides, batch, k, j)];
        ASSERT_NEAR(c[at], sum, 1e-5 * K) << d.name << " at " << i << ", " << j;
      }
    size_t axis = batchRank;
    while (axis > 0 && ++batch[axis - 1] == d.c.dims[axis - 1]) batch[--axis] = 0;
    if (axis == 0) return;
  }
}

GemmSpec plain(int64_t M, int64_t N, int64_t K) {
  GemmSpec d;
  d.name = "plain";
  d.a.dims = {M, K}, d.a.strides = {K, 1};
  d.b.dims = {K, N}, d.b.strides = {N, 1};
  d.c.dims = {M, N}, d.c.strides = {N, 1};
  return d;
}

TEST(OnednnGemm, Plain) { expectEqualsLoop(plain(33, 47, 20)); }
TEST(OnednnGemm, OneRow) { expectEqualsLoop(plain(1, 47, 20)); }
TEST(OnednnGemm, OneColumn) { expectEqualsLoop(plain(33, 1, 20)); }
TEST(OnednnGemm, OneTerm) { expectEqualsLoop(plain(33, 5, 1)); }

TEST(OnednnGemm, Transposed) {
  GemmSpec d = plain(33, 47, 20);
  d.a.strides = {1, 33};
  expectEqualsLoop(d);
  d.b.strides = {1, 20};
  expectEqualsLoop(d);
  d.a.strides = {20, 1};
  expectEqualsLoop(d);
}

TEST(OnednnGemm, Accumulate) {
  GemmSpec d = plain(33, 47, 20);
  d.accumulate = true;
  expectEqualsLoop(d);
}

TEST(OnednnGemm, BiasAlongColumnsAndRows) {
  GemmSpec d = plain(33, 47, 20);
  d.bias = Sizes{0, 1};
  expectEqualsLoop(d);
  d.bias = Sizes{1, 0};
  expectEqualsLoop(d);
}

TEST(OnednnGemm, Batched) {
  GemmSpec d;
  d.name = "batched";
  d.a.dims = {2, 3, 8, 16}, d.a.strides = {3 * 8 * 16, 16, 3 * 16, 1}; // heads between rows and columns
  d.b.dims = {2, 3, 16, 8}, d.b.strides = {3 * 8 * 16, 16, 1, 3 * 16};
  d.c.dims = {2, 3, 8, 8}, d.c.strides = {192, 64, 8, 1};
  expectEqualsLoop(d);
  d.accumulate = true;
  expectEqualsLoop(d);
}

TEST(OnednnGemm, BroadcastBatch) {
  GemmSpec d;
  d.name = "broadcast";
  d.a.dims = {4, 8, 16}, d.a.strides = {128, 16, 1};
  d.b.dims = {1, 16, 8}, d.b.strides = {128, 8, 1};
  d.c.dims = {4, 8, 8}, d.c.strides = {64, 8, 1};
  expectEqualsLoop(d);
}

TEST(OnednnGemm, Bfloat16) {
  if (!__builtin_cpu_supports("avx512bw")) GTEST_SKIP() << "oneDNN has bf16 on processors with AVX-512 only";
  GemmSpec d = plain(32, 32, 32);
  d.a.type = d.b.type = ElementType::BF16;
  GemmPlan plan = planGemm(d);
  EXPECT_EQ(plan.error, "");
  // 1.0 is 0x3f80: every sum is 32.
  std::vector<uint16_t> ones(32 * 32, 0x3f80);
  std::vector<float> c(32 * 32);
  std::vector<char> scratch(plan.scratchBytes + 1);
  OnednnGemm(d).run(ones.data(), ones.data(), nullptr, c.data(), scratch.data());
  for (float x : c) EXPECT_EQ(x, 32);
}

TEST(OnednnGemm, PlanReportsSlowPathsAndErrors) {
  EXPECT_FALSE(planGemm(plain(64, 64, 64)).isReference);
  EXPECT_NE(planGemm(plain(64, 64, 64)).implementation, "");
  GemmSpec strided = plain(64, 64, 64); // no unit stride in a
  strided.a.strides = {256, 2};
  EXPECT_TRUE(planGemm(strided).isReference || !planGemm(strided).error.empty());
  GemmSpec wrong = plain(64, 64, 64);
  wrong.b.dims = {63, 64};
  EXPECT_NE(planGemm(wrong).error, "");
  EXPECT_THROW(OnednnGemm{wrong}, std::runtime_error);
}

} // namespace
