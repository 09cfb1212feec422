// Links are followed; devices, pipes and folders are not replaced.

#include "runtime/base/OutputPath.h"
#include "runtime/program/Payload.h"
#include "runtime/train/Metrics.h"
#include "tests/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

using namespace tessera::runtime;
using namespace tessera::tests;

namespace fs = std::filesystem;

namespace {

TEST(OutputPath, FollowsLinks) {
  TemporaryFolder folder;
  folder.write("file", "x");
  fs::create_symlink("file", folder / "one");
  fs::create_symlink(folder / "one", folder / "two");
  fs::create_symlink("new", folder / "dangling");
  EXPECT_EQ(findOutput(folder / "two").path, folder / "file");
  EXPECT_EQ(findOutput(folder / "two").kind, OutputPath::File);
  EXPECT_EQ(findOutput(folder / "dangling").path, folder / "new");
  EXPECT_EQ(findOutput(folder / "dangling").kind, OutputPath::New);
  EXPECT_EQ(findOutput(folder.path).kind, OutputPath::Folder);
  EXPECT_EQ(findOutput("/dev/null").kind, OutputPath::Special);
}

TEST(OutputPath, ProgramsReplaceOnlyFiles) {
  TemporaryFolder folder;
  std::string launcher = folder.write("launcher", "launcher");
  fs::create_symlink("program", folder / "link");
  EXPECT_EQ(writeTrainingProgram(launcher, "object", R"({"state": []})", folder / "link"), "");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_TRUE(fs::is_regular_file(folder / "program"));
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  for (const std::string &path : {folder / "fifo", folder.path})
    EXPECT_NE(writeTrainingProgram(launcher, "object", R"({"state": []})", path).find("not a regular file"),
              std::string::npos);
  EXPECT_TRUE(fs::is_fifo(folder / "fifo"));
}

TEST(OutputPath, MetricsKeepLinksAndPipes) {
  TemporaryFolder folder;
  folder.write("file", "{\"step\":1}\n{\"step\":2}\n");
  fs::create_symlink("file", folder / "link");
  {
    MetricsWriter metrics;
    metrics.open(folder / "link", 1, false);
    metrics.write({{"step", 9}});
  }
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(readFile(folder / "file"), "{\"step\":1}\n{\"step\":9}\n");
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_THROW(MetricsWriter().open(folder / "fifo", 0, false), std::exception);
  EXPECT_TRUE(fs::is_fifo(folder / "fifo"));
  for (const auto &entry : fs::directory_iterator(folder.path))
    EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos);
}

} // namespace
