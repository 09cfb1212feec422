//===- Solver.cpp - the labelling of least cost ---------------------------===//

#include "passes/sharding/search/Solver.h"
#include "passes/sharding/search/Contraction.h"
#include "passes/sharding/search/Dominance.h"
#include "passes/sharding/search/Elimination.h"
#include "passes/sharding/search/MessagePassing.h"
#include "passes/sharding/search/VariableJoin.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <limits>

using namespace tessera;

static constexpr double infinity = std::numeric_limits<double>::infinity();
/// Of sums of costs, relative to the sum of their magnitudes.
static constexpr double rounding = 1e-12;

namespace {
bool isAllowed(const Labelling &labelling, const LabelSets *allowed) {
  if (!allowed || allowed->empty()) return true;
  return llvm::all_of(llvm::zip_equal(labelling, *allowed), [](auto at) { return std::get<1>(at)[std::get<0>(at)]; });
}

class LabelSearch {
public:
  LabelSearch(const LabelProblem &problem, LabelWeights weights, const SolverOptions &options)
      : problem(problem), weights(weights), options(options) {
    solution.value = infinity;
  }

  LabelSolution run(const SolverStart &start);

private:
  /// The labels of a graph that closes with at least this value.
  void close(double bound) { closedBound = std::min(closedBound, bound); }
  /// Nothing with a bound from here on is looked at.
  double cutoff() const {
    if (!solution.found) return most;
    return std::min(most, solution.value - std::max(options.tolerance * std::abs(solution.value), margin));
  }
  void propose(const CostGraph &graph, std::vector<unsigned> labels);
  void consider(Labelling labelling);

  void search(CostGraph graph);
  bool tighten(CostGraph &graph);
  bool join(CostGraph &graph);
  void round(CostGraph &graph);
  bool dropCostly(CostGraph &graph, double leastShare);
  void saveMessages(const CostGraph &graph);
  bool eliminate(const CostGraph &graph, double mostEntries, bool closes);
  void eliminateLikely(const CostGraph &graph);
  std::pair<unsigned, unsigned> chooseBranch(const CostGraph &graph) const;

  const LabelProblem &problem;
  LabelWeights weights;
  const SolverOptions &options;
  LabelSolution solution;
  double most = infinity;
  double closedBound = infinity; ///< least bound of what has been closed
  double margin = 0;             ///< for rounding
  bool hasMessages = false;
};
} // namespace

LabelSolution LabelSearch::run(const SolverStart &start) {
  CostGraph graph(problem, weights, start.allowed ? *start.allowed : LabelSets());
  margin = rounding * graph.magnitude, most = start.most;
  if (start.messages && !start.messages->empty()) {
    solution.messages = *start.messages;
    if (!graph.isEmpty()) graph.importMessages(problem, *start.messages);
  }
  for (const Labelling &labelling : start.labellings)
    if (isAllowed(labelling, start.allowed)) consider(labelling);
  if (!graph.isEmpty()) search(std::move(graph));
  solution.bound = closedBound >= solution.value - margin ? solution.value : closedBound;
  return std::move(solution);
}

/// A node of branch and bound, and those that follow once its labels are split.
void LabelSearch::search(CostGraph graph) {
  while (!graph.isEmpty()) {
    if (++solution.effort.nodes > options.mostNodes) return close(graph.bound);
    if (!tighten(graph)) return;
    dropDominated(graph);
    if (graph.isEmpty()) return;
    if (eliminate(graph, options.mostTableEntries, /*closes=*/true)) return;
    double before = solution.value;
    eliminateLikely(graph);
    if (solution.value < before) {
      if (!dropCostly(graph, 0)) return;
      if (eliminate(graph, options.mostTableEntries, /*closes=*/true)) return;
    }
    if (join(graph)) continue;
    auto [variable, label] = chooseBranch(graph);
    CostGraph child = graph;
    child.restrictTo(variable, [&, label = label](unsigned other) { return other == label; });
    search(std::move(child));
    graph.restrictTo(variable, [&, label = label](unsigned other) { return other != label; });
  }
}

/// Joins variables, whose labels take more and more memory. Returns whether there were any.
bool LabelSearch::join(CostGraph &graph) {
  if (options.mostJoinedLabels == 0) return false;
  double dropped = infinity;
  bool any = joinVariables(graph, cutoff(), options.mostJoinedLabels, dropped);
  close(dropped);
  return any;
}

