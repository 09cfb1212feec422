//===- Policies.cpp - what a layer may save and recompute -----------------===//
//
// From the last unit to the first: what later units and the backward pass want of a unit is known when it is its turn,
// and there are two ways to give it, to save it or to recompute the unit, which wants its inputs. Of partial policies
// that want the same values of the units before, only those count that no other one beats (labels, as in shortest paths
// with two criteria). A credit is given at the turn of the first of its units. Of more than `mostLabels` an even choice
// is made.
//
//===----------------------------------------------------------------------===//

#include "passes/rematerialize/Policies.h"
#include "passes/analysis/Views.h"
#include <set>

using namespace mlir;
using namespace tessera;

namespace {
struct Label {
  llvm::BitVector recomputed;
  llvm::BitVector wanted; ///< values of the units before, by their numbers
  int64_t bytes = 0;
  double seconds = 0;
};

/// Values of the forward body by numbers.
class ValueTable {
public:
  unsigned of(Value value) {
    auto [it, isNew] = numbers.try_emplace(value, values.size());
    if (isNew) values.push_back(value);
    return it->second;
  }
  size_t size() const { return values.size(); }
  Value operator[](unsigned number) const { return values[number]; }

private:
  llvm::DenseMap<Value, unsigned> numbers;
  std::vector<Value> values;
};
} // namespace

/// Credits that are not decided yet depend on units that are.
static llvm::BitVector futureOf(const Label &label, const llvm::BitVector &pending) {
  llvm::BitVector future = label.recomputed;
  future &= pending;
  return future;
}

/// Sorts labels by seconds and leaves those that none with the same future beats: the same wishes, and of the units
/// that later credits depend on the same ones. Returns whether there were few enough.
static bool prune(std::vector<Label> &labels, const llvm::BitVector &pending, size_t mostLabels) {
  llvm::stable_sort(labels, [](const Label &a, const Label &b) {
    return std::pair(a.seconds, a.bytes) < std::pair(b.seconds, b.bytes);
  });
  using Future = std::pair<llvm::BitVector, llvm::BitVector>;
  auto precedes = [](const llvm::BitVector &a, const llvm::BitVector &b) {
    return std::lexicographical_compare(a.getData().begin(), a.getData().end(), b.getData().begin(), b.getData().end());
  };
  auto less = [&](const Future &a, const Future &b) {
    return a.first == b.first ? precedes(a.second, b.second) : precedes(a.first, b.first);
  };
  std::map<Future, int64_t, decltype(less)> least(less);
  std::vector<Label> kept;
  for (Label &label : labels) {
    auto [it, isNew] = least.try_emplace({label.wanted, futureOf(label, pending)}, label.bytes);
    if (!isNew && label.bytes >= it->second) continue;
    it->second = label.bytes;
    kept.push_back(std::move(label));
  }
  // They are in the order of their times: an even choice, with the first and the last.
  bool areFew = kept.size() <= mostLabels;
  if (!areFew) {
    std::vector<Label> chosen;
    for (size_t i = 0; i < mostLabels; ++i) chosen.push_back(std::move(kept[i * (kept.size() - 1) / (mostLabels - 1)]));
    kept = std::move(chosen);
  }
  labels = std::move(kept);
  return areFew;
}

double tessera::secondsOf(const RecomputeUnit &unit, const OpTimes &times) {
  double seconds = 0;
  for (Operation *op : unit.ops) seconds += times.secondsOf(op);
  return seconds;
}

std::vector<Credit> tessera::creditsOf(const LayerPair &pair, const OpTimes &times) {
  llvm::MapVector<Operation *, std::pair<unsigned, llvm::BitVector>> known; // results, and units that compute them
  for (const Duplicate &duplicate : pair.duplicates) {
    auto &[results, units] = known[duplicate.backward.getOwner()];
    units.resize(pair.units.size());
    int unit = pair.unitOf(duplicate.forward);
    if (unit >= 0) ++results, units.set(unit);
  }
  std::vector<Credit> credits;
  for (const auto &[op, found] : known)
    if (found.first == op->getNumResults()) credits.push_back({found.second, times.secondsOf(op)});
  return credits;
}

