// What a manifest says about the ranks of a program.

#include "runtime/base/Error.h"
#include "runtime/program/Manifest.h"

#include <gtest/gtest.h>

using namespace tessera::runtime;

namespace {

Manifest withRanks(const std::string &keys) {
  return parseManifest(R"({"abi": 9, "model": "m", "target": {"kind": "cpu"}, "arena": {"bytes": 256},
                           "entries": {}, "state": [{"path": "w", "kind": "weight", "type": "f32",
                             "axes": [["embed", 3], ["ff", 4]], "canonical": ["ff", "embed"], "offset": 0, "bytes": 48,
                             "divided": {"embed": {"along": "tensor", "whole": 5}}}], )" +
                       keys + "}");
}

std::string errorOf(const std::string &keys) {
  try {
    withRanks(keys);
  } catch (const Error &e) {
    return e.what();
  }
  return "";
}

const std::string mesh = R"("mesh": [{"name": "data", "size": 4}, {"name": "tensor", "size": 2}])";

std::string withExchange(const std::string &exchange) { return mesh + R"(, "exchanges": [)" + exchange + "]"; }

TEST(RanksSpec, ReadsTheMeshAndExchanges) {
  Manifest manifest = withRanks(withExchange(
      R"({"of": "gradient of w", "at": "m.tsr:3:9", "kind": "all_to_all", "along": "data", "bytes": 100,
          "calls": {"step": 12, "evaluate": 1}, "passes": {"backward": 12}, "seconds": 0.25},
         {"of": "w", "kind": "all_gather", "along": "tensor", "bytes": 7})"));
  const RanksSpec &ranks = manifest.target.ranks;
  EXPECT_EQ(ranks.count(), 8);
  EXPECT_EQ(ranks.sizeAlong("tensor"), 2);
  EXPECT_EQ(ranks.sizeAlong("pipe"), 0);
  ASSERT_EQ(ranks.exchanges.size(), 2u);
  const ExchangeSpec &first = ranks.exchanges[0], &second = ranks.exchanges[1];
  EXPECT_EQ(first.name, "gradient of w");
  EXPECT_EQ(first.line, "m.tsr:3:9");
  EXPECT_STREQ(first.kindName(), "all_to_all");
  EXPECT_EQ(first.callsIn("step"), 12);
  EXPECT_EQ(first.callsIn("init"), 0);
  EXPECT_EQ(first.seconds, 0.25);
  EXPECT_EQ(ranks.received(first), 300) << "from each of the other three";
  EXPECT_STREQ(second.kindName(), "all_gather");
  EXPECT_EQ(second.line, "");
  EXPECT_FALSE(second.seconds);
  EXPECT_EQ(ranks.received(second), 7);
}

RanksSpec onMachines(const std::string &machines) {
  return parseManifest(R"({"abi": 9, "model": "m", "target": {"kind": "cpu")" + machines +
                       R"(}, "arena": {"bytes": 256}, "entries": {}, "state": [], )" +
                       withExchange(
                           R"({"of": "a", "kind": "all_gather", "along": "data", "bytes": 7,
                               "work": {"kind": "exchange", "network": {"bytes": 21, "rounds": 1}}},
                              {"of": "b", "kind": "all_gather", "along": "tensor", "bytes": 7,
                               "work": {"kind": "exchange", "inside": {"bytes": 7, "rounds": 1}}},
                              {"of": "c", "kind": "all_gather", "along": "tensor", "bytes": 7})") +
                       "}")
      .target.ranks;
}

TEST(RanksSpec, ReadsTheMachinesOfThePlan) {
  EXPECT_FALSE(onMachines("").machines);
  RanksSpec ranks = onMachines(R"(, "machines": {"count": 4, "devices": 2})");
  ASSERT_TRUE(ranks.machines);
  EXPECT_EQ(ranks.machines->count, 4);
  EXPECT_EQ(ranks.machines->devices, 2);
  EXPECT_TRUE(ranks.exchanges[0].crossesMachines());
  EXPECT_FALSE(ranks.exchanges[1].crossesMachines());
  EXPECT_FALSE(ranks.exchanges[2].crossesMachines()) << "of an older version";
  EXPECT_THROW(onMachines(R"(, "machines": {"count": 0, "devices": 2})"), Error);
  EXPECT_THROW(onMachines(R"(, "machines": {"count": 1})"), Error);
}

