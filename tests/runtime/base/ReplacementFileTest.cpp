//===- ReplacementFileTest.cpp - a file that appears whole -------------------===//

#include "runtime/base/ReplacementFile.h"
#include "runtime/base/MappedFile.h"
#include "tests/runtime/TemporaryFolder.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::tests {
namespace {

using runtime::DurableFile;
using runtime::replaceFile;
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

TEST(ReplacementFile, NamesMayBeAsLongAsTheSystemAllows) {
  TemporaryFolder folder;
  std::string path = folder / std::string(255, 'x');
  ReplacementFile file(path);
  file.append("whole");
  EXPECT_EQ(filesIn(folder.path), 1);
  file.commit();
  EXPECT_EQ(readFile(path), "whole");
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

void writeNew(DurableFile &file) {
  file.append("new", 3);
  file.commit();
}

TEST(ReplacementFile, ASignalLeavesNothingOfSeveral) {
  TemporaryFolder folder;
  folder.write("b", "old");
  auto interrupted = [&](int signal) {
    ReplacementFile file(folder / "a");
    replaceFile(folder / "b", writeNew);
    replaceFile(folder / "b", [&](DurableFile &last) {
      last.append("newer", 5);
      raise(signal);
    });
  };
  for (int signal : {SIGINT, SIGPIPE}) {
    EXPECT_EXIT(interrupted(signal), testing::KilledBySignal(signal), "");
    EXPECT_EQ(readFile(folder / "b"), "new");
    EXPECT_EQ(filesIn(folder.path), 1);
  }
  replaceFile(folder / "b", writeNew);
  EXPECT_EQ(std::signal(SIGINT, SIG_DFL), SIG_DFL); // as before
}

// What is read meanwhile, such as a checkpoint, may be truncated by another process.
TEST(ReplacementFile, AnInputThatCannotBeReadLeavesNothing) {
  TemporaryFolder folder;
  folder.write("input", std::string(1 << 16, 'x'));
  auto readTruncated = [&] {
    ReplacementFile file(folder / "a");
    runtime::MappedFile input(folder / "input");
    std::filesystem::resize_file(folder / "input", 1);
    file.append(input.text()[1 << 15] == 'x' ? "x" : "y");
    _exit(0);
  };
  EXPECT_EXIT(readTruncated(), testing::ExitedWithCode(1), "input: byte 32768: the file was truncated");
  EXPECT_EQ(filesIn(folder.path), 1);
}

TEST(ReplacementFile, IsReplacedOnlyWithoutErrors) {
  TemporaryFolder folder;
  folder.write("a", "old");
  chmod((folder / "a").c_str(), 0640);
  auto failing = [](DurableFile &file) {
    writeNew(file);
    runtime::fail("no");
  };
  EXPECT_THROW(replaceFile(folder / "a", failing), runtime::Error);
  EXPECT_EQ(readFile(folder / "a"), "old");
  replaceFile(folder / "a", writeNew);
  EXPECT_EQ(readFile(folder / "a"), "new");
  EXPECT_EQ(std::filesystem::status(folder / "a").permissions(), std::filesystem::perms(0640));
  EXPECT_EQ(filesIn(folder.path), 1);
}

TEST(ReplacementFile, NamesThePathThatCannotBeWritten) {
  TemporaryFolder folder;
  std::string path = folder / "no/such";
  for (bool isWhole : {true, false}) try {
      isWhole ? replaceFile(path, writeNew) : ReplacementFile(path).commit();
      FAIL();
    } catch (const runtime::Error &e) {
      EXPECT_EQ(std::string(e.what()), "cannot write " + path + ": No such file or directory");
    }
}

TEST(ReplacementFile, FoldersThatCannotBeSyncedAreNoError) {
  EXPECT_NO_THROW(runtime::syncFolder("/proc"));
  EXPECT_THROW(runtime::syncFolder("/proc/no-such-folder"), runtime::Error);
}

} // namespace
} // namespace tessera::tests
