//===- Contraction.cpp - variables in at most two pairs -------------------===//

#include "passes/sharding/search/Contraction.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace tessera;
using llvm::ArrayRef;

static constexpr double infinity = std::numeric_limits<double>::infinity();
static constexpr unsigned none = ~0u;

namespace {
class Contraction {
public:
  Contraction(CostGraph &graph, double mostWork) : graph(graph), mostWork(mostWork) {}

  bool run();

private:
  const CostGraph::Pair &pair(CostGraph::Incidence at) const { return graph.pairs[at.pair]; }
  double workOf(const CostGraph::Variable &variable) const;
  void reduce(unsigned number);
  std::vector<double> leastOfClasses(const CostGraph::Variable &variable, CostGraph::Incidence at,
                                     ArrayRef<double> costs) const;
  void foldInto(const CostGraph::Variable &variable, CostGraph::Incidence at);
  CostGraph::Pair join(const CostGraph::Variable &variable) const;
  void takeOut(unsigned number);

  CostGraph &graph;
  double mostWork;
};
} // namespace

bool Contraction::run() {
  bool any = false;
  for (bool changes = true; changes;) {
    changes = false;
    for (unsigned i = 0; i < graph.variables.size(); ++i) {
      const CostGraph::Variable &variable = graph.variables[i];
      if (variable.labels.size() == 1 || variable.pairs.size() > 2 || workOf(variable) > mostWork) continue;
      reduce(i);
      changes = any = true;
    }
  }
  return any;
}

double Contraction::workOf(const CostGraph::Variable &variable) const {
  double work = variable.labels.size();
  for (CostGraph::Incidence at : variable.pairs) work *= pair(at).counts[1 - at.side];
  return work;
}

void Contraction::reduce(unsigned number) {
  CostGraph::Variable &variable = graph.variables[number];
  if (variable.pairs.size() == 1) foldInto(variable, variable.pairs.front());
  if (variable.pairs.size() == 2) {
    CostGraph::Pair joined = join(variable);
    takeOut(number);
    addPair(graph, std::move(joined));
  } else {
    takeOut(number);
  }
  graph.findIncidences();
}

/// For each class of the variable in a pair, the least of what its labels cost.
std::vector<double> Contraction::leastOfClasses(const CostGraph::Variable &variable, CostGraph::Incidence at,
                                                ArrayRef<double> costs) const {
  std::vector<double> least(pair(at).counts[at.side], infinity);
  for (auto [number, cost] : llvm::zip_equal(pair(at).classes[at.side], costs))
    least[number] = std::min(least[number], cost);
  return least;
}

/// For each class of the other variable, the least over the classes of this one.
static std::vector<double> minimise(const CostGraph::Pair &pair, unsigned side, ArrayRef<double> costs) {
  unsigned count = pair.counts[1 - side];
  std::vector<double> least(count, infinity);
  const double *row = pair.costs[1 - side].data();
  for (double cost : costs) {
    for (unsigned other = 0; other < count; ++other) least[other] = std::min(least[other], row[other] + cost);
    row += count;
  }
  return least;
}

void Contraction::foldInto(const CostGraph::Variable &variable, CostGraph::Incidence at) {
  std::vector<double> least = minimise(pair(at), at.side, leastOfClasses(variable, at, variable.costs));
  CostGraph::Variable &other = graph.variables[pair(at).ends[1 - at.side]];
  for (auto [number, cost] : llvm::zip_equal(pair(at).classes[1 - at.side], other.costs)) cost += least[number];
}

