// Columns of csv files that are taken twice, or that have other names in another file.

#include "runtime/data/ColumnWarnings.h"
#include "tests/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::runtime;
using namespace tessera::tests;

namespace {

/// A source with a feature of two elements and a label.
class CsvColumns : public testing::Test {
protected:
  void SetUp() override {
    DataSpec spec;
    spec.name = "d", spec.format = DataFormat::Csv, spec.batchAxis = "batch";
    spec.fields.resize(2);
    spec.fields[0].name = "x", spec.fields[1].name = "y", spec.fields[1].type = ElementType::I32;
    manifest.data = {spec};
    entry.inputs = {{"d.x", "data", "d", "x", ElementType::F32, {{"batch", 1}, {"a", 2}}, 0, 0, 8},
                    {"d.y", "data", "d", "y", ElementType::I32, {{"batch", 1}}, 0, 16, 4}};
  }
  void take(std::vector<ColumnSpec> x, std::vector<ColumnSpec> y) {
    manifest.data[0].fields[0].columns = std::move(x), manifest.data[0].fields[1].columns = std::move(y);
  }
  DataSet open(const std::vector<std::string> &texts, Split split = Split::Train) {
    std::vector<std::string> paths;
    for (const std::string &text : texts)
      paths.push_back(folder.write(fmt::format("{}{}.csv", split == Split::Train ? "t" : "v", paths.size()), text));
    manifest.data[0].splits[split == Split::Train ? "train" : "val"] = paths;
    return openDataSet(manifest, entry, DataFiles(manifest.data, {}), split);
  }
  std::string shared(const std::string &text) {
    return fmt::format("{}", fmt::join(sharedColumnWarnings(manifest, open({text})), "\n"));
  }
  std::string other(const std::vector<std::string> &texts) {
    return fmt::format("{}", fmt::join(otherColumnWarnings(manifest, open(texts), nullptr), "\n"));
  }
  TemporaryFolder folder;
  Manifest manifest;
  EntryFunction entry;
};

TEST_F(CsvColumns, SharedByANameAndANumber) {
  std::string text = "a,b,kind\n1,2,0\n";
  take({{"a"}}, {{"", 2}});
  EXPECT_EQ(shared(text), "");
  take({{"b"}}, {{"", 2}});
  EXPECT_NE(shared(text).find("the fields 'x' and 'y' of data 'd' share the column 'kind'"), std::string::npos)
      << shared(text);
  EXPECT_NE(shared(text).find("'x' takes 'b', 'kind': `column` names the first"), std::string::npos) << shared(text);
  take({{"b"}}, {{"kind"}});
  EXPECT_NE(shared(text).find("share the column 'kind'"), std::string::npos);
  take({{"a"}, {"", 0}}, {{"kind"}});
  EXPECT_NE(shared(text).find("field 'd.x' takes 'a' more than once"), std::string::npos) << shared(text);
}

TEST_F(CsvColumns, SharedAsTheModelFileShowsAreForTheCompiler) {
  std::string text = "a,b,kind\n1,2,0\n";
  take({{"", 1}}, {{"", 2}});
  EXPECT_EQ(shared(text), "");
  take({{"a"}, {"kind"}}, {{"kind"}});
  EXPECT_EQ(shared(text), "");
  take({{"a"}, {"a"}}, {{"kind"}});
  EXPECT_EQ(shared(text), "");
}

TEST_F(CsvColumns, OtherOrderByNumber) {
  take({{"", 0}}, {{"", 2}});
  EXPECT_EQ(other({"a,b,kind\n1,2,0\n", "a,b,kind\n1,2,0\n", "1,2,0\n"}), "");
  EXPECT_EQ(other({"a,b,kind\n1,2,0\n", "A,B,class\n1,2,0\n"}), "") << "only called otherwise";
  std::string said = other({"a,b,kind\n1,2,0\n", "b,a,kind\n2,1,0\n"});
  EXPECT_NE(said.find("t1.csv: column 0 is 'b', and 'a' takes its place in"), std::string::npos) << said;
  EXPECT_NE(said.find("field 'd.x' takes its columns by their numbers"), std::string::npos) << said;
  said = other({"a,b,kind\n1,2,0\n", ",a,b,kind\n7,1,2,0\n"});
  EXPECT_NE(said.find("column 0 is '', and 'a' takes its place"), std::string::npos) << said;
  take({{"a"}, {"b"}}, {{"kind"}});
  EXPECT_EQ(other({"a,b,kind\n1,2,0\n", "b,a,kind\n2,1,0\n"}), "");
}

TEST_F(CsvColumns, OtherNamesAfterTheFirst) {
  take({{"a"}}, {{"kind"}});
  EXPECT_EQ(other({"a,b,kind\n1,2,0\n", "kind,a,b\n0,1,2\n"}), "");
  std::string said = other({"a,b,kind\n1,2,0\n", "kind,a,c\n0,1,2\n"});
  EXPECT_NE(said.find("column 2 is 'c', and 'b' takes its place"), std::string::npos) << said;
  EXPECT_NE(said.find("takes the columns after 'a' as they come"), std::string::npos) << said;
}

TEST_F(CsvColumns, ValidationFilesAreComparedToo) {
  take({{"", 0}}, {{"", 2}});
  DataSet validation = open({"b,a,kind\n2,1,0\n"}, Split::Val), training = open({"a,b,kind\n1,2,0\n"});
  std::vector<std::string> said = otherColumnWarnings(manifest, training, &validation);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("v0.csv: column 0 is 'b'"), std::string::npos) << said[0];
}

} // namespace
