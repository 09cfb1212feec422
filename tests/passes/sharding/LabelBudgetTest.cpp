//===- LabelBudgetTest.cpp - budgets, compared with all labellings ---------===//

#include "passes/sharding/search/LabelBudget.h"
#include "tests/passes/sharding/LabelProblems.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <map>

using namespace tessera;
using namespace tessera::test;

static constexpr double infinity = std::numeric_limits<double>::infinity();

namespace {
double roomFor(double value) { return 1e-9 * (1 + std::abs(value)); }

/// For each number of bytes the fewest seconds of a labelling with as many.
std::map<double, double> allCosts(const LabelProblem &problem) {
  std::map<double, double> costs;
  forEachLabelling(problem, [&](const Labelling &labels) {
    LabelCost cost = problem.cost(labels);
    if (!cost.isAllowed()) return;
    auto [entry, isNew] = costs.try_emplace(cost.bytes, cost.seconds);
    if (!isNew) entry->second = std::min(entry->second, cost.seconds);
  });
  return costs;
}

double fastestWithin(const std::map<double, double> &costs, double bytes) {
  double seconds = infinity;
  for (auto [has, takes] : costs)
    if (has <= bytes) seconds = std::min(seconds, takes);
  return seconds;
}

/// Budgets from below the least bytes to above the most.
std::vector<double> budgetsOf(const std::map<double, double> &costs) {
  constexpr int steps = 12;
  double least = costs.begin()->first, most = costs.rbegin()->first;
  std::vector<double> budgets = {least - 1, least, most + 1};
  for (int i = 1; i < steps; ++i) budgets.push_back(least + (most - least) * i / steps);
  std::sort(budgets.begin(), budgets.end());
  return budgets;
}
} // namespace

TEST(LabelBudget, BudgetsOfSmallProblems) {
  int answers = 0, best = 0, proven = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    LabelProblem problem = randomProblem(seed);
    std::map<double, double> costs = allCosts(problem);
    if (costs.empty()) continue;
    for (double budget : budgetsOf(costs)) {
      std::string where = "seed " + std::to_string(seed) + ", budget " + std::to_string(budget);
      BudgetAnswer answer = solveWithBudget(problem, budget, {.solver = {.tolerance = 0}, .nodes = 16});
      double seconds = fastestWithin(costs, budget);
      EXPECT_LE(answer.smallest.bound, costs.begin()->first + roomFor(costs.begin()->first)) << where;
      if (seconds == infinity) {
        EXPECT_FALSE(answer.found) << where;
        EXPECT_EQ(answer.bound, infinity) << where;
        EXPECT_TRUE(answer.isProven()) << where;
        continue;
      }
      ASSERT_TRUE(answer.found) << where;
      LabelCost cost = problem.cost(answer.labels);
      EXPECT_EQ(cost.seconds, answer.cost.seconds) << where;
      EXPECT_LE(cost.bytes, budget) << where;
      EXPECT_LE(answer.bound, answer.cost.seconds) << where;
      EXPECT_LE(answer.bound, seconds + roomFor(seconds)) << where;
      bool isBest = answer.cost.seconds <= seconds + roomFor(seconds);
      if (answer.isProven()) EXPECT_TRUE(isBest) << where;
      ++answers, best += isBest, proven += answer.isProven();
    }
  }
  RecordProperty("answers", answers);
  RecordProperty("best", best);
  RecordProperty("proven", proven);
  EXPECT_GT(answers, 3000);
  EXPECT_GT(best, answers * 0.95);
  EXPECT_GT(proven, answers * 0.8);
}

TEST(LabelBudget, SaysWhatTheLeastMemoryIs) {
  LabelProblem problem;
  problem.addVariable({{1, 100}, {2, 50}});
  problem.addVariable({{1, 100}, {2, 50}});
  BudgetAnswer answer = solveWithBudget(problem, 99);
  EXPECT_FALSE(answer.found);
  EXPECT_EQ(answer.smallest.bound, 100);
  EXPECT_TRUE(solveWithBudget(problem, 100).found);
}

TEST(LabelBudget, AProblemWithoutLabellings) {
  LabelProblem problem;
  problem.addVariable({{infinity, 0}});
  BudgetAnswer answer = solveWithBudget(problem, 1e9);
  EXPECT_FALSE(answer.found);
  EXPECT_EQ(answer.bound, infinity);
}

TEST(LabelBudget, BudgetsOfATrainingStep) {
  LabelProblem problem = trainingStep({.mesh = {8, 8}, .layers = 4});
  double least = solve(problem, {0, 1}).cost.bytes, most = solve(problem, {1, 0}).cost.bytes;
  for (int i = 0; i <= 10; ++i) {
    double budget = least + (most - least) * i / 10;
    BudgetAnswer answer = solveWithBudget(problem, budget);
    ASSERT_TRUE(answer.found);
    EXPECT_LE(answer.cost.bytes, budget);
    EXPECT_GE(answer.bound, answer.cost.seconds * 0.98) << i;
  }
}

TEST(LabelBudget, AByteHasThePriceOfTheDual) {
  int priced = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    LabelProblem problem = randomProblem(seed);
    std::map<double, double> costs = allCosts(problem);
    if (costs.empty()) continue;
    double most = solve(problem, {1, 0}).cost.bytes;
    for (double budget : budgetsOf(costs)) {
      BudgetAnswer answer = solveWithBudget(problem, budget);
      bool binds = most > budget;
      EXPECT_TRUE(binds || answer.secondsPerByte == 0) << "seed " << seed;
      double least = infinity; // of seconds and bytes together
      for (auto [bytes, seconds] : costs) least = std::min(least, seconds + answer.secondsPerByte * bytes);
      double dual = least - answer.secondsPerByte * budget, best = fastestWithin(costs, budget);
      if (best < infinity) EXPECT_LE(dual, best + roomFor(best)) << "seed " << seed;
      priced += answer.secondsPerByte > 0;
    }
  }
  EXPECT_GT(priced, 100);
}
