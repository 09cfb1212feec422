//===- BudgetSearch.cpp - the fewest seconds within a budget --------------===//

#include "passes/sharding/search/BudgetSearch.h"
#include "passes/sharding/search/BudgetMoves.h"
#include "passes/sharding/search/MessagePassing.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <limits>
#include <numeric>

using namespace tessera;
using llvm::ArrayRef;

static constexpr double infinity = std::numeric_limits<double>::infinity();
/// Relative to the sums.
static constexpr double rounding = 1e-10;

BudgetSearch::BudgetSearch(const LabelProblem &problem, SolverOptions options, double lambda,
                           const LabelMessages &messages)
    : problem(problem), options(options), startLambda(lambda), startMessages(messages) {
  // There are many solves, and a bound that is not the best one does.
  constexpr int64_t nodesOfASolve = 8;
  constexpr double entriesOfASolve = 1 << 17;
  constexpr size_t joinedLabelsOfASolve = 256;
  this->options.mostNodes = std::min(options.mostNodes, nodesOfASolve);
  this->options.mostJoinedLabels = std::min(options.mostJoinedLabels, joinedLabelsOfASolve);
  this->options.mostTableEntries = std::min(options.mostTableEntries, entriesOfASolve);
}

void BudgetSearch::run(double bytes, int64_t nodesOfRun, ArrayRef<Found> known, double mostSeconds) {
  budget = bytes, bound = infinity, most = mostSeconds, nodes = 0, mostNodes = nodesOfRun;
  found.clear();
  for (const Found &labelling : known) keep(labelling);
  rest = problem, messages = startMessages;
  numbers.clear();
  for (unsigned i = 0; i < problem.size(); ++i) {
    numbers.emplace_back(problem.labels(i).size());
    std::iota(numbers.back().begin(), numbers.back().end(), 0);
  }
  if (reduce()) {
    moveToFit(known);
    if (reduce()) {
      LabelSets all;
      for (unsigned i = 0; i < rest.size(); ++i) all.emplace_back(rest.labels(i).size(), true);
      search(std::move(all), {startLambda, -infinity, {}, {}});
    }
  }
  if (double least = best(); least < infinity && bound >= least - rounding * std::abs(least)) bound = least;
}

/// Drops labels whose bound under the first λ is not below the best seconds. Returns false if that leaves none of a
/// variable.
bool BudgetSearch::reduce() {
  constexpr int rounds = 3;
  CostGraph graph(rest, {1, startLambda}, {});
  if (graph.isEmpty()) return false;
  if (!messages.empty()) graph.importMessages(rest, messages);
  for (int round = 0; round < rounds; ++round) {
    passMessages(graph, Direction::Forward);
    passMessages(graph, Direction::Backward);
  }
  effort.passes += 2 * rounds;
  double highest = cutoff() + startLambda * budget;
  LabelSets kept;
  for (unsigned i = 0; i < rest.size(); ++i) {
    const CostGraph::Variable &variable = graph.variables[i];
    kept.emplace_back(rest.labels(i).size());
    for (auto [label, least] : llvm::zip(variable.labels, variable.bounds))
      if (least < highest)
        kept[i][label] = true;
      else
        close(least - startLambda * budget);
    if (!llvm::is_contained(kept[i], true)) return false;
  }
  rest = rest.restrictedTo(kept);
  messages.clear();
  for (auto [labels, left] : llvm::zip(numbers, kept)) {
    std::vector<unsigned> before = std::move(labels);
    labels.clear();
    for (auto [number, isKept] : llvm::zip(before, left))
      if (isKept) labels.push_back(number);
  }
  return true;
}

/// Starts from those that have only labels that are left.
void BudgetSearch::moveToFit(ArrayRef<Found> known) {
  BudgetMoves moves(rest);
  for (const Found &labelling : known) {
    Labelling labels;
    for (auto [number, left] : llvm::zip(labelling.labels, numbers)) {
      auto place = llvm::find(left, number);
      if (place != left.end()) labels.push_back(place - left.begin());
    }
    if (labels.size() == numbers.size() && moves.fit(labels, budget)) keep(labels);
  }
}

/// Seconds of the best labelling within the budget.
double BudgetSearch::best() const {
  double least = infinity;
  for (const Found &labelling : found)
    if (labelling.cost.bytes <= budget) least = std::min(least, labelling.cost.seconds);
  return least;
}

