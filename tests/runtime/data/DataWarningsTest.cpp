#include "runtime/data/DataWarnings.h"
#include "tests/runtime/TemporaryFolder.h"
#include "tests/runtime/data/FileContents.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::runtime;
using namespace tessera::tests;
using enum DataFormat;
using Lines = std::vector<std::string>;

namespace {

/// Rows of a float and a class.
class Warnings : public testing::Test {
protected:
  void add(const std::string &name, const std::string &text) {
    DataSpec spec = {name, Csv, "batch", 0, 16, {{"train", {folder.write(name + ".csv", text)}}}, 0, true, {}};
    spec.fields = {{"x", {}, 0, {}}, {"y", {}, 1, {}}};
    manifest.data.push_back(spec);
    int64_t offset = static_cast<int64_t>(entry.inputs.size()) * 16;
    entry.inputs.push_back({name + ".x", "data", name, "x", ElementType::F32, {{"batch", 4}}, 0, offset, 16});
    entry.inputs.push_back({name + ".y", "data", name, "y", ElementType::I32, {{"batch", 4}}, 3, offset + 16, 16});
  }
  std::string said(const std::vector<std::string> &options = {}, int recorded = 2) {
    DataFiles files(manifest.data, options);
    files.takeRowOrder(recorded, "checkpoint");
    return fmt::format(
        "{}", fmt::join(dataWarnings(manifest, files, openDataSet(manifest, entry, files, Split::Train)), "\n"));
  }
  static std::string rows(int count, int classes, bool isSorted) {
    std::string text;
    for (int i = 0; i < count; ++i) text += fmt::format("{},{}\n", i, isSorted ? i * classes / count : i % classes);
    return text;
  }
  TemporaryFolder folder;
  Manifest manifest;
  EntryFunction entry;
};

TEST_F(Warnings, NoneForUsualData) {
  add("d", rows(20, 3, false));
  manifest.data[0].valFraction = 0.2;
  EXPECT_EQ(said(), "");
  manifest.data[0].valSeed = 0;
  EXPECT_EQ(said(), "");
  folder.write("val.csv", rows(20, 2, false)); // as large as the training file
  EXPECT_EQ(said({"val=" + (folder / "val.csv")}), "");
}

TEST_F(Warnings, BatchLargerThanTheData) {
  add("d", rows(3, 3, false));
  EXPECT_NE(said().find("a batch has 4 rows, the training data of 'd' only 3"), std::string::npos) << said();
}

TEST_F(Warnings, ValidationFileThatIsATrainingFile) {
  add("d", rows(20, 3, false));
  std::string train = folder / "d.csv", link = folder / "link.csv", copy = folder.write("copy.csv", readFile(train));
  std::filesystem::create_symlink(train, link);
  for (const std::string &path : {train, link, folder.path + "/./d.csv"}) {
    std::string warning = said({"val=" + path});
    EXPECT_NE(warning.find("the validation file " + path + " is a training file"), std::string::npos) << warning;
  }
  std::string warning = said({"val=" + copy});
  EXPECT_NE(warning.find("copy.csv has the content of a training file"), std::string::npos) << warning;
}

TEST_F(Warnings, TrainingFileThatIsGivenTwice) {
  add("d", rows(20, 3, false));
  std::string path = folder / "d.csv", copy = folder.write("copy.csv", readFile(path));
  Lines &train = manifest.data[0].splits["train"];
  train = {path, folder.write("other.csv", rows(20, 2, false))};
  EXPECT_EQ(said(), "");
  train = {path, path};
  EXPECT_NE(said().find("d.csv is among the training files more than once: each of its rows counts twice"),
            std::string::npos)
      << said();
  EXPECT_EQ(said().find("held out"), std::string::npos);
  manifest.data[0].valFraction = 0.2;
  EXPECT_NE(said().find("rows that are held out for validation are trained on"), std::string::npos) << said();
  train = {copy, path};
  EXPECT_NE(said().find("d.csv is among the training files with the content of another one"), std::string::npos)
      << said();
}

TEST_F(Warnings, TailOfSortedData) {
  add("d", rows(20, 3, true));
  EXPECT_EQ(said(), "") << "nothing is held out";
  manifest.data[0].valFraction = 0.2;
  EXPECT_NE(said().find("data 'd' is sorted by 'y', and its last rows are for validation"), std::string::npos)
      << said();
  EXPECT_NE(said().find("leave out `val_tail`"), std::string::npos) << said();
  manifest.data[0].valSeed = 0;
  EXPECT_EQ(said(), "");
  EXPECT_NE(said({}, 1).find("start a new run"), std::string::npos) << said({}, 1);
}

TEST_F(Warnings, SourcesInDifferentOrders) {
  add("a", rows(20, 3, false)), add("b", rows(20, 2, false));
  EXPECT_EQ(said(), "");
  EXPECT_NE(said({}, 1).find("'a' and 'b' have equally many rows and are read in different orders"), std::string::npos);
  manifest.data[1].shuffle = false;
  EXPECT_NE(said().find("give both the same `shuffle`"), std::string::npos) << said();
  manifest.data[1].shuffle = true;
  for (DataSpec &spec : manifest.data) spec.valFraction = 0.2, spec.valSeed = 0;
  EXPECT_EQ(said(), "");
  manifest.data[1].valSeed = 1;
  EXPECT_NE(said().find("give both the same `val`, `val_seed` and `val_tail`"), std::string::npos) << said();
}

TEST_F(Warnings, SourcesOfDifferentSizes) {
  add("a", rows(60, 3, false)), add("b", rows(59, 2, false));
  EXPECT_NE(said().find("of the data for training, 'a' has 60 rows, and 'b' has 59 rows: row n of one does not meet "
                        "row n of the other; if they belong together, put them into one file, or give both the same "
                        "rows"),
            std::string::npos)
      << said();
  folder.write("b.csv", rows(30, 2, false));
  EXPECT_EQ(said(), "") << "not meant to be paired";
  for (DataSpec &spec : manifest.data) spec.valFraction = 0.2, spec.valSeed = 0;
  EXPECT_EQ(said(), "");
  folder.write("b.csv", rows(59, 2, false)); // 48 are left of both, which are others
  EXPECT_NE(said().find("'a' has 48 of 60 rows (`val = 0.2`), and 'b' has 48 of 59 rows (`val = 0.2`): row n"),
            std::string::npos)
      << said();
}

TEST_F(Warnings, SourcesThatHoldOutDifferentFractions) {
  add("a", rows(60, 3, false)), add("b", rows(60, 2, false));
  manifest.data[0].valFraction = 0.2;
  EXPECT_NE(said().find("'a' has 48 of 60 rows (`val = 0.2`), and 'b' has 60 rows: row n"), std::string::npos)
      << said();
  manifest.data[1].valFraction = 0.1;
  EXPECT_NE(said().find("'a' has 48 of 60 rows (`val = 0.2`), and 'b' has 54 of 60 rows (`val = 0.1`): row n"),
            std::string::npos)
      << said();
  EXPECT_NE(said().find("give both the same `val`, `val_seed` and `val_tail`"), std::string::npos) << said();
  folder.write("b.csv", rows(600, 2, false));
  EXPECT_EQ(said(), "") << "not meant to be paired";
  manifest.data[1].valFraction = 0;
  EXPECT_NE(said().find("'a' has 48 of 60 rows (`val = 0.2`), and 'b' has 600 rows: row n"), std::string::npos)
      << said();
}

TEST_F(Warnings, ValidationFilesOfDifferentSizes) {
  add("a", rows(60, 3, false)), add("b", rows(60, 2, false));
  DataFiles files(manifest.data, {"a.val=" + folder.write("va.csv", rows(20, 3, false)),
                                  "b.val=" + folder.write("vb.csv", rows(19, 2, false))});
  DataSet training = openDataSet(manifest, entry, files, Split::Train),
          validation = openDataSet(manifest, entry, files, Split::Val);
  EXPECT_EQ(dataWarnings(manifest, files, training), std::vector<std::string>());
  std::vector<std::string> said = dataWarnings(manifest, files, training, &validation);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(
      said[0].find("of the data for validation, 'a' has 20 rows, and 'b' has 19 rows: the rows after the shorter"),
      std::string::npos)
      << said[0];
}

TEST_F(Warnings, NotesOnceForAllFiles) {
  std::string path = folder.write("x.npy", npyFile("<f4", "(4, 6)", std::string(96, '\0')));
  DataSpec spec = {"d", Npy, "batch", 0, 16, {}, 0.5, true, {}};
  spec.fields = {{"x", {{"a", 2}, {"b", 3}}, 0, {{"train", {path}}}}};
  manifest.data = {spec};
  entry.inputs = {{"d.x", "data", "d", "x", ElementType::F32, {{"batch", 2}, {"a", 2}, {"b", 3}}, 0, 0, 48}};
  DataFiles files(manifest.data, {});
  DataSet training = openDataSet(manifest, entry, files, Split::Train),
          validation = openDataSet(manifest, entry, files, Split::Val);
  EXPECT_EQ(dataNotes(&training, &validation).size(), 1u);
  EXPECT_EQ(dataNotes(&training, nullptr).size(), 1u);
}

} // namespace
