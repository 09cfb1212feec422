// Batches: epochs, several sources, resuming, padding, files that change, `--data`.

#include "runtime/data/BatchLoader.h"
#include "runtime/base/Error.h"
#include "runtime/data/Permutation.h"
#include "tests/runtime/RefusedThreads.h"
#include "tests/runtime/TemporaryFolder.h"
#include "tests/runtime/data/FileContents.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>

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

TEST_F(Batches, RefusedThreadIsAnErrorThatSaysWhatToDo) {
  DataSet set = openSet(Split::Train);
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  std::string said;
  try {
    RefusedThreads refused;
    BatchLoader loader(set, 1, 0);
  } catch (const Error &e) {
    said = e.what();
  }
  EXPECT_TRUE(said.starts_with("cannot start the thread that reads the data: ")) << said;
  EXPECT_NE(said.find("lower --threads, or lift the limits on threads (ulimit -u)"), std::string::npos) << said;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&before, SIGTERM), sigismember(&after, SIGTERM));
}

TEST_F(Batches, OneSourceHasTheOrderOfItsSeed) {
  for (RowOrder order : {RowOrder::Separate, RowOrder::Joint}) {
    DataSet set = openSet(Split::Train);
    set.order = order;
    BatchLoader loader(set, 5, 0);
    for (int64_t batch = 0; batch < 8; ++batch) {
      std::vector<int32_t> arena = taken(loader);
      for (int64_t i = 0; i < 3; ++i) {
        int64_t position = batch * 3 + i;
        EXPECT_EQ(arena[i * 4] / 4, int64_t(Permutation(8, 5, position / 8)(position % 8)));
      }
    }
  }
}

/// Rows of one number, in sources of a csv file each.
class Sources : public testing::Test {
protected:
  void add(const std::string &name, int rows, double valFraction = 0, std::optional<uint64_t> valSeed = {}) {
    std::string text;
    for (int i = 0; i < rows; ++i) text += std::to_string(i) + "\n";
    DataSpec spec = {name, Csv, "batch", 0, 16, {{"train", {folder.write(name, text)}}}, valFraction, true, {}};
    spec.fields = {{"n", {}, 0, {}}};
    spec.valSeed = valSeed;
    manifest.data.push_back(spec);
    int64_t offset = static_cast<int64_t>(entry.inputs.size()) * 16;
    entry.inputs.push_back({name + ".n", "data", name, "n", ElementType::I32, {{"batch", 4}}, 1000, offset, 16});
  }
  /// Row numbers of the sources: [source][position].
  std::vector<std::vector<int32_t>> rows(const DataFiles &files, uint64_t seed, int batches) {
    DataSet set = openDataSet(manifest, entry, files, Split::Train);
    std::vector<std::vector<int32_t>> seen(set.names.size());
    std::vector<std::vector<int32_t>> memory(set.inputs.size(), std::vector<int32_t>(4));
    std::vector<char *> targets;
    for (auto &one : memory) targets.push_back(reinterpret_cast<char *>(one.data()));
    for (int batch = 0; batch < batches; ++batch) {
      fillTrainingBatch(set, seed, batch, targets.data());
      for (size_t i = 0; i < seen.size(); ++i) seen[i].insert(seen[i].end(), memory[i].begin(), memory[i].end());
    }
    return seen;
  }
  TemporaryFolder folder;
  Manifest manifest;
  EntryFunction entry;
};

TEST_F(Sources, WithEquallyManyRowsStayTogether) {
  add("features", 30), add("labels", 30), add("other", 31);
  auto seen = rows(DataFiles(manifest.data, {}), 7, 24);
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_FALSE(std::is_sorted(seen[0].begin(), seen[0].begin() + 30));
  // Sources of other sizes do not repeat the same pairs.
  std::set<std::pair<int, int>> pairs;
  for (size_t i = 0; i < seen[0].size(); ++i) pairs.emplace(seen[0][i], seen[2][i]);
  EXPECT_GT(pairs.size(), 80u);
}

TEST_F(Sources, KeepTheOrderOfOlderCheckpoints) {
  add("features", 30), add("labels", 30);
  DataFiles files(manifest.data, {});
  files.takeRowOrder(1, "checkpoint");
  auto seen = rows(files, 7, 7);
  for (int64_t position = 0; position < 28; ++position) {
    EXPECT_EQ(seen[0][position], int64_t(Permutation(30, 7, 0)(position)));
    EXPECT_EQ(seen[1][position], int64_t(Permutation(30, 7 + 0x51ed27, 0)(position)));
  }
  EXPECT_THROW(files.takeRowOrder(3, "checkpoint"), Error);
}