double BudgetSearch::cutoff() const {
  double seconds = best();
  if (seconds == infinity) return most;
  return std::min(most, seconds - std::max(options.tolerance, rounding) * std::abs(seconds));
}

void BudgetSearch::keep(const Labelling &labelsLeft) {
  Labelling labels;
  for (auto [label, left] : llvm::zip_equal(labelsLeft, numbers)) labels.push_back(left[label]);
  LabelCost cost = problem.cost(labels);
  keep({std::move(labels), cost});
}

void BudgetSearch::keep(Found labelling) {
  auto isAbove = [](const LabelCost &a, const LabelCost &b) { return a.seconds >= b.seconds && a.bytes >= b.bytes; };
  if (llvm::any_of(found, [&](const Found &other) { return isAbove(labelling.cost, other.cost); })) return;
  llvm::erase_if(found, [&](const Found &other) { return isAbove(other.cost, labelling.cost); });
  auto place = llvm::find_if(found, [&](const Found &other) { return other.cost.bytes > labelling.cost.bytes; });
  found.insert(place, std::move(labelling));
}

void BudgetSearch::search(LabelSets allowed, Node node) {
  for (;;) {
    node.within = node.above = std::nullopt;
    if (++nodes > mostNodes) return close(node.bound);
    if (!bisect(node, allowed)) return;
    auto [variable, label] = chooseBranch(node);
    LabelSets child = allowed;
    child[variable].assign(child[variable].size(), false);
    child[variable][label] = true;
    search(std::move(child), node);
    allowed[variable][label] = false;
  }
}

/// Raises the node's bound until two labellings, one within the budget and one above it, are equal for its λ. Returns
/// false if the node is closed.
bool BudgetSearch::bisect(Node &node, const LabelSets &allowed) {
  constexpr int mostSolves = 6;
  if (!solveNode(node, allowed, {1, node.lambda}) || !findOther(node, allowed)) return false;
  for (int i = 0; i < mostSolves; ++i) {
    LabelCost within = node.within->cost, above = node.above->cost;
    double lambda = (within.seconds - above.seconds) / (above.bytes - within.bytes);
    // The one above the budget is no faster: the other one is the best of the node, as far as solves tell.
    if (lambda <= 0) return close(node.bound), false;
    node.lambda = lambda;
    if (!solveNode(node, allowed, {1, lambda})) return false;
    if (node.within->cost.bytes == within.bytes && node.above->cost.bytes == above.bytes) break;
  }
  return true;
}

/// Returns false if the node is closed.
bool BudgetSearch::solveNode(Node &node, const LabelSets &allowed, LabelWeights weights) {
  std::vector<Labelling> known;
  for (const std::optional<Found> *each : {&node.within, &node.above})
    if (*each) known.push_back((*each)->labels);
  LabelSolution solution = solve(rest, weights, options, {known, &messages, &allowed});
  effort += solution.effort;
  if (messages.empty()) messages = solution.messages;
  if (weights.seconds > 0)
    node.bound = std::max(node.bound, (solution.bound - weights.bytes * budget) / weights.seconds);
  else if (solution.bound > budget)
    node.bound = infinity;
  if (solution.found) {
    keep(solution.labels);
    (solution.cost.bytes <= budget ? node.within : node.above) = Found{solution.labels, solution.cost};
  }
  if (solution.found && node.bound < cutoff()) return true;
  close(node.bound);
  return false;
}

/// With one labelling, finds the one on the other side of the budget. Returns false if the node is closed.
bool BudgetSearch::findOther(Node &node, const LabelSets &allowed) {
  if (!node.above && !solveNode(node, allowed, {1, 0})) return false;
  if (!node.within && !solveNode(node, allowed, {0, 1})) return false;
  if (node.above && node.within) return true;
  // Within the budget is what is fastest or, where a solve ended early, nothing that is known.
  close(node.bound);
  return false;
}

/// Of the variables in which the two labellings differ, the one whose own costs differ most in bytes; and its label
/// above the budget.
std::pair<unsigned, unsigned> BudgetSearch::chooseBranch(const Node &node) const {
  const Labelling &within = node.within->labels, &above = node.above->labels;
  std::optional<unsigned> best;
  double bestBytes = 0;
  for (unsigned i = 0; i < within.size(); ++i) {
    if (within[i] == above[i]) continue;
    double bytes = std::abs(rest.labels(i)[within[i]].bytes - rest.labels(i)[above[i]].bytes);
    if (!best || bytes > bestBytes) best = i, bestBytes = bytes;
  }
  return {*best, above[*best]};
}
