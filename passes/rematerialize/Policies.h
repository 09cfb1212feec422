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

/// What policies are found for.
struct PolicyProblem {
  llvm::ArrayRef<RecomputeUnit> units;
  llvm::ArrayRef<mlir::Value> needed; ///< roots that the backward pass reads
  Pins pins;
  /// Seconds that other ops save where units are recomputed; may be null.
  std::function<double(const llvm::BitVector &)> savings;
  /// Partial policies that are considered at a time. The result is exact if there are no more.
  size_t mostLabels = 4096;
};

/// The policies that no other one beats in bytes and seconds, the fastest first. Without pins the first one recomputes
/// nothing that takes time.
std::vector<Policy> findPolicies(const PolicyProblem &problem, const OpTimes &times);
std::vector<Policy> findPolicies(const LayerPair &pair, const Pins &pins, const OpTimes &times);

/// Of these the ones on the lower convex hull: mixtures of neighbours are the best for any number of bytes in between.
std::vector<Policy> hullOf(llvm::ArrayRef<Policy> policies);

} // namespace tessera

#endif // TESSERA_PASSES_REMATERIALIZE_POLICIES_H
