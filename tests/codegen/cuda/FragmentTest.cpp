//===- FragmentTest.cpp - which lane holds which elements of a matrix -------===//
//
// The tables below are written as in the PTX manual (Parallel Thread Execution ISA: "Matrix Fragments for mma.m16n8k16
// with floating point type", "Matrix Fragments for mma.m16n8k8", "ldmatrix"): by number of the element in a fragment.
// matrices.cuh describes the same by words of a fragment. The tests lay out elements by the tables, multiply them with
// the emulation of the instruction, and compare with the product of the matrices.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/nvrtc/Nvrtc.h"
#include "tests/codegen/cuda/EmulatedKernels.h"
#include <gtest/gtest.h>
#include <random>

using namespace tessera;
using namespace tessera::test;

namespace {

/// The position of an element of a fragment in its matrix.
struct Place {
  int row, column;
};

Place ofA(int lane, int i) {
  int groupID = lane >> 2, threadIDInGroup = lane % 4;
  int row = (i >= 0 && i < 2) || (i >= 4 && i < 6) ? groupID : groupID + 8;
  int column = i < 4 ? threadIDInGroup * 2 + (i & 0x1) : threadIDInGroup * 2 + (i & 0x1) + 8;
  return {row, column};
}
Place ofB(int lane, int i) {
  int groupID = lane >> 2, threadIDInGroup = lane % 4;
  int row = i < 2 ? threadIDInGroup * 2 + (i & 0x1) : threadIDInGroup * 2 + (i & 0x1) + 8;
  return {row, groupID};
}
Place ofC(int lane, int i) {
  int groupID = lane >> 2, threadIDInGroup = lane % 4;
  return {i < 2 ? groupID : groupID + 8, threadIDInGroup * 2 + (i & 0x1)};
}

/// For m16n8k8 with .tf32 operands.
Place ofNarrowA(int lane, int i) {
  int groupID = lane >> 2, threadIDInGroup = lane % 4;
  int row = i == 0 || i == 2 ? groupID : groupID + 8;
  return {row, i == 0 || i == 1 ? threadIDInGroup : threadIDInGroup + 4};
}
Place ofNarrowB(int lane, int i) {
  int groupID = lane >> 2, threadIDInGroup = lane % 4;
  return {i == 0 ? threadIDInGroup : threadIDInGroup + 4, groupID};
}

constexpr const char *narrowText = R"(#include "tessera.cuh"
extern "C" __global__ void __launch_bounds__(32)
multiply(const float *a, const float *b, const int *places_a, const int *places_b, const int *places_c, float *c) {
  const int lane = threadIdx.x;
  unsigned x[4], y[2];
  tsr::FragmentC sum;
  for (int w = 0; w < 4; ++w) x[w] = tsr::to_tf32(a[places_a[4 * lane + w]]);
  for (int w = 0; w < 2; ++w) y[w] = tsr::to_tf32(b[places_b[2 * lane + w]]);
  for (int v = 0; v < 4; ++v) sum.values[v] = c[places_c[4 * lane + v]];
  tsr::multiply_add_tf32(sum, x, y);
  for (int v = 0; v < 4; ++v) c[places_c[4 * lane + v]] = sum.values[v];
}
)";