/// The pair of the two variables that this one is in pairs with. It takes over what was moved to them.
CostGraph::Pair Contraction::join(const CostGraph::Variable &variable) const {
  CostGraph::Incidence ats[2] = {variable.pairs[0], variable.pairs[1]};
  if (pair(ats[0]).ends[1 - ats[0].side] > pair(ats[1]).ends[1 - ats[1].side]) std::swap(ats[0], ats[1]);
  CostGraph::Pair joined;
  joined.origin = none;
  for (unsigned side : {0, 1}) {
    const CostGraph::Pair &from = pair(ats[side]);
    unsigned end = 1 - ats[side].side;
    joined.ends[side] = from.ends[end], joined.counts[side] = from.counts[end];
    joined.classes[side] = from.classes[end], joined.moved[side] = from.moved[end];
  }
  const CostGraph::Pair &first = pair(ats[0]);
  std::vector<double> costs(variable.costs.size());
  for (unsigned row = 0; row < joined.counts[0]; ++row) {
    const double *ofRow = &first.costs[ats[0].side][row * first.counts[ats[0].side]];
    for (auto [cost, own, number] : llvm::zip_equal(costs, variable.costs, first.classes[ats[0].side]))
      cost = own + ofRow[number];
    llvm::append_range(joined.costs[1], minimise(pair(ats[1]), ats[1].side, leastOfClasses(variable, ats[1], costs)));
  }
  return joined;
}

/// Of labels with classes in two pairs, the classes in their sum.
static std::vector<unsigned> refine(ArrayRef<unsigned> some, ArrayRef<unsigned> others, unsigned otherCount,
                                    std::vector<std::pair<unsigned, unsigned>> &members) {
  std::vector<unsigned> numbers(otherCount * (*llvm::max_element(some) + 1), none), classes;
  for (auto [a, b] : llvm::zip_equal(some, others)) {
    unsigned &number = numbers[a * otherCount + b];
    if (number == none) {
      number = members.size();
      members.push_back({a, b});
    }
    classes.push_back(number);
  }
  return classes;
}

void tessera::addPair(CostGraph &graph, CostGraph::Pair joined) {
  auto same = llvm::find_if(graph.pairs, [&](const CostGraph::Pair &pair) {
    return pair.ends[0] == joined.ends[0] && pair.ends[1] == joined.ends[1];
  });
  if (same != graph.pairs.end()) {
    std::vector<std::pair<unsigned, unsigned>> members[2];
    CostGraph::Pair sum = joined;
    for (unsigned side : {0, 1}) {
      sum.classes[side] = refine(joined.classes[side], same->classes[side], same->counts[side], members[side]);
      sum.counts[side] = members[side].size();
      for (auto [moved, other] : llvm::zip_equal(sum.moved[side], same->moved[side])) moved += other;
    }
    sum.costs[1].clear();
    for (auto [row, sameRow] : members[0])
      for (auto [column, sameColumn] : members[1])
        sum.costs[1].push_back(joined.costs[1][row * joined.counts[1] + column] +
                               same->costs[1][sameRow * same->counts[1] + sameColumn]);
    joined = std::move(sum);
    graph.pairs.erase(same);
  }
  unsigned rows = joined.counts[0], columns = joined.counts[1];
  joined.costs[0].resize(joined.costs[1].size());
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned column = 0; column < columns; ++column)
      joined.costs[0][column * rows + row] = joined.costs[1][row * columns + column];
  joined.forbids = llvm::is_contained(joined.costs[0], infinity);
  graph.pairs.push_back(std::move(joined));
}

/// Remembers how to find the variable's label, and drops its pairs.
void Contraction::takeOut(unsigned number) {
  CostGraph::Variable &variable = graph.variables[number];
  auto removed = std::make_shared<CostGraph::Removed>();
  removed->variable = number;
  removed->labels = variable.labels, removed->costs = variable.costs;
  for (CostGraph::Incidence at : variable.pairs) {
    removed->pairs.push_back(pair(at));
    removed->otherLabels.push_back(graph.variables[pair(at).ends[1 - at.side]].labels);
  }
  graph.removed.push_back(std::move(removed));
  llvm::erase_if(graph.pairs, [&](const CostGraph::Pair &pair) { return llvm::is_contained(pair.ends, number); });
  variable.labels.resize(1);
  variable.costs.assign(1, 0), variable.bounds.assign(1, graph.bound);
  if (variable.pairs.empty()) variable.costs.front() = *llvm::min_element(graph.removed.back()->costs);
}

bool tessera::contract(CostGraph &graph, double mostWork) {
  if (!Contraction(graph, mostWork).run()) return false;
  LabelSets all;
  for (const CostGraph::Variable &variable : graph.variables) all.emplace_back(variable.labels.size(), true);
  graph.restrictTo(std::move(all));
  return true;
}
