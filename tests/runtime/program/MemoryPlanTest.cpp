// What a manifest says about memory against time.

#include "runtime/base/Error.h"
#include "runtime/program/Manifest.h"

#include <gtest/gtest.h>

using namespace tessera::runtime;

namespace {

Manifest withMemory(const std::string &memory) {
  return parseManifest(R"({"abi": 9, "model": "m", "target": {"kind": "cpu"}, "arena": {"bytes": 256},
                           "entries": {}, "state": [], "memory": )" +
                       memory + "}");
}

std::string errorOf(const std::string &memory) {
  try {
    withMemory(memory);
  } catch (const Error &e) {
    return e.what();
  }
  return "";
}

TEST(MemoryPlan, ReadsPlansAndValues) {
  MemorySpec memory = withMemory(R"({"budget": 1024, "frontier": [
      {"arena": 512, "seconds": 0.0, "what": "nothing"},
      {"arena": 256, "seconds": 0.25, "what": "layer x 12: 3 of 4 ops", "chosen": true}], "values": [
      {"name": "h.mlp.up out", "path": "h.mlp.up", "axis": "layer", "layers": 12, "saved": 0, "recomputed": 12,
       "bytes": 240, "alternative": {"seconds": -0.125, "bytes": 240}},
      {"name": "h", "axis": "layer", "layers": 12, "saved": 12, "recomputed": 0, "bytes": 120}]})")
                          .memory;
  EXPECT_EQ(memory.budget, 1024);
  ASSERT_EQ(memory.frontier.size(), 2u);
  EXPECT_EQ(memory.chosen(), &memory.frontier[1]);
  EXPECT_EQ(memory.frontier[1].arenaBytes, 256);
  EXPECT_EQ(memory.frontier[1].seconds, 0.25);
  EXPECT_EQ(memory.frontier[0].what, "nothing");
  ASSERT_EQ(memory.values.size(), 2u);
  EXPECT_EQ(memory.values[0].path, "h.mlp.up");
  ASSERT_TRUE(memory.values[0].alternative);
  EXPECT_EQ(memory.values[0].alternative->seconds, -0.125);
  EXPECT_EQ(memory.values[1].path, "");
  EXPECT_FALSE(memory.values[1].alternative);
}

TEST(MemoryPlan, MayBeMissing) {
  Manifest manifest = parseManifest(R"({"abi": 9, "model": "m", "target": {"kind": "cpu"}, "arena": {"bytes": 256},
                                        "entries": {}, "state": []})");
  EXPECT_TRUE(manifest.memory.frontier.empty());
  EXPECT_EQ(manifest.memory.chosen(), nullptr);
}

TEST(MemoryPlan, DoesNotCountAsText) {
  std::string plan = R"({"arena":256,"seconds":0.0,"what":"nothing"})";
  std::string one = R"({"frontier":[)" + plan + "]}", two = R"({"budget":512,"frontier":[)" + plan + "," + plan + "]}";
  EXPECT_EQ(withMemory(one).textBytes, withMemory(two).textBytes);
}

TEST(MemoryPlan, RefusesWhatIsNoPlan) {
  EXPECT_EQ(errorOf(R"({"frontier": [{"arena": -1, "seconds": 0, "what": ""}]})"),
            "manifest: a plan has an arena of -1 bytes");
  EXPECT_EQ(errorOf(R"({"frontier": [{"arena": 1, "seconds": "1 s", "what": ""}]})"),
            "manifest: expected 'seconds' as a number");
  EXPECT_EQ(errorOf(R"({"budget": 1})"), "manifest: missing key 'frontier'");
  EXPECT_EQ(errorOf(R"({"frontier": [], "values": [{"name": "h"}]})"), "manifest: missing key 'axis'");
}

} // namespace
