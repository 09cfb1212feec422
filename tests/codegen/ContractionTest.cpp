//===- ContractionTest.cpp - generated contractions, compared with loops --===//

#include "ContractionHarness.h"
#include "runtime/machine/CpuFeatures.h"
#include "gtest/gtest.h"
#include <bit>
#include <cmath>
#include <memory>
#include <random>
#include <tuple>

using namespace tessera;
using namespace tessera::test;

namespace {

/// bf16 is the upper half of f32. Rounds to the nearest, ties to even.
uint16_t toBf16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float fromBf16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

const llvm::fltSemantics &formatOf(ElementType type) {
  return type == ElementType::E4M3 ? llvm::APFloat::Float8E4M3FN() : llvm::APFloat::Float8E5M2();
}

uint8_t toFp8(ElementType type, float value) {
  llvm::APFloat rounded(value);
  bool losesInfo;
  rounded.convert(formatOf(type), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return static_cast<uint8_t>(rounded.bitcastToAPInt().getZExtValue());
}

float fromFp8(ElementType type, uint8_t bits) {
  return static_cast<float>(llvm::APFloat(formatOf(type), llvm::APInt(8, bits)).convertToDouble());
}

/// Elements of a type, with a margin on both sides that must not be written.
class Elements {
public:
  Elements(ElementType type, size_t count) : type(type), bytes((count + 2 * margin) * bytesOf(type), untouched) {}
  void *data() { return bytes.data() + margin * bytesOf(type); }
  size_t size() const { return bytes.size() / bytesOf(type) - 2 * margin; }
  float get(size_t i) {
    if (type == ElementType::F32) return static_cast<float *>(data())[i];
    if (isFp8(type)) return fromFp8(type, static_cast<uint8_t *>(data())[i]);
    return type == ElementType::BF16 ? fromBf16(static_cast<uint16_t *>(data())[i])
                                     : static_cast<float>(static_cast<_Float16 *>(data())[i]);
  }
  void set(size_t i, float value) {
    if (type == ElementType::F32)
      static_cast<float *>(data())[i] = value;
    else if (isFp8(type))
      static_cast<uint8_t *>(data())[i] = toFp8(type, value);
    else if (type == ElementType::BF16)
      static_cast<uint16_t *>(data())[i] = toBf16(value);
    else
      static_cast<_Float16 *>(data())[i] = static_cast<_Float16>(value);
  }
  std::vector<float> all() {
    std::vector<float> values(size());
    for (size_t i = 0; i < size(); ++i) values[i] = get(i);
    return values;
  }
  void fill(std::mt19937 &random) {
    std::uniform_real_distribution<float> values(-1, 1);
    for (size_t i = 0; i < size(); ++i) set(i, values(random));
  }
  bool isMarginIntact() const {
    for (size_t i = 0; i < margin * bytesOf(type); ++i)
      if (bytes[i] != untouched || bytes[bytes.size() - 1 - i] != untouched) return false;
    return true;
  }

private:
  static constexpr size_t margin = 64;
  static constexpr char untouched = 0x7b;
  ElementType type;
  std::vector<char> bytes;
};

int64_t extent(const std::vector<int64_t> &dims, const std::vector<int64_t> &strides) {
  int64_t last = 0;
  for (size_t i = 0; i < dims.size(); ++i) last += (dims[i] - 1) * strides[i];
  return last + 1;
}

/// c in double precision, with the absolute sums that bound its rounding.
void reference(const ContractionGemm &d, Elements &aElements, Elements &bElements, Elements *biasElements,
               Elements &cElements, std::vector<double> &result, std::vector<double> &magnitude) {
  int64_t batch = d.c.dims[0], m = d.c.dims[1], n = d.c.dims[2], k = d.a.dims[2];
  std::vector<float> a = aElements.all(), b = bElements.all(), c = cElements.all();
  std::vector<float> bias = biasElements ? biasElements->all() : std::vector<float>(n, 0.0f);
  for (int64_t x = 0; x < batch; ++x)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        int64_t at = x * d.c.strides[0] + i * d.c.strides[1] + j * d.c.strides[2];
        double sum = (d.accumulate ? c[at] : 0.0) + bias[j], size = std::abs(sum);
        for (int64_t p = 0; p < k; ++p) {
          double left = a[(d.a.dims[0] > 1 ? x * d.a.strides[0] : 0) + i * d.a.strides[1] + p * d.a.strides[2]];
          double right = b[(d.b.dims[0] > 1 ? x * d.b.strides[0] : 0) + p * d.b.strides[1] + j * d.b.strides[2]];
          sum += left * right, size += std::abs(left * right);
        }
        result[at] = sum, magnitude[at] = size;
      }
}

/// Whether this machine runs micro-kernels on AMX.
bool hasAmx() {
  return runtime::missingCpuFeatures(
             {std::begin(CpuTarget::amxInstructionSets), std::end(CpuTarget::amxInstructionSets)})
      .empty();
}

/// Operands and result of one GEMM, and the expected result.
struct GemmData {
  GemmData(const ContractionGemm &d, Elements *sharedA, Elements *sharedB, std::mt19937 &random)
      : ownA(d.a.type, extent(d.a.dims, d.a.strides)), ownB(d.b.type, extent(d.b.dims, d.b.strides)),
        c(d.c.type, extent(d.c.dims, d.c.strides)), bias(ElementType::F32, d.c.dims[2]), a(sharedA ? *sharedA : ownA),
        b(sharedB ? *sharedB : ownB), expected(c.size()), magnitude(c.size(), -1) {
    for (Elements *elements : {&ownA, &ownB, &c, &bias}) elements->fill(random);
    reference(d, a, b, d.bias ? &bias : nullptr, c, expected, magnitude);
    before = c.all();
  }
  void compare(const ContractionGemm &d);