constexpr const char *kernelText = R"(#include "tessera.cuh"
extern "C" __global__ void __launch_bounds__(32)
multiply(const TYPE *a, const TYPE *b, const int *places_a, const int *places_b, const int *places_c, float *c) {
  const int lane = threadIdx.x;
  tsr::FragmentA x;
  tsr::FragmentB y;
  tsr::FragmentC sum;
  const int *at_a = places_a + 8 * lane, *at_b = places_b + 4 * lane;
  for (int w = 0; w < 4; ++w) x.words[w] = tsr::packed(a[at_a[2 * w]], a[at_a[2 * w + 1]]);
  for (int w = 0; w < 2; ++w) y.words[w] = tsr::packed(b[at_b[2 * w]], b[at_b[2 * w + 1]]);
  for (int v = 0; v < 4; ++v) sum.values[v] = c[places_c[4 * lane + v]];
  tsr::multiply_add<TYPE>(sum, x, y);
  for (int v = 0; v < 4; ++v) c[places_c[4 * lane + v]] = sum.values[v];
}
extern "C" __global__ void __launch_bounds__(32)
load(const TYPE *from, TYPE *plain, TYPE *transposed) {
  TSR_SHARED(TYPE, matrices, 4 * 64);
  for (int i = threadIdx.x; i < 4 * 64; i += 32) matrices.set(i, from[i]);
  tsr::sync_block();
  unsigned words[4], others[4];
  tsr::load_matrices<false>(words, matrices, 8 * threadIdx.x);
  tsr::load_matrices<true>(others, matrices, 8 * threadIdx.x);
  for (int m = 0; m < 4; ++m)
    for (int half = 0; half < 2; ++half) {
      plain[64 * m + 2 * threadIdx.x + half] = tsr::half_of<TYPE>(words[m], half);
      transposed[64 * m + 2 * threadIdx.x + half] = tsr::half_of<TYPE>(others[m], half);
    }
}
)";

std::string textFor(const std::string &type) {
  std::string text = kernelText;
  for (size_t at = text.find("TYPE"); at != std::string::npos; at = text.find("TYPE", at)) text.replace(at, 4, type);
  return text;
}

cuda::CudaKernel kernel(const std::string &symbol, const std::string &source, std::vector<std::string> types,
                        const std::vector<int64_t> &bytes) {
  std::vector<KernelArgument> arguments;
  for (size_t i = 0; i < types.size(); ++i) arguments.push_back({bytes[i], types[i].rfind("const", 0) != 0});
  return {symbol, source, std::move(types), 1, 32, std::move(arguments)};
}

/// The bits of a small integer, which is exact in every type.
uint16_t bitsOf(float x, bool isBf16) {
  if (isBf16) return std::bit_cast<uint32_t>(x) >> 16;
  return std::bit_cast<uint16_t>(static_cast<_Float16>(x));
}

class Fragments : public testing::TestWithParam<const char *> {};

TEST_P(Fragments, AreThoseOfThePtxManual) {
  std::string type = GetParam(), in = "const " + type + " *";
  bool isBf16 = type == "tsr::bf16";
  cuda::CudaKernel multiply =
      kernel("multiply", textFor(type), {in, in, "const int *", "const int *", "const int *", "float *"},
             {512, 256, 1024, 512, 512, 512});
  EmulatedKernels loaded({&multiply});
  ASSERT_EQ(loaded.errors, "");
  std::mt19937 random(1);
  float a[16][16], b[16][8], c[16][8];
  std::vector<uint16_t> bitsA(256), bitsB(128);
  std::vector<float> sums(128);
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j)
      bitsA[16 * i + j] = bitsOf(a[i][j] = static_cast<float>(static_cast<int>(random() % 17) - 8), isBf16);
    for (int j = 0; j < 8; ++j) {
      bitsB[8 * i + j] = bitsOf(b[i][j] = static_cast<float>(static_cast<int>(random() % 17) - 8), isBf16);
      sums[8 * i + j] = c[i][j] = static_cast<float>(random() % 100);
    }
  }
  std::vector<int> placesA, placesB, placesC;
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 8; ++i) placesA.push_back(16 * ofA(lane, i).row + ofA(lane, i).column);
    for (int i = 0; i < 4; ++i) placesB.push_back(8 * ofB(lane, i).row + ofB(lane, i).column);
    for (int i = 0; i < 4; ++i) placesC.push_back(8 * ofC(lane, i).row + ofC(lane, i).column);
  }
  // Each element of a matrix is in exactly one fragment.
  EXPECT_EQ(std::set<int>(placesA.begin(), placesA.end()).size(), 256u);
  EXPECT_EQ(std::set<int>(placesB.begin(), placesB.end()).size(), 128u);
  EXPECT_EQ(std::set<int>(placesC.begin(), placesC.end()).size(), 128u);
  ASSERT_EQ(
      loaded.run(multiply, {bitsA.data(), bitsB.data(), placesA.data(), placesB.data(), placesC.data(), sums.data()}),
      "");
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      float sum = c[i][j];
      for (int k = 0; k < 16; ++k) sum += a[i][k] * b[k][j];
      EXPECT_EQ(sums[8 * i + j], sum) << i << ", " << j;
    }
}

