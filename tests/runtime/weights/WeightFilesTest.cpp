// Weights in one file, in a folder, and in shards; an index that does not fit its shards is refused.

#include "runtime/weights/WeightFiles.h"
#include "runtime/base/Error.h"
#include "tests/runtime/TemporaryFolder.h"
#include "tests/runtime/weights/TensorFile.h"

#include <gtest/gtest.h>

using namespace tessera::runtime;
using namespace tessera::tests;

namespace fs = std::filesystem;

namespace {

class ShardedWeights : public testing::Test {
protected:
  void SetUp() override {
    folder.write("one.safetensors", tensorFile({{"a", {2}, {1, 2}}}));
    folder.write("two.safetensors", tensorFile({{"b", {1}, {3}}, {"c", {}, {4}}}));
    writeIndex(R"({"a": "one.safetensors", "b": "two.safetensors", "c": "two.safetensors"})");
  }
  void writeIndex(const std::string &map, const std::string &more = "") {
    folder.write("model.safetensors.index.json", "{\"weight_map\": " + map + more + "}");
  }
  std::string errorOf(const std::string &path) {
    try {
      WeightFiles files(path);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  }
  void expectError(const std::string &part) {
    std::string error = errorOf(folder / "model.safetensors.index.json");
    EXPECT_NE(error.find(part), std::string::npos) << part << ", got: " << error;
  }
  TemporaryFolder folder;
};

TEST_F(ShardedWeights, IndexAndFolderAreRead) {
  for (const std::string &path : {folder / "model.safetensors.index.json", folder.path}) {
    WeightFiles files(path);
    ASSERT_EQ(files.tensors().size(), 3u);
    EXPECT_EQ(files.find("a")->tensor->bytes, 8);
    EXPECT_EQ(*reinterpret_cast<const float *>(files.find("c")->tensor->data), 4);
    EXPECT_TRUE(files.find("b")->file->path().ends_with("two.safetensors"));
    EXPECT_EQ(files.find("d"), nullptr);
  }
  EXPECT_TRUE(isFolderOfWeights(folder.path));
  EXPECT_EQ(filesOfWeights(folder.path),
            (std::vector<std::string>{folder / "model.safetensors.index.json", folder / "one.safetensors",
                                      folder / "two.safetensors"}));
  EXPECT_EQ(filesOfWeights(folder / "one.safetensors"), std::vector<std::string>{folder / "one.safetensors"});
}

TEST_F(ShardedWeights, FolderWithOneFileIsRead) {
  fs::create_directory(folder / "single");
  folder.write("single/model.safetensors", tensorFile({{"a", {2}, {1, 2}}}));
  EXPECT_EQ(WeightFiles(folder / "single").tensors().size(), 1u);
  EXPECT_TRUE(isFolderOfWeights(folder / "single"));
  // A checkpoint that lost its manifest is not one: its hashes could not be verified.
  folder.write("single/optimizer.safetensors", tensorFile({}));
  EXPECT_FALSE(isFolderOfWeights(folder / "single"));
}

TEST_F(ShardedWeights, ShardsMustFitTheIndex) {
  EXPECT_EQ(errorOf(folder / "model.safetensors.index.json"), "");
  writeIndex(R"({"a": "one.safetensors", "b": "two.safetensors"})");
  expectError("the tensor 'c' of ");
  expectError("is not listed");
  writeIndex(R"({"a": "one.safetensors", "b": "two.safetensors", "c": "two.safetensors", "d": "one.safetensors"})");
  expectError("one.safetensors lacks the tensor 'd'");
  writeIndex(R"({"a": "one.safetensors", "b": "two.safetensors", "c": "one.safetensors"})");
  expectError("the tensor 'c' is listed in one.safetensors, but ");
  writeIndex(R"({"a": "gone.safetensors"})");
  expectError("gone.safetensors is missing");
  folder.write("one.safetensors", tensorFile({{"a", {2}, {1, 2}}}).substr(0, 40));
  writeIndex(R"({"a": "one.safetensors"})");
  expectError("one.safetensors: byte 0: the header has");
}

TEST_F(ShardedWeights, ShardsAreInTheFolderOfTheIndex) {
  fs::create_directory(folder / "inner");
  folder.write("inner/x.safetensors", tensorFile({{"a", {2}, {1, 2}}}));
  for (const char *name : {"../one.safetensors", "inner/x.safetensors", "/etc/passwd", "..", ".", "", "a\\u0000b"}) {
    writeIndex(fmt::format(R"({{"a": "{}"}})", name));
    expectError("is not the name of a file in the folder of the index");
  }
}

TEST_F(ShardedWeights, MalformedIndexesAreRefused) {
  folder.write("model.safetensors.index.json", "{");
  expectError("not valid JSON");
  folder.write("model.safetensors.index.json", "{}");
  expectError("missing key 'weight_map'");
  writeIndex("[]");
  expectError("expected an object 'weight_map'");
  writeIndex(R"({"a": 3})");
  expectError("tensor 'a': expected a string");
  writeIndex(R"({"a": "one.safetensors", "a": "two.safetensors"})");
  expectError("the key 'a' occurs twice");
  writeIndex(std::string(1000, '[') + std::string(1000, ']'));
  expectError("nested deeper");
}

TEST_F(ShardedWeights, OtherTotalsAreSaid) {
  writeIndex(R"({"a": "one.safetensors"})", R"(, "metadata": {"total_size": 9})");
  testing::internal::CaptureStderr();
  EXPECT_EQ(errorOf(folder.path), "");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("total_size is 9, the shards have 8 bytes"), std::string::npos);
}

} // namespace
