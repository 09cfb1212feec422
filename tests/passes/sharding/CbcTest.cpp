//===- CbcTest.cpp - the solver, and a solver of integer programs ---------===//
//
// Problems that are too large for all their labellings to be tried, as integer programs: a 0/1 variable for each label,
// of which one of each variable is 1; for each two labels of a pair the product of theirs, which the marginals of the
// local polytope force to be 0 or 1 too.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/search/LabelBudget.h"
#include "tests/passes/sharding/LabelProblems.h"
#include "tests/passes/sharding/SmallPrograms.h"
#include "gtest/gtest.h"
#include <coin/Cbc_C_Interface.h>

using namespace tessera;
using namespace tessera::test;

namespace {
/// Row by row; `lower` and `upper` bound the row's sum.
class Program {
public:
  Program() : model(Cbc_newModel()) {
    Cbc_setLogLevel(model, 0);
    Cbc_setParameter(model, "ratioGap", "0");
    Cbc_setParameter(model, "allowableGap", "0");
  }
  ~Program() { Cbc_deleteModel(model); }

  int addColumn(double cost, double upper, bool isInteger) {
    Cbc_addCol(model, "", 0, upper, cost, isInteger, 0, nullptr, nullptr);
    return columns++;
  }
  void addRow(const std::vector<int> &at, const std::vector<double> &factors, char sense, double side) {
    Cbc_addRow(model, "", at.size(), at.data(), factors.data(), sense, side);
  }
  /// The least cost, or infinity.
  double solve() {
    Cbc_solve(model);
    return Cbc_isProvenOptimal(model) && !Cbc_isProvenInfeasible(model) ? Cbc_getObjValue(model)
                                                                        : std::numeric_limits<double>::infinity();
  }

private:
  Cbc_Model *model;
  int columns = 0;
};

/// The least value of a labelling with at most so many bytes.
double solveWithCbc(const LabelProblem &problem, LabelWeights weights, double mostBytes) {
  Program program;
  std::vector<int> bytesAt;
  std::vector<double> bytes;
  auto addCost = [&](const LabelCost &cost, bool isInteger) {
    int column = program.addColumn(cost.isAllowed() ? weights.of(cost) : 0, cost.isAllowed() ? 1 : 0, isInteger);
    if (cost.bytes != 0) bytesAt.push_back(column), bytes.push_back(cost.bytes);
    return column;
  };
  std::vector<std::vector<int>> labels(problem.size());
  for (unsigned i = 0; i < problem.size(); ++i) {
    for (const LabelCost &cost : problem.labels(i)) labels[i].push_back(addCost(cost, true));
    program.addRow(labels[i], std::vector<double>(labels[i].size(), 1), 'E', 1);
  }
  for (const LabelProblem::Pair &pair : problem.getPairs()) {
    const std::vector<int> &rows = labels[pair.ends[0]], &columns = labels[pair.ends[1]];
    std::vector<std::vector<int>> products(rows.size());
    for (unsigned a = 0; a < rows.size(); ++a)
      for (unsigned b = 0; b < columns.size(); ++b) products[a].push_back(addCost(pair.cost(a, b), false));
    auto addMarginal = [&](int label, std::vector<int> of) {
      std::vector<double> factors(of.size(), 1);
      of.push_back(label), factors.push_back(-1);
      program.addRow(of, factors, 'E', 0);
    };
    for (unsigned a = 0; a < rows.size(); ++a) addMarginal(rows[a], products[a]);
    for (unsigned b = 0; b < columns.size(); ++b) {
      std::vector<int> of;
      for (unsigned a = 0; a < rows.size(); ++a) of.push_back(products[a][b]);
      addMarginal(columns[b], of);
    }
  }
  if (mostBytes < std::numeric_limits<double>::infinity()) program.addRow(bytesAt, bytes, 'L', mostBytes);
  return program.solve();
}

LabelProblem largerProblem(unsigned seed) {
  return randomProblem(seed, {.mostVariables = 20,
                              .mostLabels = 6,
                              .leastVariables = 20,
                              .leastLabels = 2,
                              .mayForbid = seed % 2 == 0,
                              .mayBeDense = false});
}
constexpr double infinity = std::numeric_limits<double>::infinity();
} // namespace

TEST(Cbc, FindsTheSameOptimum) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    LabelProblem problem = largerProblem(seed);
    LabelWeights weights{1, 0.02};
    LabelSolution solution = solve(problem, weights, {.tolerance = 0, .mostNodes = 10'000});
    ASSERT_TRUE(solution.isProven()) << "seed " << seed;
    double expected = solveWithCbc(problem, weights, infinity);
    if (solution.found)
      EXPECT_NEAR(solution.value, expected, 1e-6 * (1 + expected)) << "seed " << seed;
    else
      EXPECT_EQ(expected, infinity) << "seed " << seed;
  }
}

TEST(Cbc, AgreesWithBoundsWithinBudgets) {
  int answers = 0, best = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    LabelProblem problem = largerProblem(seed);
    LabelSolution smallest = solve(problem, {0, 1}), fastest = solve(problem, {1, 0});
    if (!fastest.found) continue;
    double least = smallest.cost.bytes, most = fastest.cost.bytes;
    for (int i = 0; i < 3; ++i) {
      double budget = least + (most - least) * i / 3;
      BudgetAnswer answer = solveWithBudget(problem, budget, {.solver = {.tolerance = 0}, .nodes = 16});
      double expected = solveWithCbc(problem, {1, 0}, budget), room = 1e-6 * (1 + expected);
      ASSERT_TRUE(answer.found) << "seed " << seed;
      EXPECT_LE(answer.bound, expected + room) << "seed " << seed;
      EXPECT_GE(answer.cost.seconds, expected - room) << "seed " << seed;
      if (answer.isProven()) EXPECT_LE(answer.cost.seconds, expected + room) << "seed " << seed;
      ++answers, best += answer.cost.seconds <= expected + room;
    }
  }
  RecordProperty("answers", answers);
  RecordProperty("best", best);
  EXPECT_GT(best, answers / 2);
}

/// The label problems of small programs, which BruteForceTest.cpp compares with the search.
TEST(Cbc, FindsTheBestShardingOfSmallPrograms) {
  TiledContractions tiled;
  int problems = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    mlir::MLIRContext context;
    mlir::OwningOpRef<mlir::ModuleOp> module = smallProgram(context, seed);
    ASSERT_TRUE(module);
    ShardingGraph graph(module->lookupSymbol<mlir::func::FuncOp>("step"), tiled);
    SearchDevices devices = randomDevices(seed);
    ShardingCosts costs(graph, {2}, devices);
    LabelProblem problem = costs.problem(MomentWeights(graph.countMoments()));
    if (countLabellings(problem) > 1e8) continue;
    double expected = leastSecondsOf(costs, graph, infinity);
    EXPECT_NEAR(solveWithCbc(problem, {1 / expected, 0}, infinity), 1, 1e-6) << "seed " << seed;
    ++problems;
  }
  EXPECT_GE(problems, 180);
}
