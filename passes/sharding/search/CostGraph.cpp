//===- CostGraph.cpp - a label problem under one pair of weights ----------===//

#include "passes/sharding/search/CostGraph.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <limits>

using namespace tessera;
using llvm::ArrayRef;

static constexpr double infinity = std::numeric_limits<double>::infinity();

static double largestMagnitude(ArrayRef<double> costs) {
  double largest = 0;
  for (double cost : costs)
    if (cost < infinity) largest = std::max(largest, std::abs(cost));
  return largest;
}

CostGraph::CostGraph(const LabelProblem &problem, LabelWeights weights, const LabelSets &allowed)
    : variables(problem.size()), bound(-infinity) {
  LabelSets kept(problem.size());
  for (unsigned i = 0; i < problem.size(); ++i) {
    ArrayRef<LabelCost> labels = problem.labels(i);
    Variable &variable = variables[i];
    kept[i].resize(labels.size());
    for (unsigned label = 0; label < labels.size(); ++label) {
      variable.labels.push_back(label);
      variable.costs.push_back(weights.of(labels[label]));
      kept[i][label] = labels[label].isAllowed() && (allowed.empty() || allowed[i][label]);
    }
    variable.bounds.assign(labels.size(), -infinity);
    magnitude += largestMagnitude(variable.costs);
  }
  pairs.reserve(problem.getPairs().size());
  for (auto [origin, from] : llvm::enumerate(problem.getPairs())) {
    addPair(from, weights);
    pairs.back().origin = origin;
  }
  restrictTo(std::move(kept));
}

void CostGraph::addPair(const LabelProblem::Pair &from, LabelWeights weights) {
  Pair &pair = pairs.emplace_back();
  unsigned rows = from.counts[0], columns = from.counts[1];
  for (unsigned side : {0, 1}) {
    pair.ends[side] = from.ends[side];
    pair.classes[side] = from.classes[side], pair.counts[side] = from.counts[side];
    pair.moved[side].assign(from.classes[side].size(), 0);
    pair.costs[side].resize(from.table.size());
  }
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned column = 0; column < columns; ++column) {
      double cost = weights.of(from.table[row * columns + column]);
      pair.costs[1][row * columns + column] = pair.costs[0][column * rows + row] = cost;
    }
  pair.forbids = llvm::is_contained(pair.costs[0], infinity);
  magnitude += largestMagnitude(pair.costs[0]);
}

void CostGraph::restrictTo(LabelSets kept) {
  dropUnsupported(kept);
  hasNone = llvm::any_of(kept, [](const std::vector<bool> &labels) { return !llvm::is_contained(labels, true); });
  if (hasNone) return;
  shrink(kept);
  foldDecided();
  findIncidences();
}

void CostGraph::restrictTo(unsigned variable, llvm::function_ref<bool(unsigned label)> isKept) {
  LabelSets kept(variables.size());
  for (auto [labels, from] : llvm::zip(kept, variables)) labels.assign(from.labels.size(), true);
  for (unsigned label = 0; label < kept[variable].size(); ++label) kept[variable][label] = isKept(label);
  restrictTo(std::move(kept));
}

/// Which classes of a side have a label that is kept.
static std::vector<bool> keptClasses(const CostGraph::Pair &pair, unsigned side, const std::vector<bool> &kept) {
  std::vector<bool> classes(pair.counts[side]);
  for (size_t label = 0; label < kept.size(); ++label)
    if (kept[label]) classes[pair.classes[side][label]] = true;
  return classes;
}

/// Which classes of a side may be with one of those of the other side.
static std::vector<bool> supported(const CostGraph::Pair &pair, unsigned side, const std::vector<bool> &others) {
  std::vector<bool> classes(pair.counts[side]);
  for (size_t other = 0; other < others.size(); ++other)
    for (size_t i = 0; others[other] && i < classes.size(); ++i)
      if (pair.costs[side][other * classes.size() + i] < infinity) classes[i] = true;
  return classes;
}