TEST(RanksSpec, ReadsWhatASearchFound) {
  EXPECT_FALSE(onMachines("").search);
  std::optional<SearchSpec> search = onMachines(R"(, "search": {"bound": 2.0, "bytes": 5.0, "seconds": 3.0})").search;
  ASSERT_TRUE(search);
  EXPECT_EQ(search->gap(), 0.5);
  EXPECT_FALSE(search->memory);
  EXPECT_FALSE(search->unpinned);
  search = onMachines(R"(, "search": {"bound": 2.0, "bytes": 5.0, "memory": 8.5e10, "seconds": 3.0})").search;
  EXPECT_EQ(search->memory, 85'000'000'000);
  search = onMachines(R"(, "search": {"seconds": 2.0, "bound": 1.6, "unpinned": 1.5})").search;
  EXPECT_EQ(search->unpinned, 1.5);
  EXPECT_THROW(onMachines(R"(, "search": {"bound": 4.0, "seconds": 3.0})"), Error);
  EXPECT_THROW(onMachines(R"(, "search": {"bound": 2.0, "memory": -1, "seconds": 3.0})"), Error);
  EXPECT_THROW(onMachines(R"(, "search": {"seconds": 2.0, "bound": 1.6, "unpinned": 2.5})"), Error);
}

TEST(RanksSpec, ReadsWhatASearchRejected) {
  auto withDecisions = [](const std::string &more) {
    return onMachines(R"(, "search": {"seconds": 3.0, "bound": 3.0, )" + more + "}").search;
  };
  std::optional<SearchSpec> search = withDecisions(
      R"("meshes": [{"mesh": [4, 2], "seconds": 4.0, "exact": false}],
         "decisions": [{"state": "wte", "along": "data", "chosen": "", "rejected": [
                          {"axis": "vocab", "seconds": 3.5, "exact": true},
                          {"axis": "", "seconds": 3.75, "exact": false}]},
                       {"line": "m.tsr:7", "op": "contract", "along": "data", "chosen": "batch", "rejected": [
                          {"axis": "", "seconds": 3.5, "exact": true}]}])");
  ASSERT_EQ(search->meshes.size(), 1u);
  EXPECT_EQ(search->meshes[0].choice, "4 x 2");
  EXPECT_EQ(search->meshes[0].seconds, 4);
  EXPECT_FALSE(search->meshes[0].isExact);
  ASSERT_EQ(search->decisions.size(), 2u);
  const DecisionSpec &ofState = search->decisions[0], &ofLine = search->decisions[1];
  EXPECT_TRUE(ofState.isOfState);
  EXPECT_EQ(ofState.of, "wte");
  EXPECT_EQ(ofState.along, "data");
  EXPECT_EQ(ofState.chosen, "");
  ASSERT_EQ(ofState.rejected.size(), 2u);
  EXPECT_EQ(ofState.rejected[0].choice, "vocab");
  EXPECT_TRUE(ofState.rejected[0].isExact);
  EXPECT_FALSE(ofLine.isOfState);
  EXPECT_EQ(ofLine.of, "m.tsr:7 contract");
  EXPECT_THROW(withDecisions(R"("meshes": [{"mesh": [4, 2], "seconds": -1.0, "exact": false}])"), Error);
  EXPECT_THROW(withDecisions(R"("meshes": [{"mesh": [4, 2], "seconds": 4.0, "exact": 1}])"), Error);
  EXPECT_THROW(withDecisions(R"("decisions": [{"along": "data", "chosen": "", "rejected": []}])"), Error);
  EXPECT_THROW(withDecisions(R"("decisions": [{"state": "w", "along": "data", "chosen": "", "rejected": []}])"), Error);
}

TEST(RanksSpec, ReadsWhatLinesAreDividedAlong) {
  EXPECT_TRUE(withRanks(withExchange("")).target.ranks.lines.empty());
  Manifest manifest = withRanks(withExchange("") + R"(, "divided_lines": [
      {"at": "m.tsr:12", "ops": 3, "divided": {"data": {"batch": 3}, "tensor": {"ff": 1, "embed": 2}}}])");
  ASSERT_EQ(manifest.target.ranks.lines.size(), 1u);
  const DividedLineSpec &line = manifest.target.ranks.lines[0];
  EXPECT_EQ(line.file(), "m.tsr");
  EXPECT_EQ(line.line(), 12);
  EXPECT_EQ(line.ops, 3);
  EXPECT_EQ(line.divided.at("tensor").at("embed"), 2);
  EXPECT_THROW(withRanks(withExchange("") + R"(, "divided_lines": [{"at": "m.tsr:12"}])"), Error);
}

