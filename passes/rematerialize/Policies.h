//===- Policies.h - what a layer may save and recompute -------------------===//
//
// A policy is a set of units that are recomputed. It costs their time and saves bytes: in each layer. Of all policies
// those count that no other one beats in both.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_REMATERIALIZE_POLICIES_H
#define TESSERA_PASSES_REMATERIALIZE_POLICIES_H

#include "passes/cost/OpTimes.h"
#include "passes/rematerialize/LayerPair.h"
#include <functional>

namespace tessera {

struct Policy {
  llvm::BitVector recomputed; ///< units
  int64_t bytes = 0;          ///< that one layer saves
  double seconds = 0;         ///< that recomputing takes more, in one layer
};

/// What the user decided: units that every policy saves, or recomputes if anything needs them.
struct Pins {
  llvm::BitVector saved, recomputed;
};

/// Seconds that are saved elsewhere where all of some units are recomputed.
struct Credit {
  llvm::BitVector units;
  double seconds = 0;
};

/// What policies are found for.
struct PolicyProblem {
  llvm::ArrayRef<RecomputeUnit> units;
  llvm::ArrayRef<mlir::Value> needed; ///< roots that the backward pass reads
  Pins pins;
  std::vector<Credit> credits = {};
  std::function<int64_t(mlir::Value)> bytesOf = nullptr; ///< what a saved value takes; null: its bytes
  bool allowsUnwanted = false; ///< a unit of several ops may be recomputed though only some of them are wanted
  /// Partial policies that are considered at a time. The result is exact if there are no more.
  size_t mostLabels = 4096;
  bool *isExact = nullptr; ///< says whether it was; may be null
};

/// The policies that no other one beats in bytes and seconds, the fastest first. Without pins the first one recomputes
/// nothing that takes time.
std::vector<Policy> findPolicies(const PolicyProblem &problem, const OpTimes &times);
std::vector<Policy> findPolicies(const LayerPair &pair, const Pins &pins, const OpTimes &times);

/// Ops of the backward body that are not needed where units are recomputed: all their results are results of these.
std::vector<Credit> creditsOf(const LayerPair &pair, const OpTimes &times);

/// Seconds of a unit.
double secondsOf(const RecomputeUnit &unit, const OpTimes &times);

/// Of these the ones on the lower convex hull: mixtures of neighbours are the best for any number of bytes in between.
std::vector<Policy> hullOf(llvm::ArrayRef<Policy> policies);

} // namespace tessera

#endif // TESSERA_PASSES_REMATERIALIZE_POLICIES_H
