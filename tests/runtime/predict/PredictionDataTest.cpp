// What `predict` reads: which fields, which files, how many rows.

#include "runtime/predict/PredictionData.h"
#include "runtime/base/Error.h"
#include "tests/runtime/TemporaryFolder.h"
#include "tests/runtime/data/FileContents.h"

#include <gtest/gtest.h>

#include <tuple>

using namespace tessera;
using namespace tessera::runtime;
using namespace tessera::tests;

namespace {

/// Programs whose entry function `predict` takes two rows at once.
class Predicted : public testing::Test {
protected:
  DataSpec &addSource(const std::string &name, DataFormat format) {
    DataSpec &spec = manifest.data.emplace_back();
    spec.name = name, spec.format = format, spec.batchAxis = "batch";
    return spec;
  }
  void addInput(const std::string &source, const std::string &field, ElementType type, std::vector<AxisSpec> axes) {
    ValueSpec value;
    value.name = source + "." + field, value.role = "data", value.data = source, value.field = field;
    value.type = type, value.axes = std::move(axes);
    value.axes.insert(value.axes.begin(), {"batch", 2});
    value.bytes = bytesOf(type);
    for (const AxisSpec &axis : value.axes) value.bytes *= axis.size;
    manifest.entries["predict"].name = "predict";
    manifest.entries["predict"].inputs.push_back(value);
  }
  /// The number of rows, or the message.
  std::string rowsOf(const std::vector<std::string> &options, const std::vector<CopiedField> &copied = {}) {
    ValueSpec result; // computed from all inputs
    for (const ValueSpec &input : manifest.entries["predict"].inputs) result.reads.push_back(input.name);
    try {
      return fmt::format("{} rows", PredictionData(manifest, {&result}, options, copied).rows());
    } catch (const Error &e) {
      return e.what();
    }
  }
  TemporaryFolder folder;
  Manifest manifest;
};

TEST_F(Predicted, SequencesHaveTheValuesThatAreRead) {
  addSource("d", DataFormat::Text).seq = 4;
  std::string text = folder.write("text", "abcdefgh");
  addInput("d", "tokens", ElementType::I32, {{"seq", 4}});
  EXPECT_EQ(rowsOf({text}), "2 rows");
  EXPECT_EQ(rowsOf({text}, {{"next"}}), "1 rows");
  manifest.entries.clear();
  addInput("d", "next", ElementType::I32, {{"seq", 4}});
  EXPECT_EQ(rowsOf({text}), "1 rows");
}

TEST_F(Predicted, OneFieldNeedsNoName) {
  addSource("d", DataFormat::Npy).fields = {{"x", {{"feature", 2}}, 0, {}}, {"y", {}, 0, {}}};
  addInput("d", "x", ElementType::F32, {{"feature", 2}});
  std::filesystem::create_directory(folder / "seed=3");
  for (const char *name : {"x.npy", "seed=3/x.npy"}) {
    std::string path = folder.write(name, npyFile("<f4", "(3, 2)", std::string(24, '\0')));
    EXPECT_EQ(rowsOf({path}), "3 rows");
    EXPECT_EQ(rowsOf({"x=" + path}), "3 rows");
  }
  EXPECT_EQ(rowsOf({}), "'predict' reads the field d.x; name its file with --data x=PATH");
}

TEST_F(Predicted, FieldsOfSeveralSourcesAreNamedWithTheirSource) {
  for (const char *name : {"a", "b"}) {
    addSource(name, DataFormat::Csv).fields = {{"x", {}, 0, {}}, {std::string("only_") + name, {}, 1, {}}};
    addInput(name, "x", ElementType::F32, {});
  }
  std::string path = folder.write("two.csv", "1,2\n3,4\n");
  std::vector<std::string> data = {"a=" + path, "b=" + path};
  EXPECT_EQ(rowsOf(data, {{"x"}}), "--echo x: 2 sources have this field; write a.x or b.x");
  EXPECT_EQ(rowsOf(data, {{"b.x"}, {"only_a"}}), "2 rows");
  EXPECT_EQ(rowsOf(data, {{"y"}}), "the data has no field 'y'; its fields are a.x, a.only_a, b.x, b.only_b");
}

/// A label in column 0, and two features after it. Only the features are read.
class PredictedCsv : public Predicted {
protected:
  PredictedCsv() {
    DataSpec &spec = addSource("d", DataFormat::Csv);
    spec.fields = {{"y", {}, 0, {}}, {"x", {{"feature", 2}}, 1, {}}};
    addInput("d", "x", ElementType::F32, {{"feature", 2}});
  }
};

TEST_F(PredictedCsv, ColumnsAreCountedAsTheyAreRead) {
  EXPECT_EQ(rowsOf({folder.write("labels.csv", "kind,a,b\nred,1,2\nblue,3,4\n")}), "2 rows");
  EXPECT_EQ(rowsOf({folder.write("features.csv", "1,2\n3,4\n")}), "2 rows");
  // A quote inside of a cell does not begin a quoted one.
  EXPECT_EQ(rowsOf({folder.write("inches.csv", "5\" disk,b\n1,2\n3,4\n")}), "2 rows");
  EXPECT_EQ(rowsOf({folder.write("quoted.csv", "\xef\xbb\xbf\r\n\"a, \"\"b\",c\r\n1,2\r\n")}), "1 rows");
  std::string zipped = rowsOf({folder.write("zipped.csv", gzip("1,2\n3,4\n"))});
  EXPECT_NE(zipped.find("gzip"), std::string::npos) << zipped;
}

TEST_F(PredictedCsv, AllFilesHaveTheSameKindOfColumns) {
  folder.write("a.csv", "1,2\n3,4\n");
  folder.write("b.csv", "5,6\n");
  folder.write("c.csv", "0,5,6\n");
  folder.write("d.csv", "0,5,6,unused\n");
  folder.write("e.csv", "\n");
  EXPECT_EQ(rowsOf({folder / "{a,e,b}.csv"}), "3 rows");
  EXPECT_EQ(rowsOf({folder / "{e,c,d}.csv"}), "2 rows");
  for (auto [first, second, columns] : {std::tuple("a", "c", 3), {"c", "a", 3}, {"a", "d", 4}}) {
    std::string said = rowsOf({fmt::format("{}/{{{},{}}}.csv", folder.path, first, second)});
    EXPECT_NE(said.find("a.csv has 2"), std::string::npos) << said;
    EXPECT_NE(said.find(fmt::format(".csv has {}", columns)), std::string::npos) << said;
    EXPECT_NE(said.find("predict each by itself"), std::string::npos) << said;
  }
  // The first columns are the same ones with and without others after them.
  manifest.data[0].fields = {{"x", {{"feature", 2}}, 0, {}}, {"y", {}, 2, {}}};
  EXPECT_EQ(rowsOf({folder / "{a,c}.csv"}), "3 rows");
}

} // namespace
