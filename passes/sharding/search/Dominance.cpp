//===- Dominance.cpp - labels that another one replaces at no cost --------===//

#include "passes/sharding/search/Dominance.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>
#include <numeric>

using namespace tessera;

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// How much a pair costs more at least with label `a` than with `b`, over the labels of the other variable.
static double leastExcess(const CostGraph::Pair &pair, unsigned side, unsigned a, unsigned b) {
  unsigned classA = pair.classes[side][a], classB = pair.classes[side][b];
  if (classA == classB) return 0;
  double least = infinity;
  const double *row = pair.costs[side].data();
  for (unsigned other = 0; other < pair.counts[1 - side]; ++other, row += pair.counts[side]) {
    if (row[classA] == infinity) continue; // Never chosen with `a`.
    if (row[classB] == infinity) return -infinity;
    least = std::min(least, row[classA] - row[classB]);
  }
  return least;
}

static bool isDominated(const CostGraph &graph, const CostGraph::Variable &variable, unsigned a, unsigned b) {
  double excess = variable.costs[a] - variable.costs[b];
  for (CostGraph::Incidence at : variable.pairs) {
    double least = leastExcess(graph.pairs[at.pair], at.side, a, b);
    if (least == -infinity) return false;
    excess += least;
  }
  return excess >= 0;
}

/// Only few labels are compared with: those of the lowest bounds.
static std::vector<unsigned> likelyLabels(const CostGraph::Variable &variable) {
  constexpr size_t most = 4;
  std::vector<unsigned> labels(variable.labels.size());
  std::iota(labels.begin(), labels.end(), 0);
  auto key = [&](unsigned label) { return std::pair(variable.bounds[label], label); };
  llvm::sort(labels, [&](unsigned a, unsigned b) { return key(a) < key(b); });
  labels.resize(std::min(labels.size(), most));
  return labels;
}

void tessera::dropDominated(CostGraph &graph) {
  LabelSets kept;
  bool any = false;
  for (const CostGraph::Variable &variable : graph.variables) {
    std::vector<bool> &labels = kept.emplace_back(variable.labels.size(), true);
    if (labels.size() == 1) continue;
    for (unsigned b : likelyLabels(variable))
      for (unsigned a = 0; labels[b] && a < labels.size(); ++a)
        if (a != b && labels[a] && isDominated(graph, variable, a, b)) labels[a] = false, any = true;
  }
  if (any) graph.restrictTo(std::move(kept));
}
