//===- ReplacementFileTest.cpp - a file that appears whole -------------------===//

#include "runtime/base/ReplacementFile.h"
#include "tests/runtime/TemporaryFolder.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace tessera::tests {
namespace {

using runtime::ReplacementFile;

int filesIn(const std::string &folder) {
  auto files = std::filesystem::directory_iterator(folder);
  return static_cast<int>(std::distance(begin(files), end(files)));
}

TEST(ReplacementFile, AppearsWhenItIsCommitted) {
  TemporaryFolder folder;
  folder.write("a", "old");
  chmod((folder / "a").c_str(), 0640);
  {
    ReplacementFile file(folder / "a");
    file.append("head ");
    file.writeAt(9, "tail");
    file.append("and ");
    EXPECT_EQ(readFile(folder / "a"), "old");
    file.commit();
  }
  EXPECT_EQ(readFile(folder / "a"), "head and tail");
  struct stat info;
  ASSERT_EQ(stat((folder / "a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
  EXPECT_EQ(filesIn(folder.path), 1);
}

TEST(ReplacementFile, LeavesNothingWithoutCommit) {
  TemporaryFolder folder;
  folder.write("a", "old");
  {
    ReplacementFile(folder / "a").append("new");
  }
  EXPECT_EQ(readFile(folder / "a"), "old");
  EXPECT_EQ(filesIn(folder.path), 1);
}

TEST(ReplacementFile, ASignalLeavesNothing) {
  TemporaryFolder folder;
  auto interrupted = [&] {
    ReplacementFile file(folder / "a");
    file.append("new");
    raise(SIGTERM);
  };
  EXPECT_EXIT(interrupted(), testing::KilledBySignal(SIGTERM), "");
  EXPECT_EQ(filesIn(folder.path), 0);
}

TEST(ReplacementFile, NamesThePathThatCannotBeWritten) {
  TemporaryFolder folder;
  try {
    ReplacementFile file(folder / "no/such");
    FAIL();
  } catch (const runtime::Error &e) {
    EXPECT_EQ(std::string(e.what()), "cannot write " + (folder / "no/such") + ": No such file or directory");
  }
}

} // namespace
} // namespace tessera::tests