  Elements ownA, ownB, c, bias, &a, &b;
  std::vector<double> expected, magnitude;
  std::vector<float> before;
};

void GemmData::compare(const ContractionGemm &d) {
  EXPECT_TRUE(c.isMarginIntact());
  // Half a unit in the last place of the result: with the implicit one, bf16 has 8 mantissa bits and fp16 has 11.
  double ulp = d.c.type == ElementType::F32 ? 0 : d.c.type == ElementType::BF16 ? 0x1p-8 : 0x1p-11;
  double least = d.c.type == ElementType::F16 ? 0x1p-25 : 0; // where it is subnormal
  std::vector<float> got = c.all();
  for (size_t i = 0; i < c.size(); ++i) {
    if (magnitude[i] < 0) {
      EXPECT_EQ(got[i], before[i]) << "wrote between the rows";
      continue;
    }
    // Each rounding error is at most half a unit in the last place (6e-8) of a partial sum, which is at most the
    // magnitude. The sum of k errors grows like a random walk.
    double bound = magnitude[i] * 6e-8 * (2 + std::sqrt(double(d.a.dims[2]))) + std::abs(expected[i]) * ulp + least;
    EXPECT_NEAR(got[i], expected[i], bound) << "at " << i;
    if (testing::Test::HasFailure()) break;
  }
}

using Adjust = llvm::function_ref<void(CpuTarget &)>;
constexpr auto unchanged = [](CpuTarget &) {};

/// Runs a contraction, or horizontally fused GEMMs, in `pieces` ranges and compares. Returns all c.
std::vector<float> run(const CompiledContraction &compiled, const ContractionGemm &d, int pieces,
                       const FusedGemms &fused) {
  EXPECT_EQ(compiled.error, "");
  if (!compiled.code) return {};
  std::mt19937 random(7);
  std::vector<std::unique_ptr<GemmData>> gemms;
  for (int64_t i = 0; i < fused.count; ++i) {
    GemmData *first = i > 0 ? gemms.front().get() : nullptr;
    gemms.push_back(std::make_unique<GemmData>(d, first && fused.fusesColumns() ? &first->a : nullptr,
                                               first && fused.fusesRows() ? &first->b : nullptr, random));
  }

  std::vector<void *> args;
  for (int64_t i = 0; i < (fused.fusesRows() ? fused.count : 1); ++i) args.push_back(gemms[i]->a.data());
  int64_t columnGemms = fused.fusesColumns() ? fused.count : 1;
  for (int64_t i = 0; i < columnGemms; ++i) args.push_back(gemms[i]->b.data());
  for (int64_t i = 0; i < columnGemms; ++i) args.push_back(d.bias ? gemms[i]->bias.data() : nullptr);
  for (auto &gemm : gemms) args.push_back(gemm->c.data());
  std::vector<char> scratch(compiled.interface.scratchBytes + 192, 0x7f);
  char *aligned = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) & ~uintptr_t(63));
  int64_t iterations = compiled.interface.iterations;
  for (int piece = pieces - 1; piece >= 0; --piece) {
    int64_t begin = iterations * piece / pieces, end = iterations * (piece + 1) / pieces;
    if (begin < end) compiled.code(args.data(), begin, end, aligned);
  }
  for (size_t i = static_cast<size_t>(aligned - scratch.data()) + compiled.interface.scratchBytes; i < scratch.size();
       ++i)
    EXPECT_EQ(scratch[i], 0x7f) << "wrote after the end of the scratch memory";
  std::vector<float> all;
  for (auto &gemm : gemms) {
    gemm->compare(d);
    llvm::append_range(all, gemm->c.all());
  }
  return all;
}

