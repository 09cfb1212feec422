//===- SolverTest.cpp - the solver, and all labellings --------------------===//

#include "passes/sharding/search/Solver.h"
#include "tests/passes/sharding/LabelProblems.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace tessera;
using namespace tessera::test;

static constexpr double infinity = std::numeric_limits<double>::infinity();
static constexpr double lambdas[] = {0, 0.003, 0.05, 1, 20};

namespace {
double leastOfAll(const LabelProblem &problem, LabelWeights weights) {
  double least = infinity;
  forEachLabelling(problem,
                   [&](const Labelling &labels) { least = std::min(least, weights.of(problem.cost(labels))); });
  return least;
}

/// Sums differ in their order.
void expectNear(double value, double expected, const std::string &where) {
  if (expected == infinity)
    EXPECT_EQ(value, infinity) << where;
  else
    EXPECT_NEAR(value, expected, 1e-9 * (1 + std::abs(expected))) << where;
}

/// Options under which nothing is left to elimination and joins.
SolverOptions onlyBranches() {
  SolverOptions options{.tolerance = 0};
  options.mostTableEntries = 0, options.mostJoinedLabels = 0, options.mostRounds = 1, options.mostNodes = 1'000'000;
  return options;
}
} // namespace

TEST(Solver, EqualsAllLabellingsOfSmallProblems) {
  constexpr unsigned problems = 400;
  unsigned unsolvable = 0;
  for (unsigned seed = 0; seed < problems; ++seed) {
    LabelProblem problem = randomProblem(seed);
    for (double lambda : lambdas) {
      std::string where = "seed " + std::to_string(seed) + ", lambda " + std::to_string(lambda);
      LabelWeights weights{1, lambda};
      LabelSolution solution = solve(problem, weights, {.tolerance = 0});
      double least = leastOfAll(problem, weights);
      expectNear(solution.value, least, where);
      expectNear(solution.bound, least, where);
      EXPECT_TRUE(solution.isProven()) << where;
      EXPECT_EQ(solution.found, least < infinity) << where;
      if (solution.found) EXPECT_EQ(weights.of(problem.cost(solution.labels)), solution.value) << where;
      unsolvable += !solution.found;
    }
  }
  EXPECT_GT(unsolvable, 10u);
}

TEST(Solver, BranchAndBoundAloneEqualsAllLabellings) {
  int64_t nodes = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    LabelProblem problem = randomProblem(seed, {.mostVariables = 7, .mostLabels = 5, .leastVariables = 5});
    for (double lambda : lambdas) {
      std::string where = "seed " + std::to_string(seed) + ", lambda " + std::to_string(lambda);
      LabelSolution solution = solve(problem, {1, lambda}, onlyBranches());
      expectNear(solution.value, leastOfAll(problem, {1, lambda}), where);
      EXPECT_TRUE(solution.isProven()) << where;
      nodes += solution.effort.nodes;
    }
  }
  EXPECT_GT(nodes, 1200);
}

TEST(Solver, JoinsEqualAllLabellings) {
  SolverOptions options{.tolerance = 0};
  options.mostTableEntries = 0, options.mostRounds = 1;
  for (unsigned seed = 0; seed < 200; ++seed) {
    LabelProblem problem = randomProblem(seed, {.leastVariables = 4});
    for (double lambda : lambdas) {
      std::string where = "seed " + std::to_string(seed) + ", lambda " + std::to_string(lambda);
      LabelSolution solution = solve(problem, {1, lambda}, options);
      expectNear(solution.value, leastOfAll(problem, {1, lambda}), where);
      EXPECT_TRUE(solution.isProven()) << where;
    }
  }
}

TEST(Solver, BytesAlone) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    LabelProblem problem = randomProblem(seed);
    expectNear(solve(problem, {0, 1}, {.tolerance = 0}).value, leastOfAll(problem, {0, 1}),
               "seed " + std::to_string(seed));
  }
}

TEST(Solver, ABoundWithinTheToleranceIsEnough) {
  constexpr double tolerance = 0.05;
  for (unsigned seed = 0; seed < 200; ++seed) {
    LabelProblem problem = randomProblem(seed);
    LabelWeights weights{1, 0.05};
    LabelSolution solution = solve(problem, weights, {.tolerance = tolerance});
    double least = leastOfAll(problem, weights);
    ASSERT_EQ(solution.found, least < infinity) << "seed " << seed;
    if (!solution.found) continue;
    EXPECT_GE(solution.value, least - 1e-9) << "seed " << seed;
    EXPECT_LE(solution.bound, least + 1e-9) << "seed " << seed;
    EXPECT_GE(solution.bound, solution.value * (1 - tolerance) - 1e-9) << "seed " << seed;
  }
}

