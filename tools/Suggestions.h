//===- Suggestions.h - changes with which a model fits a device -----------===//

#ifndef TESSERA_TOOLS_SUGGESTIONS_H
#define TESSERA_TOOLS_SUGGESTIONS_H

#include "tools/Largest.h"

namespace tessera {

/// Options with which the model fits. It has been planned with them.
struct Suggestion {
  TrialOptions options;
  std::string meaning;               ///< what they change in the training
  int64_t needed = 0;                ///< bytes
  std::string time;                  ///< of a step, for a person; empty: not known
  std::vector<std::string> warnings; ///< of the frontend that are new
};

/// What to do about a model and a device.
struct Suggestions {
  /// From the one on that changes the training least.
  std::vector<Suggestion> changes;
  bool fitsAlready = false;
  std::optional<Largest> largest; ///< batch, if it fits already
};

/// Finds the mildest changes by planning them: recomputation, less memory spent for speed, more micro-batches, a
/// smaller type, a smaller batch, shorter rows.
Suggestions findSuggestions(Trials &trials);

std::string describeSuggestions(const Suggestions &suggestions, const PlannedDevice &device);
runtime::Json suggestionsAsJson(const Suggestions &suggestions, const PlannedDevice &device);

} // namespace tessera

#endif // TESSERA_TOOLS_SUGGESTIONS_H
