//===- ContractionSpeeds.cpp - throughput tables of contractions ----------===//

#include "passes/gemm/ContractionSpeeds.h"
#include <cmath>
#include <limits>

using namespace tessera;

namespace {
struct Row {
  int64_t batch, m, n, k;
  bool transposedA, transposedB;
  double generated, oneDnn; ///< GFLOP/s with two threads
};

struct Speed {
  double generated, oneDnn;
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

/// How much faster oneDNN must be: smaller differences are noise, and calling it has a cost.
static constexpr double oneDnnMargin = 1.03;

/// The distance between two contractions, in doublings of a size.
static double distance(const Row &row, const ContractionGemm &gemm) {
  auto doublings = [](double x, double y) { return std::abs(std::log2(x / y)); };
  return doublings(row.m, gemm.m()) + doublings(row.n, gemm.n()) + doublings(row.k, gemm.k()) +
         doublings(row.batch, gemm.batch()) / 2;
}

/// The throughput of the nearest contraction in the table.
static Speed speedOf(const ContractionGemm &gemm, const Target &target) {
  bool transposedA = gemm.a.strides.back() != 1, transposedB = gemm.b.strides.back() != 1;
  const Row *nearest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const Row &row : tableOf(target)) {
    if (row.transposedA != transposedA || row.transposedB != transposedB) continue;
    double current = distance(row, gemm);
    if (current < least) least = current, nearest = &row;
  }
  return {nearest->generated, nearest->oneDnn};
}

bool tessera::isFasterFused(const ContractionGemm &gemm, const FusedGemms &fused, const Target &target) {
  if (gemm.a.type != ElementType::F32) return true;
  ContractionGemm all = gemm;
  if (fused.shared == FusedGemms::B)
    all.a.dims[all.a.dims.size() - 2] *= fused.count, all.c.dims[all.c.dims.size() - 2] *= fused.count;
  else
    all.b.dims.back() *= fused.count, all.c.dims.back() *= fused.count;
  Speed one = speedOf(gemm, target);
  return speedOf(all, target).generated >= double(target.fusedSpeedPercent) / 100 * std::max(one.generated, one.oneDnn);
}

bool tessera::isFasterGenerated(const ContractionGemm &gemm, const Target &target) {
  if (gemm.a.type != ElementType::F32) return true;
  Speed speed = speedOf(gemm, target);
  return speed.oneDnn < oneDnnMargin * speed.generated;
}