/// Raises the bound and drops labels as long as that makes progress. Returns false if the graph is closed.
bool LabelSearch::tighten(CostGraph &graph) {
  constexpr int roundsBetween = 2, roundsBeforeContraction = 4;
  constexpr double mostContraction = 1 << 18;
  constexpr double leastProgress = 0.03; // of the gap, in these rounds
  size_t labelsTried = std::numeric_limits<size_t>::max();
  double last = graph.bound;
  for (int rounds = 1; rounds <= options.mostRounds; ++rounds) {
    round(graph);
    if (graph.bound >= cutoff()) return close(graph.bound), saveMessages(graph), false;
    if (rounds % roundsBetween != 0) continue;
    if (!dropCostly(graph, 0.1)) return false;
    if (rounds >= roundsBeforeContraction || solution.effort.nodes > 1) {
      saveMessages(graph);
      contract(graph, mostContraction);
      if (graph.isEmpty()) return false;
    }
    size_t labels = graph.countLabels();
    if (labels < labelsTried) {
      // A table entry costs about as much as an entry of a pair in a pass; these are few passes.
      if (eliminate(graph, 10 * graph.countEntries(), /*closes=*/true)) return saveMessages(graph), false;
      labelsTried = labels - labels / 8;
    }
    // Without a labelling there is no gap, and more rounds are the way to find one.
    if (solution.found && graph.bound - last < leastProgress * (cutoff() - graph.bound)) break;
    last = graph.bound;
  }
  saveMessages(graph);
  return dropCostly(graph, 0);
}

void LabelSearch::round(CostGraph &graph) {
  passMessages(graph, Direction::Forward);
  propose(graph, passMessages(graph, Direction::Backward));
  solution.effort.passes += 2;
}

/// Those of the whole problem, before labels go.
void LabelSearch::saveMessages(const CostGraph &graph) {
  if (!hasMessages) graph.exportMessages(problem, solution.messages);
  hasMessages = true;
}

void LabelSearch::propose(const CostGraph &graph, std::vector<unsigned> labels) {
  improveLabels(graph, labels);
  consider(graph.toProblem(labels));
}

void LabelSearch::consider(Labelling labelling) {
  LabelCost cost = problem.cost(labelling);
  double value = weights.of(cost);
  if (value >= solution.value) return;
  solution.found = true;
  solution.labels = std::move(labelling), solution.cost = cost, solution.value = value;
}

/// Drops labels whose bound is not below the cutoff, if they are at least this share of all. Returns false if that
/// leaves none of a variable.
bool LabelSearch::dropCostly(CostGraph &graph, double leastShare) {
  double most = cutoff();
  size_t count = 0;
  for (const CostGraph::Variable &variable : graph.variables)
    count += llvm::count_if(variable.bounds, [&](double bound) { return bound >= most; });
  if (count == 0 || count < leastShare * graph.countLabels()) return true;
  saveMessages(graph);
  LabelSets kept;
  for (const CostGraph::Variable &variable : graph.variables) {
    kept.emplace_back();
    for (double bound : variable.bounds) {
      kept.back().push_back(bound < most);
      if (bound >= most) close(bound);
    }
  }
  graph.restrictTo(std::move(kept));
  return !graph.isEmpty();
}

/// The best labelling of the graph, if that takes at most so many table entries.
bool LabelSearch::eliminate(const CostGraph &graph, double mostEntries, bool closes) {
  Elimination elimination(graph);
  if (!graph.isDecided() && elimination.getEntries() > std::min(mostEntries, options.mostTableEntries)) return false;
  solution.effort.tableEntries += elimination.getEntries();
  std::vector<unsigned> labels = elimination.minimise();
  if (closes) close(elimination.getLeast());
  propose(graph, std::move(labels));
  return true;
}

/// The best labelling among the labels of the lowest bounds, as many as elimination can do.
void LabelSearch::eliminateLikely(const CostGraph &graph) {
  constexpr int mostTries = 10;
  double room = 0;
  for (const CostGraph::Variable &variable : graph.variables)
    for (double bound : variable.bounds) room = std::max(room, std::min(bound, cutoff()) - graph.bound);
  for (int i = 0; i < mostTries; ++i) {
    room /= 2;
    CostGraph likely = graph;
    LabelSets kept;
    for (const CostGraph::Variable &variable : graph.variables) {
      kept.emplace_back();
      double least = *std::min_element(variable.bounds.begin(), variable.bounds.end());
      for (double bound : variable.bounds) kept.back().push_back(bound <= std::max(least, graph.bound + room));
    }
    likely.restrictTo(std::move(kept));
    if (likely.isEmpty() || eliminate(likely, options.mostTableEntries, /*closes=*/false)) return;
  }
}

/// The variable in most of the tables that are too large, and its label of the lowest bound.
std::pair<unsigned, unsigned> LabelSearch::chooseBranch(const CostGraph &graph) const {
  constexpr double mostOfATable = 1 << 12;
  std::vector<unsigned> counts = Elimination(graph).countLarge(mostOfATable);
  unsigned best = 0;
  auto key = [&](unsigned i) {
    size_t labels = graph.variables[i].labels.size();
    return std::tuple(labels > 1, counts[i], labels);
  };
  for (unsigned i = 1; i < counts.size(); ++i)
    if (key(i) > key(best)) best = i;
  const std::vector<double> &bounds = graph.variables[best].bounds;
  return {best, std::min_element(bounds.begin(), bounds.end()) - bounds.begin()};
}

LabelSolution tessera::solve(const LabelProblem &problem, LabelWeights weights, const SolverOptions &options,
                             const SolverStart &start) {
  return LabelSearch(problem, weights, options).run(start);
}
