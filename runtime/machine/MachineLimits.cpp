//===- MachineLimits.cpp - the peak rates of this machine -----------------===//

#include "runtime/machine/MachineLimits.h"

#include "runtime/base/Error.h"
#include "runtime/machine/Arena.h"
#include "runtime/machine/CpuFeatures.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace tessera::runtime {

/// Multiply-adds in independent chains: enough for the latency of four cycles on two units, and few enough for the
/// registers.
static constexpr int chains = 12;
static constexpr int64_t rounds = 2'000'000;

template <int lanes> [[gnu::always_inline]] static inline void multiplyAdd() {
  typedef float Vector __attribute__((vector_size(lanes * sizeof(float))));
  // Values that the compiler cannot know, so that it keeps the loop.
  volatile float factor = 0.999f, offset = 1e-3f, kept = 0;
  Vector sums[chains], x = Vector{} + factor, y = Vector{} + offset;
  for (int i = 0; i < chains; ++i) sums[i] = Vector{} + factor * static_cast<float>(i);
  for (int64_t round = 0; round < rounds; ++round)
#pragma clang loop unroll(full)
    for (int i = 0; i < chains; ++i) sums[i] = sums[i] * x + y;
  for (int i = 0; i < chains; ++i)
    for (int lane = 0; lane < lanes; ++lane) kept = kept + sums[i][lane];
}

/// Kernels of one iteration for each thread.
[[gnu::target("avx2,fma")]] static void multiplyAddAvx2(void *const *, int64_t begin, int64_t end, void *) {
  for (; begin < end; ++begin) multiplyAdd<8>();
}
[[gnu::target("avx512f")]] static void multiplyAddAvx512(void *const *, int64_t begin, int64_t end, void *) {
  for (; begin < end; ++begin) multiplyAdd<16>();
}

template <typename Run> static double medianSeconds(Run run) {
  std::vector<double> seconds;
  for (int i = 0; i < 5; ++i) {
    auto start = std::chrono::steady_clock::now();
    run();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + 2, seconds.end());
  return seconds[2];
}

std::optional<MachineLimits> measureLimits(Threads &pool) {
  bool isWide = missingCpuFeatures({"avx512f"}).empty();
  if (!isWide && !missingCpuFeatures({"avx2", "fma"}).empty()) return std::nullopt;
  TsrKernel kernel = isWide ? multiplyAddAvx512 : multiplyAddAvx2;
  double perRound = 2.0 * (isWide ? 16 : 8) * chains * static_cast<double>(rounds);
  MachineLimits limits;
  limits.flops = perRound * pool.count() / medianSeconds([&] { pool.parallelFor(kernel, nullptr, pool.count(), 1); });
  constexpr int64_t bytes = int64_t(128) << 20;
  try {
    Arena arena(2 * bytes, pool);
    limits.copyBytes = 2.0 * bytes / medianSeconds([&] { pool.copy(arena.base(), arena.base() + bytes, bytes); });
  } catch (const Error &) {
    return std::nullopt;
  }
  return limits;
}

} // namespace tessera::runtime
