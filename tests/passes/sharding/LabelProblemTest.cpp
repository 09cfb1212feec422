//===- LabelProblemTest.cpp - problems and what labellings cost -----------===//

#include "passes/sharding/search/LabelProblem.h"
#include "gtest/gtest.h"
#include <limits>

using namespace tessera;

static constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(LabelProblem, AddsCostsOfVariablesAndPairs) {
  LabelProblem problem;
  unsigned a = problem.addVariable({{1, 10}, {2, 20}}), b = problem.addVariable({{4, 0}, {8, 0}, {16, 0}});
  problem.addPair(a, b, {{100, 1}, {200, 2}, {300, 3}, {400, 4}, {500, 5}, {600, 6}});
  LabelCost cost = problem.cost({1, 2});
  EXPECT_EQ(cost.seconds, 2 + 16 + 600);
  EXPECT_EQ(cost.bytes, 20 + 0 + 6);
}

TEST(LabelProblem, TablesOfThePairAddUpInEitherOrder) {
  LabelProblem problem;
  unsigned a = problem.addVariable({{}, {}}), b = problem.addVariable({{}, {}, {}});
  problem.addPair(a, b, {{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}});
  problem.addPair(b, a, {{10, 0}, {40, 0}, {20, 0}, {50, 0}, {30, 0}, {60, 0}});
  ASSERT_EQ(problem.getPairs().size(), 1u);
  EXPECT_EQ(problem.cost({0, 1}).seconds, 22);
  EXPECT_EQ(problem.cost({1, 0}).seconds, 44);
}

TEST(LabelProblem, APairOfAVariableWithItselfIsItsDiagonal) {
  LabelProblem problem;
  unsigned a = problem.addVariable({{1, 0}, {2, 0}});
  problem.addPair(a, a, {{10, 0}, {infinity, 0}, {infinity, 0}, {20, 0}});
  EXPECT_TRUE(problem.getPairs().empty());
  EXPECT_EQ(problem.cost({0}).seconds, 11);
  EXPECT_EQ(problem.cost({1}).seconds, 22);
}

TEST(LabelProblem, WeightsOfWhatIsNotAllowedAreInfinite) {
  LabelProblem problem;
  problem.addVariable({{1, 1}, {1, 1}});
  problem.addCost(0, 1, {infinity, 0});
  EXPECT_EQ((LabelWeights{0, 1}).of(problem.cost({1})), infinity);
  EXPECT_EQ((LabelWeights{0, 1}).of(problem.cost({0})), 1);
}
