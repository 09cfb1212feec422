//===- SymbolicMemoryTest.cpp - which write each byte comes from ------------===//
//
// Random writes and reads, compared with a memory that stores for each byte the write that it comes from.
//
//===----------------------------------------------------------------------===//

#include "passes/memory/SymbolicMemory.h"
#include "gtest/gtest.h"
#include <random>

using namespace tessera;

namespace {
struct ByteMemory {
  explicit ByteMemory(int64_t bytes) : bytes(bytes, {1, -1, 0}) {}

  void write(int64_t address, int64_t count, int64_t tag) {
    for (int64_t i = 0; i < count; ++i) bytes[address + i] = {1, tag, i};
  }
  Content read(int64_t address, int64_t count) const {
    Content content;
    for (int64_t i = 0; i < count; ++i) append(content, bytes[address + i]);
    return content;
  }
  std::vector<Piece> bytes;
};

/// Both memories, of bytes that are all written.
struct Memories {
  explicit Memories(unsigned seed) : chance(seed), expected(size) { write(0, size); }

  int64_t number(int64_t least, int64_t most) { return std::uniform_int_distribution<int64_t>(least, most)(chance); }
  void write(int64_t address, int64_t count) {
    memory.write(address, count, tag);
    expected.write(address, count, tag++);
  }
  SymbolicMemory::Slots slots(int64_t pitch) {
    int64_t bytes = number(1, pitch), count = number(1, (size - bytes) / pitch + 1);
    return {number(0, size - (count - 1) * pitch - bytes), bytes, pitch, count};
  }
  void writeSlots(SymbolicMemory::Slots slots) {
    memory.writeSlots(slots, tag);
    for (int64_t i = 0; i < slots.count; ++i) expected.write(slots.address + i * slots.stride, slots.bytes, tag);
    ++tag;
  }
  void compare() {
    int64_t from = number(0, size - 1), count = number(1, size - from);
    EXPECT_EQ(memory.read(from, count), expected.read(from, count));
    SymbolicMemory::Slots read = slots(number(1, 12));
    Content content;
    for (int64_t i = 0; i < read.count; ++i)
      for (int64_t k = 0; k < read.bytes; ++k) append(content, expected.bytes[read.address + i * read.stride + k]);
    EXPECT_EQ(memory.readSlots(read), content);
    int64_t begin = number(0, count - 1), bytes = number(1, count - begin);
    EXPECT_EQ(part(memory.read(from, count), begin, bytes), expected.read(from + begin, bytes));
  }

  static constexpr int64_t size = 96;
  std::minstd_rand chance;
  SymbolicMemory memory;
  ByteMemory expected;
  int64_t tag = 0;
};
} // namespace

TEST(SymbolicMemory, HasTheLastWriteOfEachByte) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    Memories both(seed);
    for (int i = 0; i < 40; ++i) {
      int64_t from = both.number(0, Memories::size - 1);
      // Few pitches, so that slots often meet others of the same one.
      if (both.number(0, 2) > 0)
        both.writeSlots(both.slots(both.number(0, 1) ? 12 : both.number(1, 16)));
      else
        both.write(from, both.number(1, Memories::size - from));
      both.compare();
    }
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(SymbolicMemory, ReadsSlotsWhateverTheirNumber) {
  constexpr int64_t many = int64_t(1) << 40;
  SymbolicMemory memory;
  memory.writeSlots({0, 64, 192, many}, 1);
  memory.writeSlots({64, 128, 192, many}, 2);
  EXPECT_EQ(memory.readSlots({0, 64, 192, many}), Content({{64, 1, 0, many}}));
  EXPECT_EQ(memory.readSlots({64, 128, 192, many}), Content({{128, 2, 0, many}}));
  // One slot is overwritten.
  memory.write(192 * 1000 + 64, 64, 3);
  EXPECT_EQ(memory.readSlots({0, 64, 192, many}), Content({{64, 1, 0, many}}));
  EXPECT_EQ(memory.readSlots({64, 128, 192, many}),
            Content({{128, 2, 0, 1000}, {64, 3, 0}, {64, 2, 64}, {128, 2, 0, many - 1001}}));
}

TEST(SymbolicMemory, IsUnknownWhereNothingWasWritten) {
  SymbolicMemory memory;
  memory.writeSlots({0, 64, 128, 3}, 1);
  EXPECT_EQ(memory.read(0, 192), Content({{64, 1, 0}, {64, -1, 0}, {64, 1, 0}}));
}