TEST(NarrowFragments, AreThoseOfThePtxManual) {
  cuda::CudaKernel multiply =
      kernel("multiply", narrowText,
             {"const float *", "const float *", "const int *", "const int *", "const int *", "float *"},
             {512, 256, 512, 256, 512, 512});
  EmulatedKernels loaded({&multiply});
  ASSERT_EQ(loaded.errors, "");
  std::mt19937 random(2);
  float a[16][8], b[8][8];
  std::vector<float> c(128), sums;
  for (auto &row : a)
    for (float &x : row) x = static_cast<float>(static_cast<int>(random() % 17) - 8);
  for (auto &row : b)
    for (float &x : row) x = static_cast<float>(static_cast<int>(random() % 17) - 8);
  for (float &x : c) x = static_cast<float>(random() % 100);
  sums = c;
  std::vector<int> placesA, placesB, placesC;
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) placesA.push_back(8 * ofNarrowA(lane, i).row + ofNarrowA(lane, i).column);
    for (int i = 0; i < 2; ++i) placesB.push_back(8 * ofNarrowB(lane, i).row + ofNarrowB(lane, i).column);
    for (int i = 0; i < 4; ++i) placesC.push_back(8 * ofC(lane, i).row + ofC(lane, i).column);
  }
  EXPECT_EQ(std::set<int>(placesA.begin(), placesA.end()).size(), 128u);
  EXPECT_EQ(std::set<int>(placesB.begin(), placesB.end()).size(), 64u);
  ASSERT_EQ(loaded.run(multiply, {a, b, placesA.data(), placesB.data(), placesC.data(), sums.data()}), "");
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      float sum = c[8 * i + j];
      for (int k = 0; k < 8; ++k) sum += a[i][k] * b[k][j];
      EXPECT_EQ(sums[8 * i + j], sum) << i << ", " << j;
    }
}

/// Lane l holds elements 2 (l % 4) and the next of row l / 4 of each matrix; transposed: of column l / 4.
TEST_P(Fragments, OfMatricesInSharedMemory) {
  std::string type = GetParam();
  cuda::CudaKernel load =
      kernel("load", textFor(type), {"const " + type + " *", type + " *", type + " *"}, {512, 512, 512});
  EmulatedKernels loaded({&load});
  ASSERT_EQ(loaded.errors, "");
  std::vector<uint16_t> from(256), plain(256), transposed(256);
  for (int i = 0; i < 256; ++i) from[i] = static_cast<uint16_t>(i);
  ASSERT_EQ(loaded.run(load, {from.data(), plain.data(), transposed.data()}), "");
  for (int matrix = 0; matrix < 4; ++matrix)
    for (int lane = 0; lane < 32; ++lane)
      for (int half = 0; half < 2; ++half) {
        int group = lane / 4, number = 2 * (lane % 4) + half, at = 64 * matrix + 2 * lane + half;
        EXPECT_EQ(plain[at], 64 * matrix + 8 * group + number);
        EXPECT_EQ(transposed[at], 64 * matrix + 8 * number + group);
      }
}

TEST_P(Fragments, CompileForGpus) {
  std::string problem;
  const cuda::Nvrtc *nvrtc = cuda::Nvrtc::get(problem);
  if (!nvrtc) GTEST_SKIP() << problem;
  for (const char *architecture : {"sm_80", "sm_90a", "sm_100a"}) {
    cuda::Compilation result = nvrtc->compile(textFor(GetParam()), "fragments", architecture);
    EXPECT_NE(result.code, "") << result.log;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Fragments, testing::Values("tsr::bf16", "tsr::f16"),
                         [](const auto &info) { return std::string(info.param).substr(5); });

} // namespace
