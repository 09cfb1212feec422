//===- LabelFrontierTest.cpp - hulls and budgets, and all labellings ------===//

#include "passes/sharding/search/LabelFrontier.h"
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

TEST(LabelFrontier, HullIsThatOfAllLabellings) {
  size_t points = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    LabelProblem problem = randomProblem(seed);
    std::map<double, double> costs = allCosts(problem);
    LabelFrontier frontier(problem, {.depth = 0});
    std::vector<LabelFrontier::Point> hull = frontier.findHull();
    ASSERT_EQ(hull.empty(), costs.empty()) << "seed " << seed;
    if (hull.empty()) continue;
    points += hull.size();
    EXPECT_NEAR(hull.front().cost.bytes, costs.begin()->first, roomFor(costs.begin()->first)) << "seed " << seed;
    EXPECT_NEAR(hull.back().cost.seconds, fastestWithin(costs, infinity), 1e-9) << "seed " << seed;
    for (size_t i = 0; i + 1 < hull.size(); ++i) {
      LabelCost a = hull[i].cost, b = hull[i + 1].cost;
      EXPECT_LT(a.bytes, b.bytes) << "seed " << seed;
      EXPECT_GT(a.seconds, b.seconds) << "seed " << seed;
      LabelWeights weights{1, (a.seconds - b.seconds) / (b.bytes - a.bytes)};
      for (auto [bytes, seconds] : costs)
        EXPECT_GE(weights.of({seconds, bytes}), weights.of(a) - roomFor(weights.of(a))) << "seed " << seed;
    }
  }
  EXPECT_GT(points, 600u);
}

TEST(LabelFrontier, BudgetsOfSmallProblems) {
  int answers = 0, best = 0, proven = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    LabelProblem problem = randomProblem(seed);
    std::map<double, double> costs = allCosts(problem);
    if (costs.empty()) continue;
    LabelFrontier frontier(problem, {.budgetNodes = 16});
    for (double budget : budgetsOf(costs)) {
      std::string where = "seed " + std::to_string(seed) + ", budget " + std::to_string(budget);
      BudgetAnswer answer = frontier.findWithin(budget);
      double seconds = fastestWithin(costs, budget);
      EXPECT_LE(answer.leastBytes, costs.begin()->first + roomFor(costs.begin()->first)) << where;
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

TEST(LabelFrontier, MoreBudgetIsNeverSlower) {
  // Solves that end early, within a tolerance or after a node, too.
  FrontierOptions exact, tolerant, hurried;
  tolerant.solver.tolerance = 0.05;
  exact.budgetNodes = tolerant.budgetNodes = hurried.budgetNodes = 8;
  hurried.solver.mostNodes = 1, hurried.solver.mostTableEntries = 20, hurried.solver.mostRounds = 1;
  for (FrontierOptions options : {exact, tolerant, hurried})
    for (unsigned seed = 0; seed < 100; ++seed) {
      LabelProblem problem = randomProblem(seed, {.mostVariables = 9, .leastVariables = 5, .mayForbid = false});
      LabelFrontier frontier(problem, options);
      double least = frontier.getSmallest().cost.bytes, most = frontier.getFastest().cost.bytes, seconds = infinity;
      for (int i = 0; i <= 20; ++i) {
        BudgetAnswer answer = frontier.findWithin(least + (most - least) * i / 20);
        ASSERT_TRUE(answer.found) << "seed " << seed;
        EXPECT_LE(answer.cost.seconds, seconds + roomFor(seconds))
            << "seed " << seed << ", budget " << i << ", tolerance " << options.solver.tolerance;
        seconds = answer.cost.seconds;
      }
    }
}

TEST(LabelFrontier, AnAnswerDoesNotDependOnEarlierBudgets) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    LabelProblem problem = randomProblem(seed, {.mostVariables = 9, .leastVariables = 5, .mayForbid = false});
    LabelFrontier all(problem);
    all.findHull();
    double least = all.getSmallest().cost.bytes, most = all.getFastest().cost.bytes;
    for (int i = 10; i >= 0; --i) {
      double budget = least + (most - least) * i / 10;
      LabelFrontier one(problem);
      EXPECT_EQ(one.findWithin(budget).labels, all.findWithin(budget).labels) << "seed " << seed;
    }
  }
}

TEST(LabelFrontier, SaysWhatTheLeastMemoryIs) {
  LabelProblem problem;
  problem.addVariable({{1, 100}, {2, 50}});
  problem.addVariable({{1, 100}, {2, 50}});
  LabelFrontier frontier(problem);
  BudgetAnswer answer = frontier.findWithin(99);
  EXPECT_FALSE(answer.found);
  EXPECT_EQ(answer.leastBytes, 100);
  EXPECT_TRUE(frontier.findWithin(100).found);
}

TEST(LabelFrontier, AProblemWithoutLabellings) {
  LabelProblem problem;
  problem.addVariable({{infinity, 0}});
  LabelFrontier frontier(problem);
  EXPECT_TRUE(frontier.findHull().empty());
  EXPECT_FALSE(frontier.findWithin(1e9).found);
  EXPECT_EQ(frontier.findWithin(1e9).bound, infinity);
}

TEST(LabelFrontier, BudgetsOfATrainingStep) {
  LabelProblem problem = trainingStep({.mesh = {8, 8}, .layers = 4});
  LabelFrontier frontier(problem);
  double least = frontier.getSmallest().cost.bytes, most = frontier.getFastest().cost.bytes, seconds = infinity;
  for (int i = 0; i <= 10; ++i) {
    double budget = least + (most - least) * i / 10;
    BudgetAnswer answer = frontier.findWithin(budget);
    ASSERT_TRUE(answer.found);
    EXPECT_LE(answer.cost.bytes, budget);
    EXPECT_LE(answer.cost.seconds, seconds + roomFor(seconds));
    EXPECT_GE(answer.bound, answer.cost.seconds * 0.98) << i;
    seconds = answer.cost.seconds;
  }
}

TEST(LabelFrontier, AByteHasThePriceOfTheDual) {
  int priced = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    LabelProblem problem = randomProblem(seed);
    std::map<double, double> costs = allCosts(problem);
    if (costs.empty()) continue;
    LabelFrontier frontier(problem);
    for (double budget : budgetsOf(costs)) {
      BudgetAnswer answer = frontier.findWithin(budget);
      bool binds = frontier.getFastest().cost.bytes > budget;
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
