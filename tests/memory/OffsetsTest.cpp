//===- OffsetsTest.cpp - packing buffers ----------------------------------------===//

#include "passes/memory/Offsets.h"
#include "gtest/gtest.h"
#include <random>

using namespace tessera;

static bool overlap(const Lifetime &a, int64_t atA, const Lifetime &b, int64_t atB) {
  bool inTime = a.start <= b.end && b.start <= a.end;
  return inTime && atA < atB + b.bytes && atB < atA + a.bytes;
}

static void expectValid(llvm::ArrayRef<Lifetime> buffers, const Packing &packing) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(packing.offsets[i] % bufferAlignment, 0);
    EXPECT_LE(packing.offsets[i] + buffers[i].bytes, packing.bytes);
    for (size_t j = 0; j < i; ++j)
      ASSERT_FALSE(overlap(buffers[i], packing.offsets[i], buffers[j], packing.offsets[j])) << i << " and " << j;
  }
}

/// A forward pass that saves values of equal layers, and the backward pass that reads them in reverse, with short-lived
/// values in between.
static std::vector<Lifetime> trainingStep(int layers, std::mt19937 &random) {
  std::vector<Lifetime> buffers;
  int end = 20 * layers;
  for (int layer = 0; layer < layers; ++layer) {
    int forward = 10 * layer, backward = end - 10 * layer;
    buffers.push_back({4096 + 64 * static_cast<int64_t>(random() % 8), forward, backward});
    buffers.push_back({1024, forward + 1, backward - 1});
    for (int i = 0; i < 4; ++i)
      buffers.push_back({512 + 64 * static_cast<int64_t>(random() % 40), forward + 2 * i, forward + 2 * i + 2});
    for (int i = 0; i < 4; ++i)
      buffers.push_back({512 + 64 * static_cast<int64_t>(random() % 40), backward - 2 * i - 2, backward - 2 * i});
  }
  return buffers;
}

TEST(Offsets, NothingNeedsNothing) {
  EXPECT_EQ(packBuffers({}).bytes, 0);
  EXPECT_EQ(liveBytesBound({}), 0);
}

TEST(Offsets, BuffersThatDoNotMeetShare) {
  std::vector<Lifetime> buffers{{100, 0, 1}, {100, 2, 3}};
  Packing packing = packBuffers(buffers);
  EXPECT_EQ(packing.bytes, 128);
  EXPECT_EQ(packing.offsets[0], packing.offsets[1]);
}

TEST(Offsets, EndsCount) {
  std::vector<Lifetime> buffers{{64, 0, 2}, {64, 2, 3}};
  EXPECT_EQ(packBuffers(buffers).bytes, 128);
}

TEST(Offsets, RandomLifetimesNeverOverlap) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::vector<Lifetime> buffers;
    for (int i = 0; i < 120; ++i) {
      int start = random() % 100;
      buffers.push_back({1 + static_cast<int64_t>(random() % 5000), start, start + static_cast<int>(random() % 30)});
    }
    Packing packing = packBuffers(buffers);
    expectValid(buffers, packing);
    EXPECT_EQ(packing.offsets, packBuffers(buffers).offsets);
  }
}

TEST(Offsets, TrainingStepsMeetTheBound) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    std::vector<Lifetime> buffers = trainingStep(40, random);
    Packing packing = packBuffers(buffers);
    expectValid(buffers, packing);
    EXPECT_LE(static_cast<double>(packing.bytes), 1.01 * static_cast<double>(liveBytesBound(buffers)))
        << "seed " << seed;
  }
}

TEST(Offsets, TenThousandBuffers) {
  std::mt19937 random(1);
  std::vector<Lifetime> buffers = trainingStep(1000, random);
  ASSERT_EQ(buffers.size(), 10000u);
  Packing packing = packBuffers(buffers);
  EXPECT_LE(static_cast<double>(packing.bytes), 1.01 * static_cast<double>(liveBytesBound(buffers)));
}
