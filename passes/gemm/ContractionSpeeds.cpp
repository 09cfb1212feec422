//===- ContractionSpeeds.cpp - who computes a contraction faster ----------===//

#include "passes/gemm/ContractionSpeeds.h"
#include <cmath>
#include <limits>

using namespace tessera;

namespace {
struct Row {
  int64_t batch, m, n, k;
  bool transposedA, transposedB;
  double generated, library; ///< GFLOP/s of two threads
};

struct Speed {
  double generated, library;
};
} // namespace

static constexpr Row amd[] = {
#include "passes/gemm/SpeedsAmd.inc"
};

static constexpr Row intel[] = {
#include "passes/gemm/SpeedsIntel.inc"
};

static llvm::ArrayRef<Row> tableOf(const Target &target) {
  switch (target.speeds) {
  case SpeedTable::Amd:
    return amd;
  case SpeedTable::Intel:
    return intel;
  }
  llvm_unreachable("no such table");
}

/// Differences below this are noise; the generated code has no library's call around it.
static constexpr double worthALibrary = 1.03;

/// The distance between two contractions, in doublings of a size.
static double distance(const Row &row, const ContractionGemm &gemm) {
  auto doublings = [](double x, double y) { return std::abs(std::log2(x / y)); };
  return doublings(row.m, gemm.m()) + doublings(row.n, gemm.n()) + doublings(row.k, gemm.k()) +
         doublings(row.batch, gemm.batch()) / 2;
}

/// The speed of the nearest contraction in the table.
static Speed speedOf(const ContractionGemm &gemm, const Target &target) {
  bool transposedA = gemm.stridesA.back() != 1, transposedB = gemm.stridesB.back() != 1;
  const Row *nearest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const Row &row : tableOf(target)) {
    if (row.transposedA != transposedA || row.transposedB != transposedB) continue;
    double apart = distance(row, gemm);
    if (apart < least) least = apart, nearest = &row;
  }
  return {nearest->generated, nearest->library};
}

bool tessera::isFasterFused(const ContractionGemm &gemm, const FusedGemms &merged, const Target &target) {
  if (gemm.typeA != ElementType::F32) return true;
  ContractionGemm all = gemm;
  if (merged.shared == FusedGemms::B)
    all.dimsA[all.dimsA.size() - 2] *= merged.count, all.dimsC[all.dimsC.size() - 2] *= merged.count;
  else
    all.dimsB.back() *= merged.count, all.dimsC.back() *= merged.count;
  Speed one = speedOf(gemm, target);
  return speedOf(all, target).generated >=
         double(target.fusedSpeedPercent) / 100 * std::max(one.generated, one.library);
}

bool tessera::isFasterGenerated(const ContractionGemm &gemm, const Target &target) {
  if (gemm.typeA != ElementType::F32) return true;
  Speed speed = speedOf(gemm, target);
  return speed.library < worthALibrary * speed.generated;
}