TEST(RanksSpec, ReadsWhatALibraryAdds) {
  Manifest manifest = withRanks(withExchange(
      R"({"of": "g", "kind": "reduce_scatter", "type": "f32", "along": "data", "bytes": 100},
         {"of": "x", "kind": "all_gather", "along": "data", "bytes": 100})"));
  const RanksSpec &ranks = manifest.target.ranks;
  const ExchangeSpec &sum = ranks.exchanges.at(0), &gather = ranks.exchanges.at(1);
  EXPECT_EQ(sum.element, tessera::ElementType::F32);
  EXPECT_EQ(ranks.received(sum), 300);
  // In memory: a part for each of the four ranks is sent, and their sum received.
  EXPECT_EQ(sum.sent(4), 400);
  EXPECT_EQ(sum.received(4), 100);
  EXPECT_EQ(gather.sent(4), 100);
  EXPECT_EQ(gather.received(4), 400);
}

TEST(RanksSpec, ReadsTheNumberOfLeaves) {
  EXPECT_EQ(withRanks("\"leaves\": 8, " + withExchange("")).target.ranks.leaves, 8);
  EXPECT_EQ(withRanks(withExchange("")).target.ranks.leaves, 0);
}

TEST(RanksSpec, WholeStatesHaveNoPadding) {
  StateEntry entry = withRanks(withExchange("")).state.front();
  EXPECT_EQ(formatAxes(entry.wholeAxes()), "[ff: 4, embed: 5]");
  EXPECT_EQ(entry.wholeBytes(), 80);
}

TEST(RanksSpec, RefusesWhatIsNoExchange) {
  auto exchange = [](const std::string &kind, const std::string &along, const std::string &more) {
    return withExchange(R"({"of": "w", "kind": ")" + kind + R"(", "along": ")" + along + "\", " + more + "}");
  };
  EXPECT_EQ(errorOf(exchange("all_gather", "data", "\"bytes\": 0")), "");
  EXPECT_EQ(errorOf(exchange("all_reduce", "data", "\"bytes\": 0")), "manifest: unknown kind of exchange 'all_reduce'");
  EXPECT_EQ(errorOf(exchange("all_gather", "pipe", "\"bytes\": 0")), "manifest: the mesh has no axis 'pipe'");
  EXPECT_EQ(errorOf(exchange("all_gather", "data", "\"bytes\": -1")), "manifest: exchange of -1 bytes");
  EXPECT_EQ(errorOf(exchange("all_gather", "data", "\"bytes\": 0, \"seconds\": -1")),
            "manifest: an exchange takes -1 seconds");
  EXPECT_NE(errorOf(exchange("all_gather", "data", "\"bytes\": 0, \"calls\": {\"step\": \"often\"}")), "");
  EXPECT_EQ(errorOf(mesh), "manifest: missing key 'exchanges'");
  EXPECT_EQ(errorOf(R"("mesh": [{"name": "tensor", "size": 0}], "exchanges": [])"),
            "manifest: mesh axis 'tensor' has no ranks");
}

} // namespace
