// The parts of a GEMM, run one behind the other by plain loops, against the GEMM as a whole.

#include "passes/gemm/AlignedParts.h"

#include <gtest/gtest.h>

#include <random>

namespace tessera::tests {
namespace {

/// Operands of a GEMM with its c, in storage with gaps; whole numbers, so that no order of sums matters.
struct Operands {
  std::vector<int64_t> a, b, c, bias;
};

int64_t extentOf(const GemmMatrix &matrix) {
  int64_t last = 0;
  for (auto [size, stride] : llvm::zip(matrix.dims, matrix.strides)) last += (size - 1) * stride;
  return last + 1;
}

Operands randomOperands(const ContractionGemm &gemm, unsigned seed) {
  std::mt19937 draw(seed);
  auto filled = [&](int64_t count) {
    std::vector<int64_t> values(static_cast<size_t>(count));
    for (int64_t &value : values) value = static_cast<int64_t>(draw() % 19) - 9;
    return values;
  };
  return {filled(extentOf(gemm.a)), filled(extentOf(gemm.b)), filled(extentOf(gemm.c)), filled(gemm.n())};
}

int64_t &at(std::vector<int64_t> &storage, const GemmMatrix &matrix, int64_t first, int64_t batch, int64_t row,
            int64_t column) {
  bool isBatched = matrix.dims.size() > 2 && matrix.dims[0] > 1;
  size_t last = matrix.dims.size() - 1;
  int64_t place = first + row * matrix.strides[last - 1] + column * matrix.strides[last];
  return storage.at(static_cast<size_t>(place + (isBatched ? batch * matrix.strides[0] : 0)));
}

void run(const GemmPart &part, Operands &on) {
  const ContractionGemm &gemm = part.gemm;
  for (int64_t batch = 0; batch < gemm.batch(); ++batch)
    for (int64_t m = 0; m < gemm.m(); ++m)
      for (int64_t n = 0; n < gemm.n(); ++n) {
        int64_t &c = at(on.c, gemm.c, part.c, batch, m, n);
        if (!gemm.accumulate) c = 0;
        if (gemm.bias) c += on.bias.at(static_cast<size_t>(part.bias + n * gemm.bias->back()));
        for (int64_t k = 0; k < gemm.k(); ++k)
          c += at(on.a, gemm.a, part.a, batch, m, k) * at(on.b, gemm.b, part.b, batch, k, n);
      }
}

/// Of 16 bits, with rows at multiples of 8 elements; transposed: contiguous along the other dimension.
ContractionGemm gemmOf(int64_t m, int64_t n, int64_t k, bool turnsA, bool turnsB, int64_t batch = 1) {
  auto matrix = [&](int64_t rows, int64_t columns, bool isTurned) {
    int64_t row = isTurned ? 1 : static_cast<int64_t>(llvm::alignTo(columns, 8));
    int64_t column = isTurned ? static_cast<int64_t>(llvm::alignTo(rows, 8)) : 1;
    int64_t all = isTurned ? column * columns : row * rows;
    return GemmMatrix{ElementType::BF16, {batch, rows, columns}, {all, row, column}};
  };
  ContractionGemm gemm;
  gemm.a = matrix(m, k, turnsA), gemm.b = matrix(k, n, turnsB), gemm.c = matrix(m, n, false);
  return gemm;
}

void expectEqualToWhole(const ContractionGemm &gemm) {
  Operands whole = randomOperands(gemm, 1), inParts = whole;
  run({gemm}, whole);
  for (const GemmPart &part : alignedParts(gemm, 0)) run(part, inParts);
  EXPECT_EQ(inParts.c, whole.c);
}

TEST(AlignedParts, ComputeTheWhole) {
  for (int64_t m : {16, 21})
    for (int64_t n : {24, 25})
      for (int64_t k : {8, 15})
        for (int turns = 0; turns < 4; ++turns)
          for (bool accumulates : {false, true})
            for (bool hasBias : {false, true}) {
              ContractionGemm gemm = gemmOf(m, n, k, turns & 1, turns & 2, 3);
              gemm.accumulate = accumulates;
              if (hasBias) gemm.bias = {0, 0, 1};
              expectEqualToWhole(gemm);
            }
}

TEST(AlignedParts, EndTheLargestWithWholeVectors) {
  std::vector<GemmPart> parts = alignedParts(gemmOf(21, 25, 15, true, true), 0);
  // N is contiguous in c, M in a, K in b.
  ASSERT_EQ(parts.size(), 4u);
  const ContractionGemm &last = parts.back().gemm;
  EXPECT_EQ(last.m(), 16);
  EXPECT_EQ(last.n(), 24);
  EXPECT_EQ(last.k(), 8);
  EXPECT_TRUE(last.accumulate);
}

TEST(AlignedParts, LeaveDimensionsThatAreNowhereContiguous) {
  // M is contiguous in no matrix, K in b alone.
  std::vector<GemmPart> parts = alignedParts(gemmOf(21, 24, 16, false, true), 0);
  EXPECT_EQ(parts.size(), 1u);
}

TEST(AlignedParts, AreOneWhereNothingIsGained) {
  ContractionGemm odd = gemmOf(16, 25, 16, false, true);
  EXPECT_EQ(alignedParts(odd, 0).size(), 2u);
  EXPECT_EQ(alignedParts(odd).size(), 1u) << "too small";
  ContractionGemm shifted = odd;
  shifted.c.strides[1] = 25, shifted.c.strides[0] = 16 * 25;
  EXPECT_EQ(alignedParts(shifted, 0).size(), 1u) << "rows of the result begin anywhere";
  ContractionGemm single = odd;
  single.a.type = single.b.type = single.c.type = ElementType::F32;
  EXPECT_EQ(alignedParts(single, 0).size(), 1u) << "no matrix units";
  single.tf32 = true;
  EXPECT_EQ(alignedParts(single, 0).size(), 2u);
  ContractionGemm epilogue = odd;
  epilogue.epilogue = Epilogue::Gelu;
  EXPECT_EQ(alignedParts(epilogue, 0).size(), 1u);
}

} // namespace
} // namespace tessera::tests
