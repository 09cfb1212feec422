//===- VariableJoin.cpp - two variables as one ----------------------------===//

#include "passes/sharding/search/VariableJoin.h"
#include "passes/sharding/search/Contraction.h"
#include "passes/sharding/search/MessagePassing.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace tessera;

static constexpr double infinity = std::numeric_limits<double>::infinity();

namespace {
class Join {
public:
  Join(CostGraph &graph, unsigned pairNumber) : graph(graph), pair(graph.pairs[pairNumber]) {}

  /// Finds the labels together whose bound is below `most`; of the others the least one is `dropped`.
  size_t findLabels(double most, size_t mostLabels);
  /// At most, of the tables of its pairs.
  size_t countEntries() const;
  void apply();

  double dropped = infinity;

private:
  CostGraph::Variable &end(unsigned side) const { return graph.variables[pair.ends[side]]; }
  std::vector<double> totals(unsigned side) const;
  CostGraph::Pair inherited(CostGraph::Incidence at, unsigned side) const;

  CostGraph &graph;
  const CostGraph::Pair pair;
  std::vector<std::array<unsigned, 2>> labels; ///< those of the two ends
  std::vector<double> bounds;
};
} // namespace

/// What the labels of an end have, once all its other pairs have moved to it what they can.
std::vector<double> Join::totals(unsigned side) const {
  std::vector<double> total = end(side).costs;
  for (CostGraph::Incidence at : end(side).pairs) {
    CostGraph::Pair &other = graph.pairs[at.pair];
    if (other.ends[1 - at.side] != pair.ends[1 - side]) collectMessage(other, at.side);
    for (auto [sum, moved] : llvm::zip_equal(total, other.moved[at.side])) sum += moved;
  }
  return total;
}

size_t Join::findLabels(double most, size_t mostLabels) {
  std::vector<double> first = totals(0), second = totals(1);
  double least = *llvm::min_element(first) + *llvm::min_element(second), leastOfPair = infinity;
  auto ofPair = [&](unsigned a, unsigned b) { return pair.cost(0, a, b) - pair.moved[0][a] - pair.moved[1][b]; };
  for (unsigned a = 0; a < first.size(); ++a)
    for (unsigned b = 0; b < second.size(); ++b) leastOfPair = std::min(leastOfPair, ofPair(a, b));
  for (unsigned a = 0; a < first.size(); ++a)
    for (unsigned b = 0; b < second.size(); ++b) {
      double above = (first[a] + second[b] - least) + (ofPair(a, b) - leastOfPair);
      double bound = std::max({graph.bound + above, end(0).bounds[a], end(1).bounds[b]});
      if (above == infinity) continue;
      if (bound >= most) {
        dropped = std::min(dropped, bound);
        continue;
      }
      labels.push_back({a, b}), bounds.push_back(bound);
      if (labels.size() > mostLabels) return labels.size();
    }
  return labels.size();
}

size_t Join::countEntries() const {
  llvm::SmallDenseMap<unsigned, std::array<size_t, 2>>
      counts; // of each other variable: classes of the joined one, its own
  size_t entries = 0;
  for (unsigned side : {0, 1})
    for (CostGraph::Incidence at : end(side).pairs) {
      const CostGraph::Pair &other = graph.pairs[at.pair];
      std::array<size_t, 2> now = {other.counts[at.side], other.counts[1 - at.side]};
      auto [entry, isNew] = counts.try_emplace(other.ends[1 - at.side], now);
      if (!isNew) {
        entries -= entry->second[0] * entry->second[1];
        entry->second[0] = std::min(entry->second[0] * now[0], labels.size());
        entry->second[1] = std::min(entry->second[1] * now[1], other.classes[1 - at.side].size());
      }
      entries += entry->second[0] * entry->second[1];
    }
  return entries;
}

