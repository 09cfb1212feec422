//===- Elimination.cpp - exact minima by eliminating variables ------------===//

#include "passes/sharding/search/Elimination.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include <limits>

using namespace tessera;
using llvm::ArrayRef;

static constexpr double infinity = std::numeric_limits<double>::infinity();

namespace {
/// Which variables are in pairs, while some are eliminated; rows of bits.
class Adjacency {
public:
  explicit Adjacency(const CostGraph &graph)
      : words((graph.variables.size() + 63) / 64), bits(words * graph.variables.size()) {
    for (const CostGraph::Pair &pair : graph.pairs) connect(pair.ends[0], pair.ends[1]);
  }

  std::vector<unsigned> neighbours(unsigned variable) const {
    std::vector<unsigned> found;
    for (size_t word = 0; word < words; ++word)
      for (uint64_t rest = row(variable)[word]; rest; rest &= rest - 1)
        found.push_back(64 * word + llvm::countr_zero(rest));
    return found;
  }

  /// Pairs among the neighbours that there are not yet.
  unsigned fill(unsigned variable) const {
    unsigned missing = 0;
    std::vector<unsigned> all = neighbours(variable);
    for (unsigned neighbour : all)
      for (size_t word = 0; word < words; ++word)
        missing += llvm::popcount(row(variable)[word] & ~row(neighbour)[word]);
    return (missing - all.size()) / 2; // Each one misses itself.
  }

  void eliminate(unsigned variable) {
    std::vector<unsigned> all = neighbours(variable);
    for (unsigned a : all) {
      for (unsigned b : all)
        if (a != b) set(a, b);
      bits[a * words + variable / 64] &= ~(uint64_t(1) << variable % 64);
    }
  }

private:
  const uint64_t *row(unsigned variable) const { return &bits[variable * words]; }
  void set(unsigned a, unsigned b) { bits[a * words + b / 64] |= uint64_t(1) << b % 64; }
  void connect(unsigned a, unsigned b) { set(a, b), set(b, a); }

  size_t words;
  std::vector<uint64_t> bits;
};
} // namespace

Elimination::Elimination(const CostGraph &graph) : graph(graph), places(graph.variables.size()) {
  findOrder();
  for (Bucket &bucket : buckets) {
    // The next one to be eliminated is last.
    llvm::sort(bucket.scope, [&](unsigned a, unsigned b) { return places[a] > places[b]; });
    if (!bucket.scope.empty()) buckets[places[bucket.scope.back()]].children.push_back(places[bucket.variable]);
  }
}

void Elimination::findOrder() {
  unsigned count = graph.variables.size();
  Adjacency adjacency(graph);
  struct Price {
    unsigned fill;
    double size;
    bool operator<(const Price &other) const { return std::tie(fill, size) < std::tie(other.fill, other.size); }
  };
  std::vector<Price> prices(count);
  std::vector<bool> isStale(count, true), isGone(count, false);
  auto sizeWith = [&](unsigned variable) {
    double size = labelsOf(variable);
    for (unsigned neighbour : adjacency.neighbours(variable)) size *= labelsOf(neighbour);
    return size;
  };
  for (unsigned place = 0; place < count; ++place) {
    unsigned next = count;
    for (unsigned i = 0; i < count; ++i) {
      if (isGone[i]) continue;
      if (isStale[i]) prices[i] = {adjacency.fill(i), sizeWith(i)}, isStale[i] = false;
      if (next == count || prices[i] < prices[next]) next = i;
    }
    std::vector<unsigned> scope = adjacency.neighbours(next);
    // A pair that is added is between two neighbours, and counts for those that both have.
    for (unsigned neighbour : scope) {
      isStale[neighbour] = true;
      if (prices[next].fill == 0) continue;
      for (unsigned other : adjacency.neighbours(neighbour)) isStale[other] = true;
    }
    adjacency.eliminate(next);
    isGone[next] = true;
    places[next] = place;
    largest = std::max(largest, prices[next].size);
    entries += prices[next].size;
    buckets.push_back({next, std::move(scope), {}, {}, {}, {}});
  }
}

std::vector<unsigned> Elimination::countLarge(double mostEntries) const {
  std::vector<unsigned> counts(graph.variables.size());
  for (const Bucket &bucket : buckets) {
    double size = labelsOf(bucket.variable);
    for (unsigned variable : bucket.scope) size *= labelsOf(variable);
    if (size <= mostEntries) continue;
    ++counts[bucket.variable];
    for (unsigned variable : bucket.scope) ++counts[variable];
  }
  return counts;
}

size_t Elimination::sizeOf(ArrayRef<unsigned> scope) const {
  size_t size = 1;
  for (unsigned variable : scope) size *= labelsOf(variable);
  return size;
}

/// `scope` is that of the table: other variables of the bucket, and its own one last.
Elimination::Factor Elimination::makeFactor(const Bucket &bucket, const double *table, ArrayRef<unsigned> scope) const {
  Factor factor{table, std::vector<size_t>(bucket.scope.size()), {}};
  size_t stride = 1;
  for (unsigned variable : llvm::reverse(scope)) {
    if (variable != bucket.variable) factor.strides[llvm::find(bucket.scope, variable) - bucket.scope.begin()] = stride;
    stride *= labelsOf(variable);
  }
  return factor;
}

