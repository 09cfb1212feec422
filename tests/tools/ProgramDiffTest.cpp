//===- ProgramDiffTest.cpp - what `tessera diff` says of two programs -----===//

#include "tools/diff/ProgramDiff.h"
#include "tools/diff/GrowthLimit.h"
#include <gtest/gtest.h>

using namespace tessera;

namespace {

/// A manifest of this version with these further members.
std::string manifestWith(const std::string &members, int64_t arena = 1024) {
  return fmt::format(R"({{"abi": 9, "model": "m", "target": {{"kind": "cpu"}}, "arena": {{"bytes": {}}}, "state": [],
                         "entries": {{}}{}{}}})",
                     arena, members.empty() ? "" : ", ", members);
}

std::string kernel(const std::string &of, const std::string &line, int64_t read, int calls = 1) {
  return fmt::format(R"({{"name": "k", "of": "{}", "at": "{}", "flops": 10, "read": {}, "written": 0,
                         "calls": {{"step": {}}}}})",
                     of, line, read, calls);
}

std::string buffer(const std::string &name, const std::string &kind, int64_t bytes) {
  return fmt::format(R"({{"name": "{}", "entry": "step", "kind": "{}", "type": "t", "offset": 0, "bytes": {}}})", name,
                     kind, bytes);
}

ProgramDiff diffOf(const std::string &before, const std::string &after) {
  return diffPrograms(factsOfJson(before, "a"), factsOfJson(after, "b"));
}

std::string errorOf(const std::string &text) {
  try {
    factsOfJson(text, "file");
  } catch (const runtime::Error &error) {
    return error.what();
  }
  return "";
}

TEST(ProgramDiff, KernelsOfOneNameAndLineAreOneItem) {
  std::string text =
      manifestWith(R"("kernels": [)" + kernel("y", "m:1:1", 100, 2) + "," + kernel("y", "m:1:1", 50) + "]");
  ProgramFacts facts = factsOfJson(text, "a");
  ASSERT_EQ(facts.work.size(), 1u);
  EXPECT_EQ(facts.work[0].calls, 3);
  EXPECT_EQ(facts.work[0].bytes, 250);
  EXPECT_EQ(facts.work[0].flops, 30);
  EXPECT_FALSE(facts.work[0].seconds);
}

TEST(ProgramDiff, LinesTellApartButDoNotDiffer) {
  std::string before =
      manifestWith(R"("kernels": [)" + kernel("y", "m:1:1", 100) + "," + kernel("y", "m:2:1", 7) + "]");
  std::string moved = manifestWith(R"("kernels": [)" + kernel("y", "m:4:1", 100) + "," + kernel("y", "m:5:1", 7) + "]");
  EXPECT_TRUE(diffOf(before, moved).work[0].changes.empty());
  std::string other = manifestWith(R"("kernels": [)" + kernel("y", "m:2:1", 9) + "," + kernel("y", "m:1:1", 100) + "]");
  ProgramDiff diff = diffOf(before, other);
  ASSERT_EQ(diff.work[0].changes.size(), 1u);
  EXPECT_EQ(diff.work[0].same, 1u);
  EXPECT_EQ(diff.work[0].changes[0].before->bytes, 7);
  EXPECT_EQ(diff.work[0].changes[0].after->bytes, 9);
}

TEST(ProgramDiff, LargestDifferencesComeFirst) {
  std::string before = manifestWith(R"("kernels": [)" + kernel("a", "", 100) + "," + kernel("b", "", 100) + "]");
  std::string after = manifestWith(R"("kernels": [)" + kernel("a", "", 101) + "," + kernel("b", "", 50) + "," +
                                   kernel("c", "", 20) + "]");
  std::vector<std::string> names;
  ProgramDiff diff = diffOf(before, after);
  for (const Pair<WorkFacts> &pair : diff.work[0].changes) names.push_back(pair.any().name);
  EXPECT_EQ(names, (std::vector<std::string>{"b", "c", "a"}));
}

