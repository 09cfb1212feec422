// Which files a path or a pattern of the data names; the compiler and programs agree on it.

#include "runtime/base/FilePattern.h"
#include "tests/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace tessera::runtime;
using namespace tessera::tests;

namespace {

TEST(FilePattern, NamesFilesInOrder) {
  TemporaryFolder folder;
  for (const char *name : {"b.csv", "a.csv", "c.txt", "x[1].csv"}) folder.write(name, "x");
  using Files = std::vector<std::string>;
  EXPECT_EQ(filesMatching(folder / "[ab].csv"), (Files{folder / "a.csv", folder / "b.csv"}));
  EXPECT_EQ(filesMatching(folder / "{c.txt,a.csv}"), (Files{folder / "c.txt", folder / "a.csv"}));
  EXPECT_EQ(filesMatching(folder / "x[1].csv"), (Files{folder / "x[1].csv"})); // it exists: no pattern
  EXPECT_EQ(filesMatching(folder / "*.npy"), Files{});
}

} // namespace