/// Arc consistency: a label stays if each pair has a label at the other end that it may be with.
void CostGraph::dropUnsupported(LabelSets &kept) const {
  for (bool changes = true; changes;) {
    changes = false;
    for (const Pair &pair : pairs) {
      if (!pair.forbids) continue;
      for (unsigned side : {0, 1}) {
        std::vector<bool> &labels = kept[pair.ends[side]];
        std::vector<bool> classes = supported(pair, side, keptClasses(pair, 1 - side, kept[pair.ends[1 - side]]));
        for (size_t label = 0; label < labels.size(); ++label)
          if (labels[label] && !classes[pair.classes[side][label]]) labels[label] = false, changes = true;
      }
    }
  }
}

static std::vector<unsigned> indicesOf(const std::vector<bool> &kept) {
  std::vector<unsigned> indices;
  for (unsigned i = 0; i < kept.size(); ++i)
    if (kept[i]) indices.push_back(i);
  return indices;
}

template <typename T> static void keepOnly(std::vector<T> &values, ArrayRef<unsigned> kept) {
  for (auto [place, index] : llvm::enumerate(kept)) values[place] = values[index];
  values.resize(kept.size());
}

/// A table of rows with so many columns.
static void keepOnly(std::vector<double> &table, ArrayRef<unsigned> rows, ArrayRef<unsigned> columns,
                     unsigned columnCount) {
  double *to = table.data();
  for (unsigned row : rows) {
    const double *from = &table[size_t(row) * columnCount];
    for (unsigned column : columns) *to++ = from[column];
  }
  table.resize(rows.size() * columns.size());
}

/// Leaves labels of a pair, and the classes that they are of.
static void shrinkPair(CostGraph::Pair &pair, const LabelSets &kept, ArrayRef<std::vector<unsigned>> labels) {
  std::vector<unsigned> classes[2];
  for (unsigned side : {0, 1}) {
    classes[side] = indicesOf(keptClasses(pair, side, kept[pair.ends[side]]));
    keepOnly(pair.moved[side], labels[pair.ends[side]]);
    keepOnly(pair.classes[side], labels[pair.ends[side]]);
  }
  if (classes[0].size() == pair.counts[0] && classes[1].size() == pair.counts[1]) return;
  for (unsigned side : {0, 1}) {
    keepOnly(pair.costs[side], classes[1 - side], classes[side], pair.counts[side]);
    std::vector<unsigned> numbers(pair.counts[side]);
    for (auto [number, before] : llvm::enumerate(classes[side])) numbers[before] = number;
    for (unsigned &number : pair.classes[side]) number = numbers[number];
  }
  for (unsigned side : {0, 1}) pair.counts[side] = classes[side].size();
  if (pair.forbids) pair.forbids = llvm::is_contained(pair.costs[0], infinity);
}

void CostGraph::shrink(const LabelSets &kept) {
  std::vector<std::vector<unsigned>> labels;
  for (const std::vector<bool> &each : kept) labels.push_back(indicesOf(each));
  auto changes = [&](unsigned variable) { return labels[variable].size() < kept[variable].size(); };
  for (Pair &pair : pairs)
    if (changes(pair.ends[0]) || changes(pair.ends[1])) shrinkPair(pair, kept, labels);
  for (unsigned i = 0; i < variables.size(); ++i) {
    if (!changes(i)) continue;
    keepOnly(variables[i].labels, labels[i]);
    keepOnly(variables[i].costs, labels[i]);
    keepOnly(variables[i].bounds, labels[i]);
  }
}

/// Pairs of a variable with one label become costs of the other one. What was moved is dropped with the pair: the sum
/// of three minima was a bound, and the minimum of their sum is one that is not lower.
void CostGraph::foldDecided() {
  llvm::erase_if(pairs, [&](const Pair &pair) {
    for (unsigned side : {0, 1}) {
      if (pair.moved[1 - side].size() > 1) continue;
      std::vector<double> &costs = variables[pair.ends[side]].costs;
      for (size_t label = 0; label < costs.size(); ++label) costs[label] += pair.cost(side, label, 0);
      return true;
    }
    return false;
  });
}

