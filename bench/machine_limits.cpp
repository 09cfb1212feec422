// The limits of this machine that kernels are set against: fused multiply-adds in registers, and copying memory that no
// cache holds. Prints one JSON object; figures are medians, with all threads that OMP_NUM_THREADS allows.
//
//   c++ -O3 -march=native -fopenmp bench/machine_limits.cpp -o machine_limits && ./machine_limits

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <immintrin.h>
#include <omp.h>
#include <vector>

#ifdef __AVX512F__
constexpr int lanes = 16;
static void stream(float *to, const float *from) { _mm512_stream_ps(to, _mm512_load_ps(from)); }
#else
constexpr int lanes = 8;
static void stream(float *to, const float *from) { _mm256_stream_ps(to, _mm256_load_ps(from)); }
#endif
typedef float Vector __attribute__((vector_size(lanes * 4)));

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <typename Run> static double medianSeconds(int rounds, Run run) {
  std::vector<double> seconds;
  for (int i = 0; i < rounds; ++i) {
    double start = now();
    run();
    seconds.push_back(now() - start);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[rounds / 2];
}

/// Enough independent chains for the latency of four cycles on two units, and few enough for the registers.
constexpr int chains = 12;

static void multiplyAdd(long rounds) {
#pragma omp parallel
  {
    // Values that the compiler cannot know, so that it keeps the loop.
    volatile float factor = 0.999f, offset = 1e-3f, kept = 0;
    Vector sums[chains], x = Vector{} + factor, y = Vector{} + offset;
    for (int i = 0; i < chains; ++i) sums[i] = Vector{} + factor * static_cast<float>(i);
    for (long round = 0; round < rounds; ++round)
#pragma GCC unroll 12
      for (int i = 0; i < chains; ++i) sums[i] = sums[i] * x + y;
    for (int i = 0; i < chains; ++i)
      for (int lane = 0; lane < lanes; ++lane) kept = kept + sums[i][lane];
  }
}

int main() {
  int threads = omp_get_max_threads();
  constexpr long rounds = 10'000'000;
  double seconds = medianSeconds(9, [] { multiplyAdd(rounds); });
  double flops = 2.0 * lanes * chains * rounds * threads / seconds;

  constexpr size_t bytes = size_t(1) << 29;
  char *from = static_cast<char *>(aligned_alloc(4096, bytes)), *to = static_cast<char *>(aligned_alloc(4096, bytes));
#pragma omp parallel for schedule(static)
  for (size_t page = 0; page < bytes / 4096; ++page) {
    memset(from + page * 4096, 1, 4096);
    memset(to + page * 4096, 1, 4096);
  }
  auto copy = [&](bool streaming) {
#pragma omp parallel
    {
      size_t share = bytes / omp_get_num_threads(), start = share * omp_get_thread_num();
      float *source = reinterpret_cast<float *>(from + start), *target = reinterpret_cast<float *>(to + start);
      if (streaming)
        for (size_t i = 0; i < share / sizeof(float); i += lanes) stream(target + i, source + i);
      else
        for (size_t i = 0; i < share / sizeof(float); i += lanes)
          *reinterpret_cast<Vector *>(target + i) = *reinterpret_cast<Vector *>(source + i);
    }
  };
  double plain = 2.0 * bytes / medianSeconds(9, [&] { copy(false); });
  double streamed = 2.0 * bytes / medianSeconds(9, [&] { copy(true); });
  printf("{\"threads\": %d, \"fma_flops\": %.4g, \"copy_bytes\": %.4g, \"copy_bytes_streaming\": %.4g}\n", threads,
         flops, plain, streamed);
  return 0;
}
