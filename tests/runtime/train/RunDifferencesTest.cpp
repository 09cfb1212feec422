// What changed since a checkpoint is named: lines of the model, options, settings, data.

#include "runtime/train/RunDifferences.h"
#include "runtime/train/SourceChanges.h"

#include <gtest/gtest.h>

using namespace tessera::runtime;

namespace {

using Sentences = std::vector<std::string>;

Json source(const std::vector<std::string> &lines, const std::vector<std::string> &options = {},
            const std::string &name = "m.tsr") {
  return {{"options", options}, {"files", {{{"name", name}, {"lines", lines}}}}};
}

TEST(SourceChanges, NamesEditedLines) {
  Json before = source({"1 use nn: relu", "3 let a = 1", "4 let b = 2", "5 loss l = a", "6 stop(10)"});
  EXPECT_EQ(sourceChanges(before, before), Sentences{});
  EXPECT_EQ(
      sourceChanges(before, source({"1 use nn: relu", "7 let a = 1", "8 let b = 2", "9 loss l = a", "20 stop(10)"})),
      Sentences{}); // the same lines elsewhere
  EXPECT_EQ(
      sourceChanges(before, source({"1 use nn: relu", "3 let a = 1", "4 let b = 3", "5 loss l = a", "6 stop(10)"})),
      Sentences{"m.tsr:4: `let b = 3` was `let b = 2`"});
  EXPECT_EQ(sourceChanges(before, source({"1 use nn: relu", "3 let a = 1", "5 clip(1)", "6 loss l = a", "7 stop(10)"})),
            Sentences{"m.tsr:5: `clip(1)` was `let b = 2`"});
  EXPECT_EQ(sourceChanges(before, source({"1 use nn: relu", "3 let a = 1", "4 let b = 2", "5 loss l = a", "6 clip(1)",
                                          "7 stop(10)"})),
            Sentences{"m.tsr:6: `clip(1)` is new"});
  EXPECT_EQ(sourceChanges(before, source({"3 let a = 1", "4 let b = 2", "5 loss l = a"})),
            (Sentences{"m.tsr: `use nn: relu`, line 1 before, is gone", "m.tsr: `stop(10)`, line 6 before, is gone"}));
}

TEST(SourceChanges, NamesOptionsAndFiles) {
  Json before = source({"1 a"}, {"--set lr=0.1", "--preset small"});
  EXPECT_EQ(sourceChanges(before, source({"1 a"}, {"--preset small", "--set lr=0.2"})),
            (Sentences{"`--set lr=0.2` is new", "`--set lr=0.1` is gone"}));
  EXPECT_EQ(sourceChanges(source({"1 a"}), source({"1 a"}, {}, "renamed.tsr")), Sentences{});
  Json two = source({"1 a"});
  two["files"].push_back({{"name", "b.tsr"}, {"lines", Json::array({"1 x"})}});
  EXPECT_EQ(sourceChanges(source({"1 a"}), two), Sentences{"b.tsr:1: `x` is new"});
  EXPECT_EQ(sourceChanges(two, source({"1 a"})), Sentences{"b.tsr is not used any more"});
}

TEST(SourceChanges, AreBoundedAndDistrustful) {
  std::vector<std::string> many, others;
  for (int i = 0; i < 5000; ++i)
    many.push_back(fmt::format("{} a{}", i, i)), others.push_back(fmt::format("{} b{}", i, i));
  auto changes = sourceChanges(source(many), source(others));
  ASSERT_TRUE(changes);
  EXPECT_EQ(changes->size(), 7u);
  EXPECT_EQ(changes->back(), "4994 more lines of the model changed");
  changes = sourceChanges(source({"1 \x1b[2J"}), source({"1 a"}));
  EXPECT_EQ(changes, Sentences{"m.tsr:1: `a` was `\\x1b[2J`"});
  for (const char *bad : {"null", "7", "{}", R"({"options": 3, "files": []})", R"({"options": [], "files": [7]})",
                          R"({"options": [], "files": [{"name": "a", "lines": [1]}]})"})
    EXPECT_FALSE(sourceChanges(Json::parse(bad), source({"1 a"}))) << bad;
}

TEST(RunDifferences, NamesSettingsOneByOne) {
  CheckpointInfo saved, now;
  saved.settings = {{"stop", {{"after", 40}}}, {"save", {{"every", 10}}}};
  now.settings = {{"stop", {{"after", 80}}}, {"save", {{"every", 10}, {"keep", 2}}}};
  EXPECT_EQ(differencesSince(saved, now, "c"), (Sentences{"the setting save.keep changed from not set to 2",
                                                          "the setting stop.after changed from 40 to 80"}));
}

// Of threads only if the mesh is the same: another mesh changes the sums whatever they are.
TEST(RunDifferences, SaysWhatRoundingDependsOn) {
  CheckpointInfo saved, now;
  saved.parallelism = {1, "data=2", 0}, now.parallelism = {2, "", 0};
  EXPECT_EQ(
      differencesSince(saved, now, "c"),
      Sentences{"the run resumes on one rank, the checkpoint was made on the mesh data=2: rounding may differ from "
                "that of an uninterrupted run; programs with --leaves have the same bits for any number of ranks "
                "along the batch"});
  saved.parallelism.leaves = now.parallelism.leaves = 4;
  EXPECT_EQ(
      differencesSince(saved, now, "c"),
      Sentences{"the run resumes on one rank, the checkpoint was made on the mesh data=2: rounding may differ from "
                "that of an uninterrupted run, unless only the number of ranks along the batch changed"});
  now.parallelism.mesh = "data=2";
  EXPECT_EQ(
      differencesSince(saved, now, "c"),
      Sentences{"the run resumes with 2 threads, the checkpoint was made with 1: rounding may differ from that of "
                "an uninterrupted run; --threads 1 avoids that"});
  saved.parallelism.mesh.reset(); // an older checkpoint
  now.parallelism.threads = 1;
  EXPECT_EQ(differencesSince(saved, now, "c"), Sentences{});
}

TEST(RunDifferences, PrintsNoControlCharacters) {
  CheckpointInfo saved, now;
  saved.data = "d=\x1b[2J", now.data = "d=x";
  saved.settings = {{"evaluate", {{"\x1b", "\x1b"}}}};
  for (const std::string &difference : differencesSince(saved, now, "c"))
    EXPECT_EQ(difference.find('\x1b'), std::string::npos) << difference;
}

} // namespace