/// A pair of an end with another variable, as one of the joined variable, which has the first end's number.
CostGraph::Pair Join::inherited(CostGraph::Incidence at, unsigned side) const {
  const CostGraph::Pair &from = graph.pairs[at.pair];
  unsigned other = from.ends[1 - at.side], joined = pair.ends[0], to = joined < other ? 0 : 1;
  CostGraph::Pair made;
  made.origin = from.origin, made.forbids = from.forbids;
  made.ends[to] = joined, made.ends[1 - to] = other;
  made.counts[to] = from.counts[at.side], made.counts[1 - to] = from.counts[1 - at.side];
  made.costs[to] = from.costs[at.side], made.costs[1 - to] = from.costs[1 - at.side];
  made.classes[1 - to] = from.classes[1 - at.side], made.moved[1 - to] = from.moved[1 - at.side];
  for (const std::array<unsigned, 2> &each : labels) {
    made.classes[to].push_back(from.classes[at.side][each[side]]);
    made.moved[to].push_back(from.moved[at.side][each[side]]);
  }
  return made;
}

void Join::apply() {
  std::vector<CostGraph::Pair> made;
  for (unsigned side : {0, 1})
    for (CostGraph::Incidence at : end(side).pairs)
      if (graph.pairs[at.pair].ends[1 - at.side] != pair.ends[1 - side]) made.push_back(inherited(at, side));
  auto step = std::make_shared<CostGraph::Removed>();
  step->variable = pair.ends[1], step->joinedWith = pair.ends[0];
  CostGraph::Variable joined;
  for (auto [number, each] : llvm::enumerate(labels)) {
    step->together.push_back({end(0).labels[each[0]], end(1).labels[each[1]]});
    joined.labels.push_back(number);
    joined.costs.push_back(end(0).costs[each[0]] + end(1).costs[each[1]] + pair.cost(0, each[0], each[1]));
  }
  joined.bounds = std::move(bounds);
  graph.removed.push_back(std::move(step));
  end(0) = std::move(joined);
  end(1).labels.resize(1), end(1).costs.assign(1, 0), end(1).bounds.assign(1, graph.bound);
  llvm::erase_if(graph.pairs, [&](const CostGraph::Pair &other) {
    return llvm::any_of(other.ends, [&](unsigned variable) { return llvm::is_contained(pair.ends, variable); });
  });
  for (CostGraph::Pair &each : made) addPair(graph, std::move(each));
  graph.findIncidences();
}

bool tessera::joinVariables(CostGraph &graph, double most, size_t mostLabels, double &dropped) {
  // How many labels together are looked at, and entries of the joined variable's pairs.
  constexpr size_t mostTogether = 1 << 18, mostEntries = 1 << 21;
  struct Candidate {
    size_t size;
    std::array<unsigned, 2> ends;
    bool operator<(const Candidate &other) const { return std::tie(size, ends) < std::tie(other.size, other.ends); }
  };
  std::vector<Candidate> candidates;
  for (const CostGraph::Pair &pair : graph.pairs) {
    size_t size = pair.classes[0].size() * pair.classes[1].size();
    if (size <= mostTogether) candidates.push_back({size, {pair.ends[0], pair.ends[1]}});
  }
  llvm::sort(candidates);
  std::vector<bool> isDone(graph.variables.size());
  bool any = false;
  for (const Candidate &candidate : candidates) {
    auto [a, b] = candidate.ends;
    if (isDone[a] || isDone[b]) continue;
    auto pair = llvm::find_if(graph.pairs, [&, a = a, b = b](const CostGraph::Pair &other) {
      return other.ends[0] == a && other.ends[1] == b;
    });
    Join join(graph, pair - graph.pairs.begin());
    size_t labels = join.findLabels(most, mostLabels);
    if (labels == 0) { // The pair is never below.
      dropped = std::min(dropped, join.dropped);
      graph.restrictTo(a, [](unsigned) { return false; });
      return true;
    }
    if (labels > mostLabels || join.countEntries() > mostEntries) continue;
    isDone[a] = isDone[b] = any = true;
    dropped = std::min(dropped, join.dropped);
    join.apply();
  }
  LabelSets all;
  for (const CostGraph::Variable &variable : graph.variables) all.emplace_back(variable.labels.size(), true);
  graph.restrictTo(std::move(all));
  return any;
}
