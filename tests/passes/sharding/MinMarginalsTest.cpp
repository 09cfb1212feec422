//===- MinMarginalsTest.cpp - prices of alternatives ----------------------===//

#include "passes/sharding/search/Contraction.h"
#include "passes/sharding/search/Elimination.h"
#include "passes/sharding/search/Solver.h"
#include "tests/passes/sharding/LabelProblems.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace tessera;
using namespace tessera::test;

static constexpr double infinity = std::numeric_limits<double>::infinity();

namespace {
std::vector<std::vector<double>> marginalsOfAll(const LabelProblem &problem, LabelWeights weights) {
  std::vector<std::vector<double>> least;
  for (unsigned i = 0; i < problem.size(); ++i) least.emplace_back(problem.labels(i).size(), infinity);
  forEachLabelling(problem, [&](const Labelling &labels) {
    double value = weights.of(problem.cost(labels));
    for (unsigned i = 0; i < labels.size(); ++i) least[i][labels[i]] = std::min(least[i][labels[i]], value);
  });
  return least;
}

/// Returns how many are exact, of all that are finite.
std::pair<int, int> compare(const LabelProblem &problem, LabelWeights weights, const SolverOptions &options,
                            const std::string &where) {
  LabelSolution solution = solve(problem, weights, options);
  std::vector<std::vector<MinMarginal>> found = minMarginals(problem, weights, solution, options);
  std::vector<std::vector<double>> expected = marginalsOfAll(problem, weights);
  int exact = 0, finite = 0;
  for (unsigned i = 0; i < problem.size(); ++i)
    for (unsigned label = 0; label < expected[i].size(); ++label) {
      double least = expected[i][label], room = 1e-9 * (1 + std::abs(least));
      if (least < infinity) ++finite, exact += found[i][label].isExact;
      if (least == infinity && found[i][label].isExact) EXPECT_EQ(found[i][label].value, infinity) << where;
      if (least == infinity) continue;
      EXPECT_LE(found[i][label].value, least + room) << where;
      if (found[i][label].isExact) EXPECT_GE(found[i][label].value, least - room) << where;
    }
  return {exact, finite};
}
} // namespace

TEST(MinMarginals, EqualThoseOfAllLabellings) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    LabelProblem problem = randomProblem(seed);
    auto [exact, finite] = compare(problem, {1, 0.05}, {.tolerance = 0}, "seed " + std::to_string(seed));
    EXPECT_EQ(exact, finite) << "seed " << seed;
  }
}

TEST(MinMarginals, AreBoundsWhereTablesAreTooLarge) {
  int exact = 0, finite = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    LabelProblem problem = randomProblem(seed, {.leastVariables = 5, .leastLabels = 2});
    SolverOptions options{.tolerance = 0.01};
    options.mostTableEntries = 150;
    auto [someExact, someFinite] = compare(problem, {1, 0.05}, options, "seed " + std::to_string(seed));
    exact += someExact, finite += someFinite;
  }
  EXPECT_GT(exact, finite / 4);
  EXPECT_LT(exact, finite);
}

TEST(MinMarginals, OfATrainingStepAreThoseOfItsSolves) {
  LabelProblem problem = trainingStep({.mesh = {8, 8}, .layers = 2});
  LabelWeights weights{1, 1e-12};
  LabelSolution solution = solve(problem, weights, {.tolerance = 0});
  std::vector<std::vector<MinMarginal>> marginals = minMarginals(problem, weights, solution);
  int exact = 0;
  for (unsigned i = 0; i < problem.size(); ++i) {
    EXPECT_NEAR(marginals[i][solution.labels[i]].value, solution.value, 1e-9 * solution.value);
    unsigned label = i % problem.labels(i).size();
    LabelSets allowed;
    for (unsigned j = 0; j < problem.size(); ++j) allowed.emplace_back(problem.labels(j).size(), j != i);
    allowed[i][label] = true;
    LabelSolution pinned = solve(problem, weights, {.tolerance = 0}, {{}, &solution.messages, &allowed});
    EXPECT_LE(marginals[i][label].value, pinned.value * (1 + 1e-9)) << i;
    if (!marginals[i][label].isExact) continue;
    EXPECT_NEAR(marginals[i][label].value, pinned.value, 1e-9 * pinned.value) << i;
    ++exact;
  }
  EXPECT_GT(exact, 10);
}

TEST(Contraction, LeavesTheOptimum) {
  size_t taken = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    LabelProblem problem = randomProblem(seed);
    LabelWeights weights{1, 0.05};
    LabelSolution solution = solve(problem, weights, {.tolerance = 0});
    CostGraph graph(problem, weights, {});
    if (graph.isEmpty()) continue;
    contract(graph, 1e6);
    taken += graph.removed.size();
    ASSERT_EQ(graph.isEmpty(), !solution.found) << "seed " << seed;
    if (graph.isEmpty()) continue;
    Elimination elimination(graph);
    Labelling labels = graph.toProblem(elimination.minimise());
    EXPECT_NEAR(weights.of(problem.cost(labels)), solution.value, 1e-9) << "seed " << seed;
    EXPECT_NEAR(elimination.getLeast(), solution.value, 1e-9) << "seed " << seed;
  }
  EXPECT_GT(taken, 900u);
}
