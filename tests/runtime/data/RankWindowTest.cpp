// Ranks together read what one rank reads: rows of a batch, windows of rows, padding, blocks.

#include "runtime/data/RankWindow.h"
#include "runtime/data/BatchLoader.h"
#include "tests/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::runtime;
using namespace tessera::tests;

namespace {

/// Bytes whose value is their place: 12 sequences of 5, and one value more.
class RankWindows : public testing::Test {
protected:
  static constexpr int64_t batch = 6, seq = 5;

  void SetUp() override {
    std::string text;
    for (int i = 0; i < 61; ++i) text += char(i);
    manifest.data = {{"d", DataFormat::Text, "batch", seq, 16, {{"train", {folder.write("t", text)}}}, 0, true, {}}};
    manifest.data.front().splits["val"] = {folder.write("v", text.substr(0, 4 * seq + 1))};
  }

  /// An entry function that reads parts of such sizes.
  static EntryFunction entryOf(int64_t rows, int64_t columns, std::vector<DividedAxis> divided) {
    ValueSpec value = {"d.tokens",
                       "data",
                       "d",
                       "tokens",
                       ElementType::I32,
                       {{"batch", rows}, {"seq", columns}},
                       /*of=*/256,
                       0,
                       4 * rows * columns,
                       {},
                       std::move(divided)};
    EntryFunction entry;
    entry.name = "step";
    entry.inputs = {value};
    return entry;
  }

  using Rows = std::vector<int32_t>;
  /// What the rank at these positions reads as batch `number`: shuffled, or in order.
  Rows batchOf(const EntryFunction &entry, const RankPositions &positions, int64_t number, bool isOrdered) {
    DataSet set =
        openDataSet(manifest, entry, DataFiles(manifest.data, {}), isOrdered ? Split::Val : Split::Train, positions);
    EXPECT_EQ(set.batch, batch);
    Rows rows(entry.inputs[0].elements(), -1);
    char *target = reinterpret_cast<char *>(rows.data());
    if (!isOrdered)
      fillTrainingBatch(set, 7, number, &target);
    else
      EXPECT_EQ(fillOrderedBatch(set, number, &target), 4);
    return rows;
  }
  Rows whole(int64_t number, bool isOrdered) { return batchOf(entryOf(batch, seq, {}), {}, number, isOrdered); }

  /// Expects that each rank of `data` x `tensor` ranks has its part of the batches, with the last row and place as
  /// padding.
  void expectParts(int data, int tensor, int64_t blocks = 1) {
    int64_t rows = (batch + data - 1) / data, columns = (seq + tensor - 1) / tensor;
    EntryFunction entry = entryOf(rows, columns, {{"batch", "data", batch, blocks}, {"seq", "tensor", seq}});
    for (bool isOrdered : {false, true})
      for (int64_t number = 0; number < (isOrdered ? 1 : 5); ++number) {
        Rows all = whole(number, isOrdered);
        for (int p = 0; p < data; ++p)
          for (int q = 0; q < tensor; ++q) {
            Rows expected;
            int64_t part = rows / blocks;
            for (int64_t i = 0; i < rows; ++i)
              for (int64_t j = 0; j < columns; ++j) {
                int64_t row = std::min(i / part * (batch / blocks) + p * part + i % part, batch - 1);
                expected.push_back(all[row * seq + std::min(q * columns + j, seq - 1)]);
              }
            EXPECT_EQ(batchOf(entry, {{"data", p}, {"tensor", q}}, number, isOrdered), expected)
                << data << "x" << tensor << " at " << p << ", " << q << ", batch " << number;
          }
      }
  }

  TemporaryFolder folder;
  Manifest manifest;
};

TEST_F(RankWindows, RowsOfABatch) {
  for (int ranks : {1, 2, 3, 6}) expectParts(ranks, 1);
}

TEST_F(RankWindows, RowsThatRanksDoNotDivide) {
  for (int ranks : {4, 5, 8}) expectParts(ranks, 1); // of 8, two ranks have padding only
}

TEST_F(RankWindows, WindowsOfRows) {
  for (int ranks : {2, 3, 4, 5, 7}) expectParts(1, ranks);
  expectParts(2, 2);
  expectParts(4, 3);
}

TEST_F(RankWindows, PartsOfEachBlock) {
  expectParts(3, 1, 2);
  expectParts(2, 2, 3);
  expectParts(1, 1, 2);
}

TEST_F(RankWindows, PaddingOfTheLastBatchIsThatOfAllRanks) {
  // 4 sequences in a batch of 6: the fourth one is repeated, on the rank that has none of its own too.
  Rows all = whole(0, /*isOrdered=*/true);
  EXPECT_EQ(all[3 * seq], all[5 * seq]);
  EntryFunction entry = entryOf(2, seq, {{"batch", "data", batch}});
  Rows last = batchOf(entry, {{"data", 2}}, 0, /*isOrdered=*/true);
  EXPECT_EQ(last[0], 3 * seq);
  EXPECT_EQ(last[seq], 3 * seq);
}

TEST_F(RankWindows, InnerAndOuterAxesOfARow) {
  ValueSpec value;
  value.type = ElementType::I32;
  value.axes = {{"batch", 1}, {"height", 2}, {"width", 2}, {"channel", 2}};
  value.bytes = 32;
  value.divided = {{"height", "a", 3}, {"width", "b", 3}};
  for (int a : {0, 1})
    for (int b : {0, 1}) {
      RowWindow window(value, {{"a", a}, {"b", b}});
      ASSERT_EQ(window.wholeElements(), 3 * 3 * 2);
      for (int i = 0; i < 18; ++i) reinterpret_cast<int32_t *>(window.row())[i] = i;
      std::vector<int32_t> part(8), expected;
      window.copyTo(reinterpret_cast<char *>(part.data()));
      for (int y : {0, 1})
        for (int x : {0, 1})
          for (int c : {0, 1}) expected.push_back((std::min(2 * a + y, 2) * 3 + std::min(2 * b + x, 2)) * 2 + c);
      EXPECT_EQ(part, expected);
    }
}

} // namespace