std::vector<Elimination::Factor> Elimination::factorsOf(const Bucket &bucket) const {
  const CostGraph::Variable &variable = graph.variables[bucket.variable];
  std::vector<Factor> factors = {makeFactor(bucket, variable.costs.data(), {bucket.variable})};
  for (CostGraph::Incidence at : variable.pairs) {
    const CostGraph::Pair &pair = graph.pairs[at.pair];
    unsigned other = pair.ends[1 - at.side];
    if (places[other] < places[bucket.variable]) continue;
    std::vector<double> table;
    table.reserve(labelsOf(other) * labelsOf(bucket.variable));
    for (unsigned otherLabel = 0; otherLabel < labelsOf(other); ++otherLabel) {
      const double *row = pair.row(at.side, otherLabel);
      for (unsigned number : pair.classes[at.side]) table.push_back(row[number]);
    }
    factors.push_back(makeFactor(bucket, table.data(), {other, bucket.variable}));
    factors.back().owned = std::move(table);
  }
  for (unsigned child : bucket.children)
    factors.push_back(makeFactor(bucket, buckets[child].table.data(), buckets[child].scope));
  return factors;
}

/// Calls `visit` with each entry of the bucket's table, while the factors' rows are those for it.
template <typename Visit>
void Elimination::forEachEntry(const Bucket &bucket, std::vector<Factor> &factors, Visit visit) const {
  size_t dimensions = bucket.scope.size(), size = sizeOf(bucket.scope);
  std::vector<size_t> counts, at(dimensions);
  for (unsigned variable : bucket.scope) counts.push_back(labelsOf(variable));
  for (size_t entry = 0; entry < size; ++entry) {
    visit(entry);
    for (size_t i = dimensions; i-- > 0;) {
      if (++at[i] < counts[i]) {
        for (Factor &factor : factors) factor.row += factor.strides[i];
        break;
      }
      at[i] = 0;
      for (Factor &factor : factors) factor.row -= factor.strides[i] * (counts[i] - 1);
    }
  }
}

template <typename Factors> static void sumRows(const Factors &factors, std::vector<double> &sum) {
  std::copy_n(factors.front().row, sum.size(), sum.begin());
  for (const auto &factor : llvm::drop_begin(factors))
    for (size_t label = 0; label < sum.size(); ++label) sum[label] += factor.row[label];
}

std::vector<unsigned> Elimination::minimise() {
  least = 0;
  for (Bucket &bucket : buckets) {
    std::vector<Factor> factors = factorsOf(bucket);
    std::vector<double> sum(labelsOf(bucket.variable));
    bucket.table.resize(sizeOf(bucket.scope));
    bucket.choices.resize(bucket.table.size());
    forEachEntry(bucket, factors, [&](size_t entry) {
      sumRows(factors, sum);
      unsigned best = std::min_element(sum.begin(), sum.end()) - sum.begin();
      bucket.table[entry] = sum[best], bucket.choices[entry] = best;
    });
    if (bucket.scope.empty()) least += bucket.table.front();
  }
  std::vector<unsigned> labels(buckets.size());
  for (const Bucket &bucket : llvm::reverse(buckets)) {
    size_t entry = 0;
    for (unsigned variable : bucket.scope) entry = entry * labelsOf(variable) + labels[variable];
    labels[bucket.variable] = bucket.choices[entry];
  }
  return labels;
}

std::vector<std::vector<double>> Elimination::minMarginals() {
  std::vector<std::vector<double>> marginals(buckets.size());
  if (least == infinity) {
    for (unsigned i = 0; i < marginals.size(); ++i) marginals[i].assign(labelsOf(i), infinity);
    return marginals;
  }
  for (Bucket &bucket : buckets) bucket.outside.assign(bucket.table.size(), infinity);
  for (Bucket &bucket : llvm::reverse(buckets)) {
    if (bucket.scope.empty()) bucket.outside.front() = least - bucket.table.front();
    marginals[bucket.variable].assign(labelsOf(bucket.variable), infinity);
    passOutside(bucket, marginals[bucket.variable]);
  }
  return marginals;
}

/// Combines what is outside of a bucket with what is in it, for its variable and for its children.
void Elimination::passOutside(const Bucket &bucket, std::vector<double> &marginals) {
  std::vector<Factor> factors = factorsOf(bucket);
  std::vector<double> sum(marginals.size());
  size_t firstChild = factors.size() - bucket.children.size();
  forEachEntry(bucket, factors, [&](size_t entry) {
    sumRows(factors, sum);
    for (size_t label = 0; label < sum.size(); ++label) {
      double cost = sum[label] + bucket.outside[entry];
      if (cost == infinity) continue;
      marginals[label] = std::min(marginals[label], cost);
      for (auto [number, child] : llvm::enumerate(bucket.children)) {
        const double *inside = factors[firstChild + number].row + label;
        double &outside = buckets[child].outside[inside - buckets[child].table.data()];
        outside = std::min(outside, cost - *inside);
      }
    }
  });
}
