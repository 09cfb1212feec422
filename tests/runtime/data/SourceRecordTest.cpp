// What checkpoints record of their data: enough to notice that it changed.

#include "runtime/data/SourceRecord.h"
#include "runtime/data/ColumnWarnings.h"
#include "tests/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::runtime;
using namespace tessera::tests;

namespace {

TEST(SourceRecord, ThoroughHashMissesNoByte) {
  TemporaryFolder folder;
  std::string small(5000, 'a'), large((5 << 20) + 77, 'a');
  auto hashOf = [&](const std::string &second) {
    return thoroughHash({{"", {folder.write("a.bin", small), folder.write("b.bin", second)}}});
  };
  std::string hash = hashOf(large);
  EXPECT_EQ(hashOf(large), hash);
  for (size_t at = 0; at < large.size(); at += 200'003) {
    std::string other = large;
    other[at] = 'b';
    EXPECT_NE(hashOf(other), hash) << at;
  }
  EXPECT_THROW(thoroughHash({{"", {folder / "none.bin"}}}), Error);
}

TEST(SourceRecord, HashChangesWithTheContent) {
  TemporaryFolder folder;
  auto hashOf = [&](const std::string &text) { return contentHash({{"", {folder.write("a.bin", text)}}}); };
  std::string small(100, 'a'), large(5'000'000, 'a');
  EXPECT_EQ(hashOf(small), hashOf(small));
  EXPECT_EQ(hashOf(small).size(), 16u);
  std::string other = small;
  other[50] = 'b';
  EXPECT_NE(hashOf(small), hashOf(other));
  EXPECT_EQ(hashOf(large), hashOf(large));
  for (size_t at : {size_t(0), large.size() - 1}) {
    other = large;
    other[at] = 'b';
    EXPECT_NE(hashOf(large), hashOf(other)) << at;
  }
  EXPECT_NE(hashOf(large), hashOf(std::string(5'000'000, 'b')));
}

TEST(SourceRecord, ColumnsAreComparedWithThoseOfACheckpoint) {
  TemporaryFolder folder;
  Manifest manifest;
  DataSpec spec;
  spec.name = "d", spec.format = DataFormat::Csv, spec.batchAxis = "batch";
  spec.fields.resize(1);
  spec.fields[0].name = "x";
  manifest.data = {spec};
  EntryFunction entry;
  entry.inputs = {{"d.x", "data", "d", "x", ElementType::F32, {{"batch", 1}, {"a", 2}}, 0, 0, 8}};
  auto open = [&](const std::string &text) {
    manifest.data[0].splits["train"] = {folder.write("t.csv", text)};
    return openDataSet(manifest, entry, DataFiles(manifest.data, {}), Split::Train);
  };
  DataSet before = open("a,b\n1,2\n");
  Json sources = recordSources(manifest, DataFiles(manifest.data, {}), before);
  EXPECT_EQ(sources["d"]["columns"], Json::parse(R"({"x": ["a", "b"]})"));
  EXPECT_EQ(sources["d"]["rows"], 1);
  EXPECT_TRUE(otherColumnWarnings(manifest, before, sources).empty());
  DataSet after = open("b,a\n2,1\n");
  std::vector<std::string> said = otherColumnWarnings(manifest, after, sources);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("column 0 is 'b', and 'a' takes its place in the files of the checkpoint"), std::string::npos)
      << said[0];
  for (const char *bad : {"null", "7", "{}", R"({"d": 3})", R"({"d": {"columns": [1]}})",
                          R"({"d": {"columns": {"x": [1, 2]}}})", R"({"d": {"columns": {"x": "b"}}})"})
    EXPECT_TRUE(otherColumnWarnings(manifest, after, Json::parse(bad)).empty()) << bad;
  EXPECT_FALSE(recordSources(manifest, DataFiles(manifest.data, {}), open("1,2\n"))["d"].contains("columns"));
}

} // namespace