/// Compiles for a processor, runs and compares; returns all c, to compare their bits. Code that uses AMX is also
/// compiled and compared without it.
std::vector<float> check(const ContractionGemm &d, int pieces, const char *march = "native", Adjust adjust = unchanged,
                         const FusedGemms &fused = {}) {
  auto compiled = std::make_unique<CompiledContraction>(d, march, adjust, fused);
  bool usesAmx = compiled->usesAmx;
  std::vector<float> got = run(*compiled, d, pieces, fused);
  if (usesAmx) {
    SCOPED_TRACE("without AMX");
    compiled.reset(); // only one library is loaded at a time
    auto withoutAmx = [&](CpuTarget &target) {
      adjust(target);
      target.hasAmx = false;
    };
    run(CompiledContraction(d, march, withoutAmx, fused), d, pieces, fused);
  }
  return got;
}

/// The same GEMM of another element type; the result has that type too if `roundsResult`, else f32.
ContractionGemm inType(ContractionGemm d, ElementType type, bool roundsResult) {
  d.a.type = d.b.type = type;
  if (roundsResult) d.c.type = type;
  return d;
}

/// Each fp8 type as a with the other one as b.
void checkFp8(ContractionGemm d, int pieces, const char *march = "native") {
  for (ElementType a : {ElementType::E4M3, ElementType::E5M2}) {
    d.a.type = a, d.b.type = a == ElementType::E4M3 ? ElementType::E5M2 : ElementType::E4M3;
    SCOPED_TRACE(std::string(elementTypeName(d.a.type)) + " and " + std::string(elementTypeName(d.b.type)));
    check(d, pieces, march);
  }
}

void checkLowPrecision(const ContractionGemm &d, int pieces, const char *march = "native") {
  checkFp8(d, pieces, march);
  for (ElementType type : {ElementType::BF16, ElementType::F16})
    for (bool roundsResult : {false, true}) {
      SCOPED_TRACE(testing::Message() << std::string(elementTypeName(type))
                                      << (roundsResult ? ", rounded" : ", to f32"));
      check(inType(d, type, roundsResult), pieces, march);
    }
}

TEST(Contraction, EveryRemainder) {
  for (int64_t m : {2, 13, 14, 15, 29})
    for (int64_t n : {2, 16, 31, 32, 33, 70})
      for (bool transposedA : {false, true})
        for (bool transposedB : {false, true}) {
          SCOPED_TRACE(testing::Message()
                       << m << " x " << n << (transposedA ? " T" : " N") << (transposedB ? "T" : "N"));
          check(denseGemm(1, m, n, 19, transposedA, transposedB), 1);
        }
}

TEST(Contraction, EveryTileShape) {
  for (int64_t n : {10, 16, 20, 40, 48, 60, 64})
    for (int64_t k : {40, 300})
      for (bool transposedA : {false, true}) check(denseGemm(1, 61, n, k, transposedA, !transposedA), 2);
}

TEST(Contraction, SeveralBlocks) {
  for (bool transposedA : {false, true})
    for (bool transposedB : {false, true}) {
      check(denseGemm(1, 300, 100, 600, transposedA, transposedB), 3);
      check(denseGemm(1, 40, 700, 515, transposedA, transposedB), 2);
      check(denseGemm(1, 800, 800, 515, transposedA, transposedB), 2); // of rows, columns and K
      check(denseGemm(1, 500, 70, 1, transposedA, transposedB), 2);
      // There are more panels than units in the next block of K: most have nothing to prefetch.
      check(denseGemm(1, 140, 4600, 273, transposedA, transposedB), 1);
    }
}

TEST(Contraction, PrefetchesWithinAndAcrossPages) {
  for (bool across : {false, true})
    for (bool transposedA : {false, true})
      for (int64_t n : {40, 200}) {
        ContractionGemm d = denseGemm(1, 600, n, 1300, transposedA, true);
        check(d, 2, "native", [&](CpuTarget &target) { target.prefetchesAcrossPages = across; });
      }
}

