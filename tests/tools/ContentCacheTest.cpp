//===- ContentCacheTest.cpp - what comes back, and what has to go ---------===//

#include "tools/ContentCache.h"
#include "tests/runtime/TemporaryFolder.h"
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>

using namespace tessera;
using tests::TemporaryFolder;

namespace {

size_t countFiles(const std::string &folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

TEST(ContentCache, GivesBackWhatWasWritten) {
  TemporaryFolder folder;
  ContentCache cache(folder / "made/when/needed", 1 << 20);
  std::string key = ContentCache::keyFor("description"), zeros(1000, '\0');
  EXPECT_EQ(cache.read(key), std::nullopt);
  EXPECT_FALSE(cache.write(key, zeros));
  EXPECT_EQ(cache.read(key), zeros);
  EXPECT_FALSE(cache.write(key, ""));
  EXPECT_EQ(cache.read(key), "");
  EXPECT_EQ(cache.read(ContentCache::keyFor("another")), std::nullopt);
}

TEST(ContentCache, TakesNoFileThatIsNotAsItWasWritten) {
  TemporaryFolder folder;
  ContentCache cache(folder.path, 1 << 20);
  ASSERT_FALSE(cache.write("a", "a value"));
  std::string whole = tests::readFile(folder / "a.entry");
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string other = whole;
    other[i] ^= 1;
    folder.write("a.entry", other);
    EXPECT_EQ(cache.read("a"), std::nullopt) << "byte " << i;
    folder.write("a.entry", whole.substr(0, i));
    EXPECT_EQ(cache.read("a"), std::nullopt) << "cut to " << i;
  }
  folder.write("b.entry", whole); // under the name of another
  EXPECT_EQ(cache.read("b"), std::nullopt);
  folder.write("a.entry", whole);
  EXPECT_EQ(cache.read("a"), "a value");
}

TEST(ContentCache, RemovesWhatWasUsedLongestAgo) {
  TemporaryFolder folder;
  std::string value(1000, 'x');
  ContentCache cache(folder.path, 8000);
  folder.write("of-somebody-else", value);
  auto now = std::filesystem::file_time_type::clock::now();
  for (int i = 0; i < 7; ++i) {
    std::string key = std::to_string(i);
    ASSERT_FALSE(cache.write(key, value));
    std::filesystem::last_write_time(folder / (key + ".entry"), now - std::chrono::hours(10 - i));
  }
  EXPECT_EQ(cache.read("0"), value); // so that it was used last
  ASSERT_FALSE(cache.write("7", value));
  std::string left;
  for (int i = 0; i < 8; ++i)
    if (cache.read(std::to_string(i))) left += std::to_string(i);
  EXPECT_EQ(left, "04567");
  EXPECT_TRUE(std::filesystem::exists(folder / "of-somebody-else"));
}

TEST(ContentCache, RemovesWhatAnEndedProcessLeft) {
  TemporaryFolder folder;
  auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::last_write_time(folder.write("old.entry-tmp", "x"), now - std::chrono::hours(2));
  folder.write("new.entry-tmp", "x");
  ASSERT_FALSE(ContentCache(folder.path, 1000).write("a", "value"));
  EXPECT_FALSE(std::filesystem::exists(folder / "old.entry-tmp"));
  EXPECT_TRUE(std::filesystem::exists(folder / "new.entry-tmp"));
}

TEST(ContentCache, FailsWhereThereCanBeNoFolder) {
  TemporaryFolder folder;
  folder.write("file", "");
  ContentCache cache(folder / "file/cache", 1 << 20);
  EXPECT_TRUE(cache.write("a", "value"));
  EXPECT_EQ(cache.read("a"), std::nullopt);
}

TEST(ContentCache, LeavesNoTemporaryFileBehindAnError) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "a.entry/in-the-way");
  ContentCache cache(folder.path, 1 << 20);
  EXPECT_TRUE(cache.write("a", "value"));
  EXPECT_EQ(cache.read("a"), std::nullopt);
  EXPECT_EQ(countFiles(folder.path), 1u);
}

TEST(ContentCache, LeavesAloneWhatIsNoFile) {
  TemporaryFolder folder;
  ContentCache cache(folder / "cache", 10'000);
  ASSERT_FALSE(cache.write("z", "value"));
  std::string path = folder / "cache/";
  ASSERT_EQ(mkfifo((path + "pipe.entry").c_str(), 0600), 0); // opening it would wait for a writer
  std::filesystem::create_directory(path + "folder.entry");
  std::filesystem::create_symlink("/dev/zero", path + "device.entry");
  std::filesystem::create_symlink("missing", path + "link.entry");
  folder.write("cache/huge.entry", "tessera cache 1\n");
  std::filesystem::resize_file(path + "huge.entry", uint64_t(1) << 40); // takes no space, but would take memory
  for (const char *key : {"pipe", "folder", "device", "link", "huge"}) EXPECT_EQ(cache.read(key), std::nullopt) << key;
  ASSERT_FALSE(cache.write("pipe", "a value"));
  EXPECT_EQ(cache.read("pipe"), "a value");
  EXPECT_EQ(cache.read("z"), "value");
  EXPECT_TRUE(cache.write("large", std::string(10'000, 'x')));
  EXPECT_TRUE(std::filesystem::is_directory(path + "folder.entry"));
  EXPECT_TRUE(std::filesystem::is_symlink(path + "device.entry"));
}

TEST(ContentCache, ServesManyAtOnce) {
  TemporaryFolder folder;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      ContentCache cache(folder / "cache", 20000);
      for (int i = 0; i < 100; ++i) {
        std::string key = std::to_string(i % 10), value(3000, 'a' + i % 10);
        EXPECT_FALSE(cache.write(key, value));
        if (std::optional<std::string> found = cache.read(key)) EXPECT_EQ(*found, value);
      }
    });
  for (std::thread &thread : threads) thread.join();
}

} // namespace
