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

/// Runs the loop of two stacks that share storage: every slot that is read must not have been written over.
static void expectTurns(const Lifetime &old, int64_t atOld, const Lifetime &fresh, int64_t atFresh) {
  int64_t slots = old.emptied.slots, oldSlot = old.bytes / slots, newSlot = fresh.bytes / slots;
  for (int64_t step = 0; step < slots; ++step)
    for (int64_t later = step; later < slots; ++later) {
      auto slot = [&](int64_t at) { return old.emptied.backwards ? slots - 1 - at : at; };
      int64_t written = atFresh + slot(step) * newSlot, read = atOld + slot(later) * oldSlot;
      ASSERT_TRUE(written + newSlot <= read || read + oldSlot <= written) << "step " << step << ", " << later;
    }
}

TEST(Offsets, StacksTakeTurns) {
  for (bool backwards : {false, true})
    for (unsigned seed = 0; seed < 200; ++seed) {
      std::mt19937 random(seed);
      int64_t slots = 1 + random() % 12;
      std::vector<Lifetime> buffers;
      for (int i = 0; i < 8; ++i) {
        bool isOld = random() % 2;
        Lifetime buffer{64 * slots * static_cast<int64_t>(1 + random() % 9), isOld ? 0 : 5, isOld ? 6 : 9};
        if (random() % 4) (isOld ? buffer.emptied : buffer.filled) = {3, slots, backwards};
        buffers.push_back(buffer);
      }
      Packing packing = packBuffers(buffers);
      for (size_t i = 0; i < buffers.size(); ++i)
        for (size_t j = 0; j < buffers.size(); ++j) {
          if (i == j) continue;
          if (buffers[i].emptied.loop == 3 && buffers[j].filled.loop == 3)
            expectTurns(buffers[i], packing.offsets[i], buffers[j], packing.offsets[j]);
          else if (buffers[j].emptied.loop != 3 || buffers[i].filled.loop != 3)
            ASSERT_FALSE(overlap(buffers[i], packing.offsets[i], buffers[j], packing.offsets[j])) << i << " and " << j;
        }
    }
}

/// Emptied from the end the new stack lies above the old one, from the beginning below it.
TEST(Offsets, AStackOfEqualSlotsNeedsOneMore) {
  for (bool backwards : {false, true}) {
    Lifetime old{12 * 640, 0, 6, {0, 12, backwards}}, fresh{12 * 640, 5, 11, {}, {0, 12, backwards}};
    std::vector<Lifetime> buffers{backwards ? old : fresh, backwards ? fresh : old};
    EXPECT_EQ(packBuffers(buffers).bytes, 13 * 640);
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
