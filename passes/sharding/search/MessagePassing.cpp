//===- MessagePassing.cpp - a bound, and bounds of labels -----------------===//

#include "passes/sharding/search/MessagePassing.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace tessera;

static constexpr double infinity = std::numeric_limits<double>::infinity();

static void collect(CostGraph::Pair &pair, unsigned side, std::vector<double> &most, std::vector<double> &least) {
  most.assign(pair.counts[1 - side], -infinity);
  for (auto [number, moved] : llvm::zip_equal(pair.classes[1 - side], pair.moved[1 - side]))
    most[number] = std::max(most[number], moved);
  size_t count = pair.counts[side];
  least.assign(count, infinity);
  double *__restrict into = least.data();
  const double *__restrict costs = pair.costs[side].data();
  for (double moved : most) {
    for (size_t i = 0; i < count; ++i) into[i] = std::min(into[i], costs[i] - moved);
    costs += count;
  }
  for (auto [number, moved] : llvm::zip_equal(pair.classes[side], pair.moved[side])) moved = into[number];
}

void tessera::collectMessage(CostGraph::Pair &pair, unsigned side) {
  std::vector<double> most, least;
  collect(pair, side, most, least);
}

/// Adds to the costs of each label what a pair says of its class.
static void addRow(std::vector<double> &sum, const CostGraph::Pair &pair, unsigned side, unsigned otherLabel) {
  const double *row = pair.row(side, otherLabel);
  for (auto [number, total] : llvm::zip_equal(pair.classes[side], sum)) total += row[number];
}

static void add(std::vector<double> &sum, const double *terms, double factor = 1) {
  for (size_t label = 0; label < sum.size(); ++label) sum[label] += factor * terms[label];
}

static unsigned indexOfLeast(const std::vector<double> &values) {
  return std::min_element(values.begin(), values.end()) - values.begin();
}

/// One variable's part of a pass. Returns what it adds to the bound.
static double passVariable(CostGraph &graph, unsigned number, Direction direction, std::vector<unsigned> &labels) {
  CostGraph::Variable &variable = graph.variables[number];
  std::vector<double> total = variable.costs, choice = variable.costs, most, leastOfClasses;
  auto isBefore = [&](CostGraph::Incidence at) {
    unsigned other = graph.pairs[at.pair].ends[1 - at.side];
    return direction == Direction::Forward ? other < number : other > number;
  };
  int before = 0;
  for (CostGraph::Incidence at : variable.pairs) {
    CostGraph::Pair &pair = graph.pairs[at.pair];
    if (isBefore(at)) {
      ++before;
      collect(pair, at.side, most, leastOfClasses);
      addRow(choice, pair, at.side, labels[pair.ends[1 - at.side]]);
    } else {
      add(choice, pair.moved[at.side].data());
    }
    add(total, pair.moved[at.side].data());
  }
  labels[number] = indexOfLeast(choice);
  double least = *std::min_element(total.begin(), total.end());
  for (auto [bound, cost] : llvm::zip(variable.bounds, total)) bound = std::max(bound, graph.bound + (cost - least));

  int after = variable.pairs.size() - before, parts = std::max(before, after);
  if (after == 0) return least;
  for (CostGraph::Incidence at : variable.pairs)
    if (!isBefore(at)) add(graph.pairs[at.pair].moved[at.side], total.data(), -1.0 / parts);
  return least * (parts - after) / parts;
}

std::vector<unsigned> tessera::passMessages(CostGraph &graph, Direction direction) {
  std::vector<unsigned> labels(graph.variables.size());
  double bound = 0;
  for (unsigned i = 0, count = labels.size(); i < count; ++i)
    bound += passVariable(graph, direction == Direction::Forward ? i : count - 1 - i, direction, labels);
  graph.bound = std::max(graph.bound, bound);
  return labels;
}

void tessera::improveLabels(const CostGraph &graph, std::vector<unsigned> &labels) {
  constexpr int mostRounds = 16;
  std::vector<double> costs;
  bool changes = true;
  for (int round = 0; changes && round < mostRounds; ++round) {
    changes = false;
    for (auto [number, variable] : llvm::enumerate(graph.variables)) {
      if (variable.labels.size() == 1) continue;
      costs = variable.costs;
      for (CostGraph::Incidence at : variable.pairs) {
        const CostGraph::Pair &pair = graph.pairs[at.pair];
        addRow(costs, pair, at.side, labels[pair.ends[1 - at.side]]);
      }
      unsigned best = indexOfLeast(costs);
      if (costs[best] < costs[labels[number]]) labels[number] = best, changes = true;
    }
  }
}
