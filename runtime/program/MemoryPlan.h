//===- MemoryPlan.h - memory against time, as a manifest says it ----------===//

#ifndef TESSERA_RUNTIME_PROGRAM_MEMORYPLAN_H
#define TESSERA_RUNTIME_PROGRAM_MEMORYPLAN_H

#include "runtime/base/Json.h"

#include <optional>
#include <vector>

namespace tessera::runtime {

/// A way to divide what the backward pass reads into what is saved and what is computed again.
struct MemoryPlan {
  int64_t arenaBytes = 0;
  double seconds = 0; ///< that a step takes longer than without recomputation
  std::string what;   ///< what is recomputed, in words
  bool isChosen = false;
};

/// What changes if a value of layers is recomputed instead of saved, or saved instead of recomputed.
struct ValueAlternative {
  double seconds = 0; ///< that a step takes longer
  int64_t bytes = 0;  ///< that layers save more
};

/// A value of a stack of layers that the backward pass reads.
struct LayerValueSpec {
  std::string name, axis;
  std::string path; ///< for `--save` and `--recompute`; empty: they do not decide about it
  int64_t layers = 0, saved = 0, recomputed = 0;
  int64_t bytes = 0; ///< of all layers
  std::optional<ValueAlternative> alternative = std::nullopt;
};

/// The object `memory` of a manifest.
struct MemorySpec {
  std::optional<int64_t> budget;    ///< bytes of the program
  std::vector<MemoryPlan> frontier; ///< from the fastest to the smallest; empty: not known
  std::vector<LayerValueSpec> values;

  /// The program's own plan, or null.
  const MemoryPlan *chosen() const;
};

/// Throws an Error that names `where`.
MemorySpec readMemorySpec(const Json &json, const std::string &where);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_PROGRAM_MEMORYPLAN_H
