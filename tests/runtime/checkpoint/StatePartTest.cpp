// A rank's part of a state, in memory order with padding, and the whole tensor, in canonical order, are converted into
// each other.

#include "runtime/checkpoint/StatePart.h"
#include "tests/runtime/checkpoint/DividedState.h"
#include "tests/runtime/ranks/ThreadRanks.h"

#include <numeric>

using namespace tessera;
using namespace tessera::tests;

namespace {

using Runs = std::vector<std::pair<int64_t, int64_t>>;

/// [a 2, b 3, c 5] in canonical order; b is the outermost in memory.
WholeState permuted(const std::map<std::string, std::string> &along) {
  return {"w", "weight", ElementType::F32, {{"b", 3}, {"a", 2}, {"c", 5}}, {"a", "b", "c"}, along};
}

/// Runs `check` on each rank of the mesh, with its manifest and its part of the only state.
void forEachPart(const WholeState &state, const std::vector<MeshAxisSpec> &mesh,
                 const std::function<void(const Manifest &, const StatePart &, int rank)> &check) {
  Manifest manifest = manifestFor({state}, mesh);
  onRanks(ranksOf(manifest), [&](HostCommunicator &world) {
    MeshPlace place(manifest.target.ranks, world);
    check(manifest, StatePart(manifest.state[0], place), world.rank());
  });
}

/// What `dense` returns of [first, end), by numbers of the whole tensor.
std::vector<float> denseElements(const StatePart &part, const std::vector<float> &memory, int64_t first, int64_t end) {
  std::vector<char> buffer;
  std::vector<float> result(end - first);
  const char *dense = part.dense(reinterpret_cast<const char *>(memory.data()), first, end - first, buffer);
  memcpy(result.data(), dense, result.size() * sizeof(float));
  return result;
}

void expectRoundTrip(const WholeState &state, const std::vector<MeshAxisSpec> &mesh) {
  forEachPart(state, mesh, [](const Manifest &manifest, const StatePart &part, int rank) {
    std::vector<int64_t> numbers = wholeNumbers(manifest, manifest.state[0], rank);
    std::vector<float> whole(manifest.state[0].wholeElements()), memory(numbers.size(), -7);
    std::iota(whole.begin(), whole.end(), 1.f);
    part.read(reinterpret_cast<const char *>(whole.data()), reinterpret_cast<char *>(memory.data()));
    int64_t elements = 0;
    for (size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_EQ(memory[i], numbers[i] < 0 ? 0 : whole[numbers[i]]);
      elements += numbers[i] >= 0;
    }
    EXPECT_EQ(part.elements(), elements);
    for (int64_t first = 0; first < elements; first += 4) { // pieces that begin and end anywhere
      int64_t end = std::min(first + 4, elements), next = 0;
      std::vector<float> dense = denseElements(part, memory, first, end);
      part.forEachFileRun(first, end - first, [&](int64_t at, int64_t count) {
        for (int64_t i = 0; i < count; ++i) EXPECT_EQ(dense[next++], whole[at + i]);
      });
      EXPECT_EQ(next, end - first);
    }
  });
}

TEST(StatePart, OneRankHasTheWhole) {
  expectRoundTrip(permuted({}), {});
  expectRoundTrip({"s", "counter", ElementType::F32, {}, {}}, {});
  expectRoundTrip({"w", "weight", ElementType::F32, {{"a", 4}, {"one", 1}}, {"one", "a"}}, {});
}

TEST(StatePart, OuterInnerAndSeveralAxesAreDivided) {
  expectRoundTrip(permuted({{"a", "data"}}), {{"data", 2}});
  expectRoundTrip(permuted({{"b", "data"}}), {{"data", 3}});
  expectRoundTrip(permuted({{"c", "data"}}), {{"data", 5}});
  expectRoundTrip(permuted({{"a", "data"}, {"c", "tensor"}}), {{"tensor", 5}, {"data", 2}});
}

TEST(StatePart, SizesThatDoNotDivideArePadded) {
  expectRoundTrip(permuted({{"a", "data"}}), {{"data", 3}}); // the last rank has padding only
  expectRoundTrip(permuted({{"b", "data"}, {"c", "tensor"}}), {{"data", 2}, {"tensor", 3}});
  expectRoundTrip(permuted({{"c", "data"}}), {{"data", 4}});
}

TEST(StatePart, WhatIsDenseInMemoryIsNotCopied) {
  WholeState state{"w", "weight", ElementType::F32, {{"a", 5}, {"b", 3}}, {"a", "b"}, {{"a", "data"}}};
  forEachPart(state, {{"data", 2}}, [](const Manifest &, const StatePart &part, int) {
    std::vector<float> memory(9);
    std::vector<char> buffer;
    auto *bytes = reinterpret_cast<const char *>(memory.data());
    EXPECT_EQ(part.dense(bytes, 2, 4, buffer), bytes + 2 * sizeof(float));
  });
}

TEST(StatePart, AdjacentRunsOfTheFileAreOne) {
  auto runsOf = [](const StatePart &part) {
    Runs runs;
    part.forEachFileRun(0, part.elements(), [&](int64_t at, int64_t count) { runs.push_back({at, count}); });
    return runs;
  };
  forEachPart(permuted({{"a", "data"}}), {{"data", 2}}, [&](const Manifest &, const StatePart &part, int rank) {
    EXPECT_EQ(runsOf(part), (Runs{{rank * 15, 15}}));
  });
  forEachPart(permuted({{"b", "data"}}), {{"data", 2}}, [&](const Manifest &, const StatePart &part, int rank) {
    EXPECT_EQ(runsOf(part), rank == 0 ? (Runs{{0, 10}, {15, 10}}) : (Runs{{10, 5}, {25, 5}}));
  });
}

TEST(StatePart, HoldersAreTheRanksAlongOtherAxes) {
  Manifest manifest =
      manifestFor({permuted({{"c", "tensor"}}), permuted({{"c", "data"}, {"b", "tensor"}}), permuted({})},
                  {{"data", 3}, {"tensor", 2}});
  onRanks(6, [&](HostCommunicator &world) {
    MeshPlace place(manifest.target.ranks, world);
    PartHolder half = place.holderOf(manifest.state[0]), own = place.holderOf(manifest.state[1]),
               all = place.holderOf(manifest.state[2]);
    EXPECT_EQ(half.count, 3);
    EXPECT_EQ(half.number, world.rank() / 2);
    EXPECT_EQ(own.count, 1);
    EXPECT_EQ(own.number, 0);
    EXPECT_EQ(all.count, 6);
    EXPECT_EQ(all.number, world.rank());
  });
}

TEST(StatePart, PlacesNeedTheMesh) {
  RanksSpec ranks{{{"data", 2}}, {}};
  OneRank world;
  EXPECT_EQ(messageOf([&] { MeshPlace(ranks, world); }),
            "the mesh data=2 is for 2 ranks, but there is 1; start as many, or give a mesh whose sizes multiply to 1");
  Manifest manifest = manifestFor({permuted({{"a", "data"}})}, ranks.mesh);
  EXPECT_EQ(messageOf([&] { StatePart(manifest.state[0], MeshPlace()); }),
            "expected an axis of the mesh, got 'data': this mesh has none");
}

} // namespace