TEST(Solver, ASearchThatEndsEarlyStillHasABound) {
  unsigned unproven = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    LabelProblem problem = randomProblem(seed, {.leastVariables = 6});
    SolverOptions options = onlyBranches();
    options.mostNodes = 2;
    LabelWeights weights{1, 0.05};
    LabelSolution solution = solve(problem, weights, options);
    double least = leastOfAll(problem, weights);
    EXPECT_LE(solution.bound, least + 1e-9) << "seed " << seed;
    EXPECT_GE(solution.value, least - 1e-9) << "seed " << seed;
    unproven += !solution.isProven();
  }
  EXPECT_GT(unproven, 10u);
}

TEST(Solver, ChoosesAmongTheLabelsThatAreAllowed) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    LabelProblem problem = randomProblem(seed);
    LabelSolution all = solve(problem, {1, 0.05}, {.tolerance = 0});
    if (!all.found || problem.labels(0).size() == 1) continue;
    LabelSets allowed;
    LabelProblem forbidding = problem;
    for (unsigned i = 0; i < problem.size(); ++i) allowed.emplace_back(problem.labels(i).size(), true);
    allowed[0][all.labels[0]] = false;
    forbidding.addCost(0, all.labels[0], {infinity, 0});
    LabelSolution rest = solve(problem, {1, 0.05}, {.tolerance = 0}, {{all.labels}, &all.messages, &allowed});
    expectNear(rest.value, leastOfAll(forbidding, {1, 0.05}), "seed " + std::to_string(seed));
  }
}

TEST(Solver, AWarmStartChangesNoOptimum) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    LabelProblem problem = randomProblem(seed);
    LabelSolution first = solve(problem, {1, 0.05}, {.tolerance = 0});
    if (!first.found) continue;
    LabelSolution second = solve(problem, {1, 0.3}, {.tolerance = 0}, {{first.labels}, &first.messages});
    expectNear(second.value, leastOfAll(problem, {1, 0.3}), "seed " + std::to_string(seed));
    EXPECT_TRUE(second.isProven()) << "seed " << seed;
  }
}

TEST(Solver, EndsOnceNothingBetterThanAValueIsLeft) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    LabelProblem problem = randomProblem(seed);
    LabelWeights weights{1, 0.05};
    double least = leastOfAll(problem, weights);
    if (least == infinity) continue;
    LabelSolution below = solve(problem, weights, {.tolerance = 0}, {.most = least * 0.9 - 0.1});
    EXPECT_GE(below.bound, least * 0.9 - 0.1) << "seed " << seed;
    EXPECT_LE(below.bound, least + 1e-9) << "seed " << seed;
    LabelSolution above = solve(problem, weights, {.tolerance = 0}, {.most = least * 1.1 + 0.1});
    expectNear(above.value, least, "seed " + std::to_string(seed));
    EXPECT_TRUE(above.isProven()) << "seed " << seed;
  }
}

TEST(Solver, AProblemWithoutVariablesCostsNothing) {
  LabelSolution solution = solve(LabelProblem(), {1, 1});
  EXPECT_TRUE(solution.found);
  EXPECT_EQ(solution.value, 0);
  EXPECT_TRUE(solution.isProven());
}

TEST(Solver, ReportsThatNoLabellingIsAllowed) {
  LabelProblem problem;
  for (int i = 0; i < 3; ++i) problem.addVariable({{}, {}});
  for (unsigned i = 0; i < 3; ++i) // Two colours for a triangle: arc consistency does not see it.
    problem.addPair(i, (i + 1) % 3, {{infinity, 0}, {}, {}, {infinity, 0}});
  LabelSolution solution = solve(problem, {1, 1});
  EXPECT_FALSE(solution.found);
  EXPECT_EQ(solution.bound, infinity);
  EXPECT_TRUE(solution.isProven());
}

TEST(Solver, ProvesTheOptimumOfATrainingStepTwiceTheSame) {
  for (std::vector<int> mesh : {std::vector<int>{8, 8}, {4, 16}, {4, 4, 4}}) {
    LabelProblem problem = trainingStep({.mesh = mesh, .layers = 4});
    ASSERT_GE(problem.size(), 150u);
    for (double lambda : {0.0, 1e-13, 1e-11}) {
      LabelSolution first = solve(problem, {1, lambda}, {.tolerance = 0});
      LabelSolution second = solve(trainingStep({.mesh = mesh, .layers = 4}), {1, lambda}, {.tolerance = 0});
      EXPECT_TRUE(first.isProven()) << lambda;
      EXPECT_EQ(first.labels, second.labels) << lambda;
      EXPECT_EQ(first.messages, second.messages) << lambda;
      EXPECT_EQ(first.effort.passes, second.effort.passes) << lambda;
    }
  }
}