void CostGraph::findIncidences() {
  for (Variable &variable : variables) variable.pairs.clear();
  for (auto [number, pair] : llvm::enumerate(pairs))
    for (unsigned side : {0, 1}) variables[pair.ends[side]].pairs.push_back({unsigned(number), side});
}

bool CostGraph::isDecided() const {
  return llvm::all_of(variables, [](const Variable &variable) { return variable.labels.size() == 1; });
}

size_t CostGraph::countLabels() const {
  size_t count = 0;
  for (const Variable &variable : variables) count += variable.labels.size();
  return count;
}

size_t CostGraph::countEntries() const {
  size_t count = 0;
  for (const Pair &pair : pairs) count += pair.costs[0].size();
  return count;
}

/// The best label of a variable that was contracted; `labelling` has those of variables that were not, or later.
static unsigned bestLabel(const CostGraph::Removed &removed, const Labelling &labelling) {
  std::vector<double> costs = removed.costs;
  for (auto [pair, otherLabels] : llvm::zip_equal(removed.pairs, removed.otherLabels)) {
    unsigned side = pair.ends[0] == removed.variable ? 0 : 1;
    unsigned other = llvm::lower_bound(otherLabels, labelling[pair.ends[1 - side]]) - otherLabels.begin();
    for (unsigned label = 0; label < costs.size(); ++label) costs[label] += pair.cost(side, label, other);
  }
  return removed.labels[std::min_element(costs.begin(), costs.end()) - costs.begin()];
}

Labelling CostGraph::toProblem(ArrayRef<unsigned> labels) const {
  Labelling labelling;
  for (auto [variable, label] : llvm::zip_equal(variables, labels)) labelling.push_back(variable.labels[label]);
  for (const auto &each : llvm::reverse(removed)) {
    if (each->together.empty()) {
      labelling[each->variable] = bestLabel(*each, labelling);
      continue;
    }
    auto [first, second] = each->together[labelling[each->joinedWith]];
    labelling[each->joinedWith] = first, labelling[each->variable] = second;
  }
  return labelling;
}

/// Calls `visit` with each message of the graph, and its place among those of the problem.
template <typename Visit> static void forEachMessage(const LabelProblem &problem, const CostGraph &graph, Visit visit) {
  std::vector<size_t> starts;
  size_t count = 0;
  for (const LabelProblem::Pair &pair : problem.getPairs()) {
    starts.push_back(count);
    count += pair.classes[0].size() + pair.classes[1].size();
  }
  for (auto [number, pair] : llvm::enumerate(graph.pairs))
    for (unsigned side : {0, 1}) {
      size_t start = starts[pair.origin] + (side == 1 ? problem.labels(pair.ends[0]).size() : 0);
      const std::vector<unsigned> &labels = graph.variables[pair.ends[side]].labels;
      for (size_t label = 0; label < labels.size(); ++label) visit(number, side, label, start + labels[label]);
    }
}

void CostGraph::importMessages(const LabelProblem &problem, const LabelMessages &messages) {
  forEachMessage(problem, *this, [&](size_t pair, unsigned side, size_t label, size_t place) {
    pairs[pair].moved[side][label] = messages[place];
  });
  bound = -infinity;
}

void CostGraph::exportMessages(const LabelProblem &problem, LabelMessages &messages) const {
  size_t count = 0;
  for (const LabelProblem::Pair &pair : problem.getPairs()) count += pair.classes[0].size() + pair.classes[1].size();
  messages.resize(count);
  forEachMessage(problem, *this, [&](size_t pair, unsigned side, size_t label, size_t place) {
    messages[place] = pairs[pair].moved[side][label];
  });
}
