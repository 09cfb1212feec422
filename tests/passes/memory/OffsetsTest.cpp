//===- OffsetsTest.cpp - packing buffers ----------------------------------------===//

#include "tests/passes/memory/LifetimeSets.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace tessera;
using namespace tessera::test;

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
    std::vector<Lifetime> buffers = randomLifetimes(120, 100, 30, random);
    Packing packing = packBuffers(buffers);
    expectValid(buffers, packing);
    EXPECT_EQ(packing.offsets, packBuffers(buffers).offsets);
  }
}

/// Whether a loop of two stacks may run: every slot that is read must not have been written over.
static bool mayShare(const Lifetime &old, int64_t atOld, const Lifetime &fresh, int64_t atFresh) {
  int64_t slots = old.emptied.slots, oldSlot = old.bytes / slots, newSlot = fresh.bytes / slots;
  for (int64_t step = 0; step < slots; ++step)
    for (int64_t later = step; later < slots; ++later) {
      auto slot = [&](int64_t at) { return old.emptied.backwards ? slots - 1 - at : at; };
      int64_t written = atFresh + slot(step) * newSlot, read = atOld + slot(later) * oldSlot;
      if (written + newSlot > read && read + oldSlot > written) return false;
    }
  return true;
}

/// Whether two buffers may have these offsets.
static bool mayBeAt(const Lifetime &a, int64_t atA, const Lifetime &b, int64_t atB) {
  if (a.emptied.loop >= 0 && a.emptied.loop == b.filled.loop) return mayShare(a, atA, b, atB);
  if (b.emptied.loop >= 0 && b.emptied.loop == a.filled.loop) return mayShare(b, atB, a, atA);
  return !overlap(a, atA, b, atB);
}

TEST(Offsets, StacksTakeTurns) {
  for (int64_t unit : {64, 16, 4}) // slots may be smaller than the alignment
    for (bool backwards : {false, true})
      for (unsigned seed = 0; seed < 300; ++seed) {
        std::mt19937 random(seed);
        std::vector<Lifetime> buffers = randomStacks(8, backwards, random);
        for (Lifetime &buffer : buffers) buffer.bytes = buffer.bytes / 64 * unit;
        Packing packing = packBuffers(buffers);
        for (size_t i = 0; i < buffers.size(); ++i)
          for (size_t j = 0; j < i; ++j)
            ASSERT_TRUE(mayBeAt(buffers[i], packing.offsets[i], buffers[j], packing.offsets[j]))
                << i << " and " << j << ", seed " << seed << ", unit " << unit;
      }
}

/// The least bytes of all packings: in some order each buffer is at the lowest offset above those before it that it may
/// have.
static int64_t leastBytes(llvm::ArrayRef<Lifetime> buffers) {
  std::vector<unsigned> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t least = INT64_MAX;
  do {
    std::vector<int64_t> offsets(buffers.size(), 0);
    int64_t bytes = 0, from = 0;
    for (auto next = order.begin(); next != order.end(); ++next) {
      int64_t &offset = offsets[*next];
      auto isFree = [&](unsigned other) { return mayBeAt(buffers[*next], offset, buffers[other], offsets[other]); };
      for (offset = from; !std::all_of(order.begin(), next, isFree);) offset += bufferAlignment;
      from = offset;
      bytes = std::max(bytes, offset + alignedBytes(buffers[*next].bytes));
    }
    least = std::min(least, bytes);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

TEST(Offsets, FewBuffersNeedLeast) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    std::vector<Lifetime> buffers = randomLifetimes(3 + seed % 5, 6, 4, random);
    for (Lifetime &buffer : buffers) buffer.bytes = 64 * (1 + buffer.bytes % 9);
    Packing packing = packBuffers(buffers);
    expectValid(buffers, packing);
    EXPECT_EQ(packing.bytes, leastBytes(buffers)) << "seed " << seed;
    EXPECT_TRUE(packing.isOptimal()) << "seed " << seed;
  }
}

/// Six units are live at each moment, but no packing has all of them side by side.
TEST(Offsets, AHigherBoundIsProven) {
  std::vector<Lifetime> buffers{{4, 0, 0}, {2, 0, 1}, {3, 1, 2}, {1, 2, 2}, {1, 1, 3}, {1, 2, 3}, {4, 3, 4}, {2, 4, 4}};
  for (Lifetime &buffer : buffers) buffer.bytes *= bufferAlignment;
  EXPECT_EQ(leastBytes(buffers), 7 * bufferAlignment);
  EXPECT_EQ(packingBound(buffers), 6 * bufferAlignment);
  Packing packing = packBuffers(buffers);
  expectValid(buffers, packing);
  EXPECT_EQ(packing.bytes, 7 * bufferAlignment);
  EXPECT_EQ(packing.bound, 7 * bufferAlignment);
}

/// Three old stacks, of which two are too small for the fresh ones to share with: only one pair does, which no sum of
/// live bytes shows.
TEST(Offsets, EachStackSharesWithOneOther) {
  StackUse use{0, 4, true};
  std::vector<Lifetime> buffers;
  for (int64_t slot : {4, 1, 1}) buffers.push_back({4 * 64 * slot, 0, 6, use, {}});
  for (int64_t slot : {3, 2}) buffers.push_back({4 * 64 * slot, 5, 9, {}, use});
  Packing packing = packBuffers(buffers);
  EXPECT_EQ(packing.bytes, leastBytes(buffers));
  EXPECT_EQ(packing.bound, packing.bytes);
  EXPECT_GT(packing.bound, liveBytesBound(buffers));
}

TEST(Offsets, FewStacksNeedLeast) {
  unsigned aboveLiveBytes = 0;
  for (bool backwards : {false, true})
    for (unsigned seed = 0; seed < 150; ++seed) {
      std::mt19937 random(seed);
      std::vector<Lifetime> buffers = randomStacks(2 + seed % 5, backwards, random);
      Packing packing = packBuffers(buffers);
      EXPECT_EQ(packing.bytes, leastBytes(buffers)) << "seed " << seed << (backwards ? ", backwards" : "");
      EXPECT_TRUE(packing.isOptimal()) << "seed " << seed;
      EXPECT_LE(liveBytesBound(buffers), packingBound(buffers)) << "seed " << seed;
      aboveLiveBytes += packing.bytes > liveBytesBound(buffers);
    }
  EXPECT_GT(aboveLiveBytes, 0u);
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
  expectValid(buffers, packing);
  EXPECT_LE(static_cast<double>(packing.bytes), 1.01 * static_cast<double>(liveBytesBound(buffers)));
}