TEST(Contraction, BiasAndAccumulation) {
  for (bool accumulate : {false, true})
    for (bool bias : {false, true})
      for (int64_t k : {40, 600}) {
        ContractionGemm d = denseGemm(1, 50, 45, k, false, true);
        d.accumulate = accumulate;
        if (bias) d.bias = {0, 0, 1};
        SCOPED_TRACE(testing::Message() << "accumulate " << accumulate << ", bias " << bias << ", k " << k);
        check(d, 2);
      }
}

TEST(Contraction, BatchesAndStrides) {
  check(denseGemm(5, 20, 40, 30, false, true), 3);
  check(denseGemm(40, 33, 17, 12, true, false), 7);
  // Attention heads: the rows of all heads alternate.
  ContractionGemm d = denseGemm(6, 30, 28, 16, false, true);
  d.a.strides = {16, 96, 1}, d.b.strides = {16, 1, 96};
  check(d, 4);
  d.c.strides = {28, 28 * 6, 1};
  check(d, 4);
  ContractionGemm broadcast = denseGemm(4, 20, 40, 30, false, false);
  broadcast.b.dims[0] = 1;
  check(broadcast, 2);
}

/// Horizontally fused GEMMs, with all tiles, blocks and packings of both kinds.
TEST(Contraction, HorizontallyFused) {
  for (auto shared : {FusedGemms::A, FusedGemms::B})
    for (bool transposedA : {false, true})
      for (bool transposedB : {false, true})
        for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{29, 33, 19},
                               {28, 64, 40},
                               {300, 100, 600},
                               {20, 500, 300},
                               {140, 96, 1100},
                               {500, 17, 1}})
          for (ElementType type : {ElementType::F32, ElementType::BF16}) {
            SCOPED_TRACE(testing::Message()
                         << m << " x " << n << " x " << k << (transposedA ? " T" : " N") << (transposedB ? "T" : "N")
                         << ", shared " << shared << ", " << std::string(elementTypeName(type)));
            ContractionGemm d = inType(denseGemm(1, m, n, k, transposedA, transposedB), type, k == 600);
            check(d, 3, "native", unchanged, {3, shared});
            if (testing::Test::HasFailure()) return;
          }
}

TEST(Contraction, HorizontallyFusedWithBiasAndAccumulation) {
  for (bool accumulate : {false, true})
    for (bool hasBias : {false, true})
      for (int64_t k : {40, 600}) {
        ContractionGemm d = denseGemm(1, 50, 45, k, false, true);
        d.accumulate = accumulate;
        if (hasBias) d.bias = {0, 0, 1};
        check(d, 2, "native", unchanged, {5, FusedGemms::A});
        if (!hasBias) check(d, 2, "native", unchanged, {5, FusedGemms::B});
      }
}

TEST(Contraction, ThreadRangesChangeNoBitOfFusedGemms) {
  for (auto shared : {FusedGemms::A, FusedGemms::B})
    for (auto [m, n] : {std::pair<int64_t, int64_t>{300, 70}, {100, 200}}) {
      ContractionGemm d = denseGemm(1, m, n, 700, shared == FusedGemms::B, false);
      std::vector<float> whole = check(d, 1, "native", unchanged, {3, shared});
      for (int pieces : {2, 3, 7}) EXPECT_EQ(check(d, pieces, "native", unchanged, {3, shared}), whole);
    }
}

TEST(Contraction, ThreadRangesChangeNoBit) {
  for (bool transposedB : {false, true})
    for (auto [m, n] : {std::pair<int64_t, int64_t>{300, 200}, {100, 500}}) {
      ContractionGemm d = denseGemm(1, m, n, 700, false, transposedB);
      std::vector<float> whole = check(d, 1);
      for (int pieces : {2, 3, 7}) EXPECT_EQ(check(d, pieces), whole);
    }
}

TEST(Contraction, LowPrecisionInEveryLayout) {
  for (int64_t m : {2, 29})
    for (int64_t n : {2, 32, 70})
      for (int64_t k : {1, 19, 64})
        for (bool transposedA : {false, true})
          for (bool transposedB : {false, true}) {
            SCOPED_TRACE(testing::Message()
                         << m << " x " << n << " x " << k << (transposedA ? " T" : " N") << (transposedB ? "T" : "N"));
            checkLowPrecision(denseGemm(1, m, n, k, transposedA, transposedB), 1);
            if (testing::Test::HasFailure()) return;
          }
}

