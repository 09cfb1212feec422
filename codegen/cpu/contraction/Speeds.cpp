//===- Speeds.cpp - who computes a contraction faster ---------------------===//

#include "codegen/cpu/contraction/Speeds.h"
#include <cmath>
#include <limits>

using namespace tessera;

namespace {
struct Row {
  int64_t batch, m, n, k;
  bool transposedA, transposedB;
  double generated, library; ///< GFLOP/s
};
} // namespace

static constexpr Row table[] = {
#include "codegen/cpu/contraction/Speeds.inc"
};

/// Differences below this are noise; the generated code has no library's call around it.
static constexpr double worthALibrary = 1.03;

/// How far two products are apart, in doublings of a size. A batch of few is as good as none.
static double distance(const Row &row, int64_t batch, int64_t m, int64_t n, int64_t k) {
  auto doublings = [](double x, double y) { return std::abs(std::log2(x / y)); };
  return doublings(row.m, m) + doublings(row.n, n) + doublings(row.k, k) + doublings(row.batch, batch) / 2;
}

ContractionSpeed tessera::speedOf(const GemmDescription &gemm) {
  size_t rank = gemm.dimsC.size();
  int64_t m = gemm.dimsC[rank - 2], n = gemm.dimsC[rank - 1], k = gemm.dimsA[rank - 1], batch = 1;
  for (size_t i = 0; i + 2 < rank; ++i) batch *= gemm.dimsC[i];
  bool transposedA = gemm.stridesA[rank - 1] != 1, transposedB = gemm.stridesB[rank - 1] != 1;
  const Row *nearest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const Row &row : table) {
    if (row.transposedA != transposedA || row.transposedB != transposedB) continue;
    double apart = distance(row, batch, m, n, k);
    if (apart < least) least = apart, nearest = &row;
  }
  return {nearest->generated, nearest->library};
}

bool tessera::isFasterGenerated(const GemmDescription &gemm) {
  ContractionSpeed speed = speedOf(gemm);
  return speed.library < worthALibrary * speed.generated;
}