TEST_F(Sources, HeldOutRowsDoNotDependOnTheSeedOfTheRun) {
  add("features", 40, 0.25, 0), add("labels", 40, 0.25, 0);
  auto trained = [&](const DataFiles &files, uint64_t seed) {
    auto seen = rows(files, seed, 15); // two epochs
    EXPECT_EQ(seen[0], seen[1]);
    return std::set<int32_t>(seen[0].begin(), seen[0].end());
  };
  DataFiles files(manifest.data, {});
  std::set<int32_t> first = trained(files, 1);
  EXPECT_EQ(first.size(), 30u);
  EXPECT_EQ(trained(files, 2), first);
  EXPECT_TRUE(*first.rbegin() >= 30) << "the last rows are held out";
  EXPECT_EQ(files.describeHeldOut(manifest.data[0]), "0.25, seed 0");
  for (DataSpec &spec : manifest.data) spec.valSeed = 1;
  EXPECT_NE(trained(DataFiles(manifest.data, {}), 1), first);
  files.takeRowOrder(1, "checkpoint");
  EXPECT_EQ(files.describeHeldOut(manifest.data[0]), "0.25, tail");
  std::vector<int32_t> before = rows(files, 1, 15)[0];
  EXPECT_EQ(*std::max_element(before.begin(), before.end()), 29);
}

/// A file that is changed while a set is open ends the reading, before a batch with its zeros is used.
class ChangedFiles : public testing::Test {
protected:
  void open(DataFormat format, const std::string &bytes) {
    path = folder.write("file", bytes);
    bool isSequence = infoOf(format).isSequence();
    manifest.data = {{"d", format, "batch", 4, 16, {}, 0, false, {}}};
    if (isSequence)
      manifest.data[0].splits["train"] = {path};
    else
      manifest.data[0].fields = {{"tokens", {}, 0, {{"train", {path}}}}};
    entry.inputs = {{"d.tokens", "data", "d", "tokens", ElementType::I32, {{"batch", 3}, {"seq", 4}}, 256, 0, 48}};
    set = openDataSet(manifest, entry, DataFiles(manifest.data, {}), Split::Train);
    EXPECT_EQ(read(0), "no error");
  }
  std::string read(int64_t batch) {
    std::vector<int32_t> rows(12);
    char *target = reinterpret_cast<char *>(rows.data());
    try {
      fillTrainingBatch(set, 1, batch, &target);
      fillOrderedBatch(set, batch, &target);
    } catch (const Error &e) {
      return e.what();
    }
    return "no error";
  }
  TemporaryFolder folder;
  std::string path;
  Manifest manifest;
  EntryFunction entry;
  DataSet set;
};

TEST_F(ChangedFiles, CutShortOrWrittenToAreAnError) {
  std::vector<uint16_t> numbers(1001, 7);
  std::string bytes(1000, '\7');
  std::pair<DataFormat, std::string> files[] = {{Text, std::string(1001, 'a')},
                                                {Tokens, tokenFile(20240520, 1, 1001, bytesOf(numbers))},
                                                {Npy, npyFile("|u1", "(250, 4)", bytes)},
                                                {Idx, idxFile(8, {250, 4}, bytes)}};
  for (const auto &[format, content] : files)
    for (size_t left : {content.size() - 1, content.size() / 2}) {
      open(format, content);
      std::filesystem::resize_file(path, left);
      std::string said = read(80);
      EXPECT_NE(said.find("file: the file was changed while it was read: it had " + std::to_string(content.size())),
                std::string::npos)
          << infoOf(format).name << ": " << said;
      EXPECT_EQ(read(80), said); // not only once
    }
  // Truncated and written again between two batches.
  open(Text, std::string(1001, 'a'));
  auto later = std::filesystem::last_write_time(path) + std::chrono::seconds(1);
  folder.write("file", std::string(1001, 'b'));
  std::filesystem::last_write_time(path, later);
  EXPECT_NE(read(0).find("file: the file was written to while it was read"), std::string::npos);
}

TEST_F(ChangedFiles, ReplacedAndRemovedFilesStayAsTheyWere) {
  open(Text, std::string(1001, 'a'));
  std::filesystem::rename(folder.write("new", "short"), path);
  EXPECT_EQ(read(0), "no error");
  std::filesystem::remove(path);
  EXPECT_EQ(read(1), "no error");
  open(Idx, gzip(idxFile(8, {250, 4}, std::string(1000, '\7'))));
  std::filesystem::resize_file(path, 10); // inflated into memory
  EXPECT_EQ(read(1), "no error");
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
