//===- BruteForceTest.cpp - the search, compared with all shardings -------===//
//
// Small programs on all meshes of some devices: what `findSharding` finds takes as long as the best of all forms of
// their nodes, without a limit of memory and with one.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Verifier.h"
#include "passes/sharding/search/ShardingSearch.h"
#include "tests/passes/sharding/SmallPrograms.h"
#include "gtest/gtest.h"
#include <map>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {
constexpr double tolerance = 2e-3; // the search stops within 1e-3
constexpr double mostLabellings = 1e8;

/// The least over all meshes; none if there are too many labellings to try.
std::optional<double> leastOfMeshes(const ShardingGraph &graph, int64_t count, const SearchDevices &devices,
                                    double bytes) {
  double least = INFINITY;
  for (const Mesh &mesh : meshesOf(count, 3)) {
    ShardingCosts costs(graph, mesh, devices);
    if (countLabellings(costs.problem(MomentWeights(graph.countMoments()))) > mostLabellings) return std::nullopt;
    least = std::min(least, leastSecondsOf(costs, graph, bytes));
  }
  return least;
}

TEST(BruteForce, FindsTheBestOfAllShardings) {
  static constexpr int64_t counts[] = {2, 2, 3, 4};
  TiledContractions tiled;
  int programs = 0, divided = 0, limited = 0;
  for (unsigned seed = 0; programs < 200; ++seed) {
    ASSERT_LT(seed, 400u) << "too many programs are too large";
    MLIRContext context;
    OwningOpRef<ModuleOp> module = smallProgram(context, seed);
    ASSERT_TRUE(module && succeeded(verify(*module))) << "seed " << seed;
    ShardingGraph graph(module->lookupSymbol<func::FuncOp>("step"), tiled);
    int64_t count = counts[seed % std::size(counts)];
    SearchDevices devices = randomDevices(seed);
    std::optional<double> least = leastOfMeshes(graph, count, devices, INFINITY);
    if (!least) continue;
    ++programs;
    std::optional<ModuleSharding> found = findSharding(*module, count, devices, SearchOptions());
    ASSERT_TRUE(found) << "seed " << seed;
    EXPECT_NEAR(found->step.cost.seconds, *least, tolerance * *least) << "seed " << seed;
    EXPECT_LE(found->bound, *least * (1 + 1e-9)) << "seed " << seed;
    divided += !found->ofStates["w"].getParts().empty() || found->mesh.front().getName() != "replica";
    // A limit between the fewest bytes and those of the fastest one.
    SearchOptions none;
    none.bytes = 1;
    std::optional<ModuleSharding> smallest = findSharding(*module, count, devices, none);
    ASSERT_TRUE(smallest) << "seed " << seed;
    SearchOptions limit;
    limit.bytes = (found->step.cost.bytes + smallest->step.cost.bytes) / 2;
    std::optional<ModuleSharding> within = findSharding(*module, count, devices, limit);
    ASSERT_TRUE(within) << "seed " << seed;
    double leastWithin = *leastOfMeshes(graph, count, devices, limit.bytes);
    ASSERT_TRUE(within->isWithin) << "seed " << seed;
    EXPECT_LE(within->step.cost.bytes, limit.bytes) << "seed " << seed;
    EXPECT_NEAR(within->step.cost.seconds, leastWithin, tolerance * leastWithin) << "seed " << seed;
    EXPECT_LE(within->bound, leastWithin * (1 + 1e-9)) << "seed " << seed;
    limited += leastWithin > *least * (1 + tolerance);
  }
  EXPECT_GT(divided, 100);
  EXPECT_GT(limited, 20);
}

/// A small stack of layers (SmallPrograms.h), with its graph.
struct Layers {
  explicit Layers(unsigned seed)
      : module(smallLayers(context, seed)), graph(module->lookupSymbol<func::FuncOp>("step"), tiled) {}

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  TiledContractions tiled;
  ShardingGraph graph;
};

/// The best of all shardings of a stack of layers, and of all ways to recompute; `least` if none takes fewer seconds.
double leastOfWays(const ShardingGraph &graph, int64_t count, const SearchDevices &devices, double bytes,
                   double least) {
  for (RecomputationWay way :
       {RecomputationWay::None, RecomputationWay::Segments, RecomputationWay::Both, RecomputationWay::Values})
    for (const Mesh &mesh : meshesOf(count, 1)) {
      ShardingCosts costs(graph, mesh, devices, way);
      least = leastSecondsOf(costs, graph, bytes, least);
    }
  return least;
}

TEST(BruteForce, FindsTheBestRecomputationOfLayers) {
  std::map<RecomputationWay, int> ways;
  int best = 0, programs = 100;
  for (int seed = 0; seed < programs; ++seed) {
    Layers layers(seed);
    const ShardingGraph &graph = layers.graph;
    SearchDevices devices = randomDevices(seed);
    SearchOptions options;
    options.recomputes = true;
    std::optional<ModuleSharding> found = findSharding(*layers.module, 2, devices, options);
    ASSERT_TRUE(found) << "seed " << seed;
    options.bytes = 1;
    std::optional<ModuleSharding> smallest = findSharding(*layers.module, 2, devices, options);
    ASSERT_TRUE(smallest) << "seed " << seed;
    double least = smallest->step.cost.bytes, share = (1 + seed % 3) / 4.0;
    options.bytes = least + share * (found->step.cost.bytes - least);
    std::optional<ModuleSharding> within = findSharding(*layers.module, 2, devices, options);
    ASSERT_TRUE(within && within->isWithin) << "seed " << seed;
    double seconds = leastOfWays(graph, 2, devices, options.bytes, within->step.cost.seconds);
    EXPECT_LE(within->step.cost.bytes, options.bytes) << "seed " << seed;
    best += within->step.cost.seconds < seconds * (1 + tolerance);
    EXPECT_LE(within->bound, seconds * (1 + 1e-9)) << "seed " << seed;
    ++ways[within->step.recomputation];
  }
  // The solver knows one sum of bytes, not those of each moment: for some of what is within all limits there is none.
  EXPECT_GT(best, programs * 97 / 100);
  for (RecomputationWay way : {RecomputationWay::Values, RecomputationWay::Segments})
    EXPECT_GT(ways[way], 2) << "way " << int(way);
}

/// Exchanges beside kernels take the longer of both times, which is no sum over the nodes.
TEST(BruteForce, FindsExchangesBesideKernels) {
  int hidden = 0, best = 0, programs = 100;
  for (int seed = 0; seed < programs; ++seed) {
    Layers layers(seed);
    const ShardingGraph &graph = layers.graph;
    SearchDevices devices = randomDevices(seed);
    std::optional<ModuleSharding> without = findSharding(*layers.module, 2, devices, SearchOptions());
    devices.target.overlapsExchanges = true;
    std::optional<ModuleSharding> found = findSharding(*layers.module, 2, devices, SearchOptions());
    ASSERT_TRUE(without && found) << "seed " << seed;
    ShardingCosts costs(graph, {2}, devices);
    double least = leastSecondsOf(costs, graph, INFINITY, found->step.cost.seconds);
    EXPECT_GE(found->step.cost.seconds, least * (1 - 1e-9)) << "seed " << seed;
    EXPECT_LE(found->bound, least * (1 + 1e-9)) << "seed " << seed;
    hidden += found->step.cost.seconds < without->step.cost.seconds * (1 - tolerance);
    best += found->step.cost.seconds < least * (1 + tolerance);
  }
  EXPECT_GT(hidden, programs / 5);
  EXPECT_GT(best, programs * 9 / 10);
}
} // namespace
