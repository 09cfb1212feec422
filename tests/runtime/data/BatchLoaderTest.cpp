// Batches of one source: epochs, resuming, padding, `--data`.

#include "runtime/data/BatchLoader.h"
#include "runtime/base/Error.h"
#include "tests/runtime/TemporaryFolder.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::runtime;
using namespace tessera::tests;
using enum DataFormat;

namespace {

class Batches : public testing::Test {
protected:
  void SetUp() override {
    std::string text;
    for (int i = 0; i < 41; ++i) text += char(i); // 10 sequences of 4
    manifest.data = {{"d", Text, "batch", 4, 16, {{"train", {folder.write("t", text)}}}, 0.2, true, {}}};
    entry.inputs = {{"d.tokens", "data", "d", "tokens", ElementType::I32, {{"batch", 3}, {"seq", 4}}, 256, 0, 48},
                    {"d.next", "data", "d", "next", ElementType::I32, {{"batch", 3}, {"seq", 4}}, 256, 64, 48}};
    manifest.entries["step"] = entry;
  }
  DataSet openSet(Split split) { return openDataSet(manifest, entry, DataFiles(manifest.data, {}), split); }
  std::vector<int32_t> taken(BatchLoader &loader) {
    std::vector<int32_t> arena(32);
    loader.takeInto(reinterpret_cast<char *>(arena.data()));
    return arena;
  }
  TemporaryFolder folder;
  Manifest manifest;
  EntryFunction entry;
};

TEST_F(Batches, EpochsVisitEveryRowOnce) {
  DataSet set = openSet(Split::Train);
  ASSERT_EQ(set.readers[0]->rows(), 8);
  BatchLoader loader(set, 1, 0);
  std::vector<int> first;
  for (int batch = 0; batch < 8; ++batch) {
    std::vector<int32_t> arena = taken(loader);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(arena[i * 4] + 1, arena[16 + i * 4]);
      first.push_back(arena[i * 4] / 4);
    }
  }
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<int> rows(first.begin() + epoch * 8, first.begin() + epoch * 8 + 8);
    std::sort(rows.begin(), rows.end());
    EXPECT_EQ(rows, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  }
}

TEST_F(Batches, CanStartAtAnyPosition) {
  DataSet set = openSet(Split::Train);
  BatchLoader whole(set, 9, 0);
  for (int batch = 0; batch < 12; ++batch) {
    std::vector<int32_t> expected = taken(whole);
    BatchLoader resumed(set, 9, batch);
    EXPECT_EQ(taken(resumed), expected);
    BatchLoader stuck(set, 9, batch, /*repeatFirst=*/true);
    taken(stuck);
    EXPECT_EQ(taken(stuck), expected);
  }
}

TEST_F(Batches, OrderedPassPadsTheLastBatch) {
  DataSet set = openSet(Split::Val);
  ASSERT_EQ(set.readers[0]->rows(), 1);
  std::vector<int32_t> tokens(12, -1), next(12, -1);
  char *targets[] = {reinterpret_cast<char *>(tokens.data()), reinterpret_cast<char *>(next.data())};
  EXPECT_EQ(orderedBatches(set), 1);
  EXPECT_EQ(fillOrderedBatch(set, 0, targets), 1);
  for (int i = 4; i < 12; ++i) EXPECT_EQ(tokens[i], tokens[i % 4]); // the last row once more
}

TEST_F(Batches, InputsHaveTheOrderOfTheData) {
  EXPECT_NO_THROW(openSet(Split::Train));
  manifest.data[0].fields = {{"tokens", {{"place", 4}}, 0, {}}};
  EXPECT_THROW(openSet(Split::Train), Error);
  manifest.data[0].fields.clear();
  manifest.data[0].batchAxis = "seq";
  EXPECT_THROW(openSet(Split::Train), Error);
}

TEST_F(Batches, ErrorsReachTheCaller) {
  entry.inputs[0].of = entry.inputs[1].of = 20;
  DataSet set = openSet(Split::Train);
  BatchLoader loader(set, 1, 0);
  EXPECT_THROW(for (int i = 0; i < 10; ++i) taken(loader), Error);
}

TEST_F(Batches, DataOptions) {
  auto describe = [&](std::vector<std::string> options) { return DataFiles(manifest.data, options).describe(); };
  EXPECT_EQ(describe({"x.txt"}), "d=x.txt");
  EXPECT_EQ(describe({"x.txt", "val=y"}), "d=x.txt d.val=y");
  EXPECT_EQ(describe({"d=x.txt", "d.val=dir/y=1"}), "d=x.txt d.val=dir/y=1");
  EXPECT_THROW(describe({"e=x"}), Error);
  EXPECT_THROW(describe({"val="}), Error);
  try {
    describe({"d=x", "y"});
    ADD_FAILURE() << "expected an error";
  } catch (const Error &e) {
    std::string expected = "x already names these files; name several files by one pattern: --data '{x,y}'";
    EXPECT_NE(std::string(e.what()).find(expected), std::string::npos) << e.what();
  }
  manifest.data.push_back(manifest.data[0]);
  manifest.data[1].name = "e";
  EXPECT_THROW(describe({"x.txt"}), Error);
  manifest.data = {
      {"d", Idx, "batch", 0, 16, {}, 0, true, {{"x", {}, 0, {{"train", {"a"}}}}, {"y", {}, 0, {{"train", {"b"}}}}}}};
  EXPECT_EQ(describe({"x=i", "val.y=j"}), "d.x=i d.y=b d.val.y=j");
  EXPECT_THROW(describe({"i"}), Error);
  manifest.data[0].fields[1].name = "interval";
  auto evaluated = [&](const std::string &option) { return DataFiles(manifest.data, {option}, Split::Val).describe(); };
  for (const char *option : {"interval=j", "val.interval=j", "d.interval=j"})
    EXPECT_EQ(evaluated(option), "d.interval=b d.x=a d.val.interval=j");
  EXPECT_THROW(evaluated("train.x=j"), Error);
}

} // namespace