TEST(Contraction, LowPrecisionInSeveralBlocks) {
  for (bool transposedA : {false, true})
    for (bool transposedB : {false, true}) {
      checkLowPrecision(denseGemm(1, 300, 100, 1300, transposedA, transposedB), 3);
      checkLowPrecision(denseGemm(1, 20, 700, 2049, transposedA, transposedB), 2);
      check(inType(denseGemm(1, 800, 400, 4101, transposedA, transposedB), ElementType::BF16, true),
            2); // rows, columns and K
      checkLowPrecision(denseGemm(1, 500, 70, 1, transposedA, transposedB), 2);
    }
}

TEST(Contraction, LowPrecisionWithBiasAndInBatches) {
  ContractionGemm withBias = denseGemm(1, 50, 45, 600, false, true);
  withBias.bias = {0, 0, 1};
  checkLowPrecision(withBias, 2);
  for (int64_t k : {40, 600, 5000}) {
    ContractionGemm accumulating = denseGemm(1, 50, 45, k, true, false);
    accumulating.accumulate = true;
    check(inType(accumulating, ElementType::BF16, false), 2);
  }
  checkLowPrecision(denseGemm(5, 20, 40, 30, false, true), 3);
  checkLowPrecision(denseGemm(40, 33, 17, 12, true, false), 7);
  ContractionGemm heads = denseGemm(6, 30, 28, 16, false, true);
  heads.a.strides = {16, 96, 1}, heads.b.strides = {16, 1, 96}, heads.c.strides = {28, 28 * 6, 1};
  checkLowPrecision(heads, 4);
}

TEST(Contraction, LowPrecisionOnOtherProcessors) {
  // Vectors of 512 bits without multiply-adds of bf16 pairs, if this processor has them.
  bool isWide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  for (bool transposed : {false, true}) {
    checkLowPrecision(denseGemm(1, 50, 45, 301, transposed, !transposed), 2, "x86-64-v3");
    if (isWide) checkLowPrecision(denseGemm(1, 50, 45, 301, transposed, !transposed), 2, "x86-64-v4");
  }
}

TEST(Contraction, ThreadRangesChangeNoBitInLowPrecision) {
  for (ElementType type : {ElementType::BF16, ElementType::F16, ElementType::E4M3}) {
    ContractionGemm d = inType(denseGemm(1, 300, 200, 4200, false, true), type, !isFp8(type));
    std::vector<float> whole = check(d, 1);
    for (int pieces : {2, 3, 7}) EXPECT_EQ(check(d, pieces), whole);
  }
}

/// 1 to 4 tile registers, operands in place and packed, one block and several along each axis.
TEST(Contraction, OnAmx) {
  ContractionGemm square = inType(denseGemm(1, 64, 64, 64, false, false), ElementType::BF16, true);
  { // any machine generates code for a named processor
    CompiledContraction named(square, "sapphirerapids");
    EXPECT_EQ(named.error, "");
    EXPECT_TRUE(named.usesAmx);
  }
  EXPECT_FALSE(CompiledContraction(square, "znver4").usesAmx);
  if (!hasAmx()) GTEST_SKIP() << "this machine has no AMX, or its kernel does not let us use it";
  EXPECT_TRUE(CompiledContraction(square).usesAmx);
  for (int64_t m : {16, 33, 48, 64})
    for (int64_t n : {16, 17, 48})
      for (int64_t k : {31, 32, 33, 96})
        for (bool roundsResult : {false, true}) {
          SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << (roundsResult ? ", rounded" : ""));
          check(inType(denseGemm(1, m, n, k, false, false), ElementType::BF16, roundsResult), 1);
          if (testing::Test::HasFailure()) return;
        }
  ContractionGemm large = denseGemm(1, 416, 800, 2112, false, true);
  large.bias = {0, 0, 1};
  for (bool roundsResult : {false, true}) check(inType(large, ElementType::BF16, roundsResult), 3);
  large.accumulate = true;
  check(inType(large, ElementType::BF16, false), 3);
}

TEST(Contraction, OtherVectorLengths) {
  check(denseGemm(1, 50, 45, 300, false, true), 2, "x86-64-v3");
  check(denseGemm(1, 50, 45, 300, true, false), 2, "x86-64-v3");
  check(denseGemm(1, 29, 70, 19, false, false), 1, "x86-64-v3");
}

} // namespace