std::vector<Policy> tessera::findPolicies(const PolicyProblem &problem, const OpTimes &times) {
  const Pins &pins = problem.pins;
  ValueTable table;
  for (const RecomputeUnit &unit : problem.units) {
    for (Operation *op : unit.ops)
      for (Value result : op->getResults()) table.of(result);
    for (const auto &[input, results] : unit.inputs) table.of(input);
  }
  for (Value value : problem.needed) table.of(value);

  auto bytesOf = [&](unsigned number) {
    return problem.bytesOf ? problem.bytesOf(table[number]) : tensorType(table[number]).getNumBytes();
  };
  bool isExact = true;
  Label first;
  first.recomputed.resize(problem.units.size()), first.wanted.resize(table.size());
  for (Value value : problem.needed) first.wanted.set(table.of(value));
  std::vector<Label> labels{first};
  for (size_t i = problem.units.size(); i-- > 0;) {
    const RecomputeUnit &unit = problem.units[i];
    llvm::BitVector results(table.size());
    for (Operation *op : unit.ops)
      for (Value result : op->getResults()) results.set(table.of(result));
    double seconds = secondsOf(unit, times);
    llvm::BitVector pending(problem.units.size());
    for (const Credit &credit : problem.credits)
      if (credit.units.find_first() < static_cast<int>(i)) pending |= credit.units;
    std::vector<Label> next;
    for (const Label &label : labels) {
      llvm::BitVector wanted = label.wanted;
      wanted &= results;
      Label saved = label;
      saved.wanted.reset(results);
      for (unsigned number : wanted.set_bits()) saved.bytes += bytesOf(number);
      // Each op gives something that is wanted; or some do.
      bool isComplete = problem.allowsUnwanted ? wanted.any() : llvm::all_of(unit.ops, [&](Operation *op) {
        return llvm::any_of(op->getResults(), [&](Value result) { return wanted.test(table.of(result)); });
      });
      bool isRecomputable = isComplete && !pins.saved[i];
      if (isRecomputable) {
        Label again = label;
        again.wanted.reset(results);
        for (const auto &[input, from] : unit.inputs)
          if (llvm::any_of(from, [&](Value result) { return wanted.test(table.of(result)); }))
            again.wanted.set(table.of(input));
        again.recomputed.set(i);
        again.seconds += seconds;
        for (const Credit &credit : problem.credits)
          if (credit.units.find_first() == static_cast<int>(i) && !credit.units.test(again.recomputed))
            again.seconds -= credit.seconds;
        next.push_back(std::move(again));
      }
      if (!isRecomputable || !pins.recomputed[i]) next.push_back(std::move(saved));
    }
    isExact &= prune(next, pending, problem.mostLabels);
    labels = std::move(next);
  }
  // What is wanted of no unit is an argument: saved.
  std::vector<Policy> policies;
  for (Label &label : labels) {
    for (unsigned number : label.wanted.set_bits()) label.bytes += bytesOf(number);
    label.wanted.reset();
  }
  isExact &= prune(labels, llvm::BitVector(problem.units.size()), problem.mostLabels);
  if (problem.isExact) *problem.isExact = isExact;
  for (Label &label : labels) policies.push_back({std::move(label.recomputed), label.bytes, label.seconds});
  return policies;
}

std::vector<Policy> tessera::findPolicies(const LayerPair &pair, const Pins &pins, const OpTimes &times) {
  return findPolicies({pair.units, pair.needed.getArrayRef(), pins, creditsOf(pair, times)}, times);
}

std::vector<Policy> tessera::hullOf(ArrayRef<Policy> policies) {
  std::vector<Policy> hull;
  // Seconds for a byte less, from `a` to `b`.
  auto price = [](const Policy &a, const Policy &b) {
    return (b.seconds - a.seconds) / static_cast<double>(a.bytes - b.bytes);
  };
  for (const Policy &policy : policies) {
    while (hull.size() > 1 && price(hull[hull.size() - 2], hull.back()) >= price(hull.back(), policy)) hull.pop_back();
    hull.push_back(policy);
  }
  return hull;
}
