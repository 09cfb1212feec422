//===- PlannedMemory.h - memory against time, for a person ----------------===//

#ifndef TESSERA_TOOLS_PLANNEDMEMORY_H
#define TESSERA_TOOLS_PLANNEDMEMORY_H

#include "runtime/base/Json.h"
#include "runtime/train/MemoryNeeds.h"

namespace tessera {

/// What recomputation offers: the plans of a program, and what its layers save. The manifest must outlive it.
class PlannedMemory {
public:
  explicit PlannedMemory(const runtime::Manifest &manifest)
      : manifest(manifest), spec(manifest.memory), plans(runtime::plansByMemory(manifest)) {}

  /// A table of the plans; empty if there is no choice. Of many plans an even choice is listed.
  std::string describe() const;
  /// A table of the values that layers save or recompute.
  std::string describeValues() const;
  /// Everything; null if the phases did not look for plans.
  runtime::Json asJson() const;

private:
  /// Of a step of the program; none: nothing is predicted.
  std::optional<double> secondsOfStep() const;
  /// Of a step with another plan.
  std::optional<double> secondsWith(const runtime::MemoryPlan &plan) const;
  /// How much longer that is than without recomputation, as a part of it.
  std::optional<double> longerWith(const runtime::MemoryPlan &plan) const;
  std::vector<runtime::PlanMemory> listedPlans() const;
  std::string describe(const runtime::PlanMemory &option) const;

  const runtime::Manifest &manifest;
  const runtime::MemorySpec &spec;
  std::vector<runtime::PlanMemory> plans;
};

} // namespace tessera

#endif // TESSERA_TOOLS_PLANNEDMEMORY_H
