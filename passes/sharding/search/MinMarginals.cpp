//===- MinMarginals.cpp - prices of alternatives --------------------------===//

#include "passes/sharding/search/Elimination.h"
#include "passes/sharding/search/MessagePassing.h"
#include "passes/sharding/search/Solver.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace tessera;

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// With labels whose bound is at most this.
static CostGraph within(const CostGraph &graph, double most) {
  CostGraph rest = graph;
  LabelSets kept;
  for (const CostGraph::Variable &variable : graph.variables) {
    kept.emplace_back();
    for (double bound : variable.bounds) kept.back().push_back(bound <= most);
  }
  rest.restrictTo(std::move(kept));
  return rest;
}

namespace {
/// Labels that elimination can do, and what all labellings with others cost at least.
struct Window {
  CostGraph graph;
  double most;
};
} // namespace

/// The bounds are sorted; a window that elimination cannot do has none above it that it can, nearly always.
static std::optional<Window> largestWindow(const CostGraph &graph, double mostEntries) {
  std::vector<double> bounds;
  for (const CostGraph::Variable &variable : graph.variables) llvm::append_range(bounds, variable.bounds);
  llvm::sort(bounds);
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  std::optional<Window> best;
  size_t low = 0, high = bounds.size();
  while (low < high) {
    size_t middle = (low + high + 1) / 2; // The bounds before it are in the window.
    CostGraph rest = within(graph, bounds[middle - 1]);
    if (!rest.isEmpty() && Elimination(rest).getEntries() > mostEntries) {
      high = middle - 1;
      continue;
    }
    low = middle;
    if (!rest.isEmpty()) best = Window{std::move(rest), middle < bounds.size() ? bounds[middle] : infinity};
  }
  return best;
}

std::vector<std::vector<MinMarginal>> tessera::minMarginals(const LabelProblem &problem, LabelWeights weights,
                                                            const LabelSolution &solution, const SolverOptions &options,
                                                            const LabelSets *allowed) {
  constexpr int rounds = 10;
  // What is not in any labelling stays.
  std::vector<std::vector<MinMarginal>> marginals;
  for (unsigned i = 0; i < problem.size(); ++i)
    marginals.emplace_back(problem.labels(i).size(), MinMarginal{infinity, true});
  CostGraph graph(problem, weights, allowed ? *allowed : LabelSets());
  if (graph.isEmpty() || solution.bound == infinity) return marginals;
  if (!solution.messages.empty()) graph.importMessages(problem, solution.messages);
  for (int round = 0; round < rounds; ++round) {
    passMessages(graph, Direction::Forward);
    passMessages(graph, Direction::Backward);
  }
  std::optional<Window> window = largestWindow(graph, options.mostTableEntries);
  double least = window ? window->most : -infinity;
  for (auto [variable, into] : llvm::zip(graph.variables, marginals))
    for (auto [label, bound] : llvm::zip(variable.labels, variable.bounds))
      into[label] = {std::max({bound, least, solution.bound}), false};
  if (!window) return marginals;

  Elimination elimination(window->graph);
  elimination.minimise();
  for (auto [variable, into, values] : llvm::zip(window->graph.variables, marginals, elimination.minMarginals()))
    for (auto [label, value] : llvm::zip(variable.labels, values))
      if (value <= least) into[label] = {value, true};
  return marginals;
}
