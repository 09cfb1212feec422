//===- LabelBenchmark.cpp - speed of the solver ---------------------------===//
//
// label-bench: how long the solver takes for steps of training as `trainingStep` makes them, and what its search
// counts. This is no test, since times depend on the machine's load.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/search/LabelBudget.h"
#include "tests/passes/sharding/LabelProblems.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <ctime>

using namespace tessera;

static constexpr int runs = 5;

/// The median, in milliseconds of the processor on the one thread that there is.
static double millisecondsOf(llvm::function_ref<void()> work, int times = runs) {
  llvm::SmallVector<double> all;
  for (int run = 0; run < times; ++run) {
    std::clock_t start = std::clock();
    work();
    all.push_back(1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  llvm::sort(all);
  return all[times / 2];
}

static void measureSolve(llvm::StringRef what, const LabelProblem &problem, LabelWeights weights, double tolerance) {
  LabelSolution solution;
  double time = millisecondsOf([&] { solution = solve(problem, weights, {.tolerance = tolerance}); });
  llvm::outs() << llvm::formatv("  {0,-12} tolerance {1:e0} {2,8:F2} ms, {3,4} nodes {4,4} passes {5,9} entries, "
                                "gap {6:e1}, {7} seconds, {8} bytes\n",
                                what, tolerance, time, solution.effort.nodes, solution.effort.passes,
                                solution.effort.tableEntries, 1 - solution.bound / solution.value,
                                solution.cost.seconds, solution.cost.bytes);
}

static void measureBudgets(const LabelProblem &problem) {
  BudgetOptions options;
  options.solver.tolerance = 1e-3;
  double least = solve(problem, {0, 1}).cost.bytes, most = solve(problem, {1, 0}).cost.bytes;
  for (int i = 1; i < 4; ++i)
    for (int64_t nodes : {0, 1}) {
      BudgetAnswer answer;
      options.nodes = nodes;
      double budget = least + (most - least) * i / 4;
      double time = millisecondsOf([&] { answer = solveWithBudget(problem, budget, options); }, 1);
      llvm::outs() << llvm::formatv("  {0}/4 of the memory, {1,2} nodes: {2} seconds, gap {3:P3}, {4:F1} ms\n", i,
                                    nodes, answer.cost.seconds, 1 - answer.bound / answer.cost.seconds, time);
    }
}

int main() {
  for (std::vector<int> mesh : {std::vector<int>{64}, {8, 8}, {2, 32}, {4, 4, 4}, {8, 4, 2}}) {
    LabelProblem problem = test::trainingStep({.mesh = mesh, .layers = 4});
    size_t labels = 0, most = 0, entries = 0;
    for (unsigned i = 0; i < problem.size(); ++i)
      labels += problem.labels(i).size(), most = std::max(most, problem.labels(i).size());
    for (const LabelProblem::Pair &pair : problem.getPairs()) entries += pair.table.size();
    std::string name;
    for (int size : mesh) name += (name.empty() ? "" : "x") + std::to_string(size);
    llvm::outs() << llvm::formatv("mesh {0}: {1} variables, {2} labels (at most {3}), {4} pairs, {5} entries\n", name,
                                  problem.size(), labels, most, problem.getPairs().size(), entries);
    for (double tolerance : {0.0, 1e-4}) {
      measureSolve("seconds", problem, {1, 0}, tolerance);
      for (double lambda : {1e-14, 1e-13, 1e-12, 1e-11})
        measureSolve(llvm::formatv("λ = {0:e0}", lambda).str(), problem, {1, lambda}, tolerance);
      measureSolve("bytes", problem, {0, 1}, tolerance);
    }
    measureBudgets(problem);
  }
}
