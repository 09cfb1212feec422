//===- GrowthLimit.h - how much worse a program may become -----------------===//

#ifndef TESSERA_TOOLS_DIFF_GROWTHLIMIT_H
#define TESSERA_TOOLS_DIFF_GROWTHLIMIT_H

#include "tools/diff/ProgramDiff.h"

namespace tessera {

/// The limit of `--fail-above`: on the memory that is needed, and on the predicted time of a step.
struct GrowthLimit {
  double percent = 0;

  /// From "2%" or "0.5%". None for anything else.
  static std::optional<GrowthLimit> parse(const std::string &text);

  /// A sentence for each figure that grew by more.
  std::vector<std::string> findBreaches(const ProgramDiff &diff) const;
};

/// What the limit could not be applied to, or what makes the figures hard to compare, as sentences.
std::vector<std::string> findUncompared(const ProgramDiff &diff);

} // namespace tessera

#endif // TESSERA_TOOLS_DIFF_GROWTHLIMIT_H