TEST(ProgramDiff, BuffersOfOneNameBelongTogetherInOrder) {
  auto plan = [](const std::string &buffers) { return manifestWith(R"("plan": {"buffers": [)" + buffers + "]}"); };
  std::string before =
      plan(buffer("x", "saved", 64) + "," + buffer("x", "saved", 128) + "," + buffer("z", "input", 64));
  std::string after = plan(buffer("x", "saved", 128) + "," + buffer("x", "temporary", 64));
  ProgramDiff diff = diffOf(before, after);
  EXPECT_EQ(diff.sameBuffers, 1u);
  ASSERT_EQ(diff.buffers.size(), 2u);
  EXPECT_EQ(diff.buffers[0].any().name, "z");
  EXPECT_FALSE(diff.buffers[0].after);
  EXPECT_EQ(diff.buffers[1].before->kind, "saved");
  EXPECT_EQ(diff.buffers[1].after->kind, "temporary");
}

/// An amount that one kernel lacks is not known of the name; it is not taken for 0.
TEST(ProgramDiff, UnknownTimesStayUnknown) {
  std::string timed = kernel("y", "", 1);
  timed.insert(1, R"("seconds": 0.5, )");
  ProgramFacts facts = factsOfJson(manifestWith(R"("kernels": [)" + timed + "," + kernel("y", "", 1) + "]"), "a");
  EXPECT_FALSE(facts.work[0].seconds);
  facts = factsOfJson(manifestWith(R"("kernels": [)" + timed + "," + timed + "]"), "a");
  EXPECT_EQ(facts.work[0].seconds, 1);
}

TEST(ProgramDiff, RefusesWhatIsNoFigure) {
  EXPECT_EQ(errorOf("[1]"), "file: it is JSON, but neither a manifest nor a plan; `--dump-dir` writes manifests, "
                            "`tessera plan --json` prints plans");
  EXPECT_EQ(errorOf(manifestWith(R"("plan": {"timelines": []})")), "file: 'timelines': expected an object");
  EXPECT_EQ(errorOf(manifestWith(R"("plan": {"timelines": {"step": 3}})")), "file: timeline: expected an object");
  EXPECT_EQ(errorOf(manifestWith(R"("predicted": {"source": "x", "entries": {"step": {"seconds": -1}}})")),
            "file: manifest: 'seconds': expected a number that is at least 0");
  EXPECT_EQ(errorOf(manifestWith(R"("predicted": {"entries": {}})")), "file: manifest: missing key 'source'");
  EXPECT_NE(errorOf(manifestWith(R"("gemms": [{"name": "g", "dims_a": [], "strides_a": [], "dims_b": [],
                                    "strides_b": [], "dims_c": [], "strides_c": []}])")),
            "");
  EXPECT_EQ(errorOf(R"({"manifest": )" + manifestWith("") + "}"), "file: plan: missing key 'host'");
}

TEST(GrowthLimit, IsAPercentage) {
  EXPECT_EQ(GrowthLimit::parse("2%")->percent, 2);
  EXPECT_EQ(GrowthLimit::parse("0%")->percent, 0);
  EXPECT_EQ(GrowthLimit::parse("0.25%")->percent, 0.25);
  for (const char *text : {"", "%", "2", "-1%", "+1%", "abc", "2.%", ".5%", "1e2%", "0x2%", "nan%", "inf%", "2 %",
                           "2%%", "1.2.3%", "99999999999%"})
    EXPECT_FALSE(GrowthLimit::parse(text)) << text;
}

TEST(GrowthLimit, AppliesToEachFigure) {
  ProgramDiff diff = diffOf(manifestWith("", 1'000'000), manifestWith("", 1'020'000));
  GrowthLimit atLimit{2}, below{1.9};
  EXPECT_TRUE(atLimit.findBreaches(diff).empty());
  ASSERT_EQ(below.findBreaches(diff).size(), 1u); // the needed memory grew too, but by less
  EXPECT_EQ(below.findBreaches(diff)[0], "the arena grew by 2%, from 976.6 KiB to 996.1 KiB; at most 1.9% are allowed");
  diff.step.before = 0, diff.step.after = 1;
  ASSERT_EQ(atLimit.findBreaches(diff).size(), 1u);
  EXPECT_EQ(atLimit.findBreaches(diff)[0],
            "the predicted time of a step grew, from 0.00 us to 1.00 s; at most 2% are allowed");
  diff.step.before = std::nullopt;
  EXPECT_TRUE(atLimit.findBreaches(diff).empty());
  EXPECT_EQ(findUncompared(diff).size(), 1u);
}

} // namespace
