//===- PlannedSharding.h - what is divided, and why, for a person ---------===//

#ifndef TESSERA_TOOLS_PLANNEDSHARDING_H
#define TESSERA_TOOLS_PLANNEDSHARDING_H

#include "runtime/program/RanksSpec.h"

namespace tessera {

/// Of a program for several ranks: what the lines of its model are divided along, and what a search rejected. The spec
/// must outlive it.
class PlannedSharding {
public:
  explicit PlannedSharding(const runtime::RanksSpec &ranks) : ranks(ranks) {}

  /// A table of lines, in which those with equal rows are one. Empty if nothing is known of lines.
  std::string describeLines(bool listsAll) const;
  /// What a step takes longer with what was rejected, the nearest first. Empty without a search.
  std::string describeRejected(bool listsAll) const;

  runtime::Json linesAsJson() const;
  /// {seconds, bound, memory, unpinned, meshes, decisions}; null without a search.
  runtime::Json searchAsJson() const;

private:
  std::string axesAlong(const runtime::DividedLineSpec &line, const std::string &mesh) const;

  const runtime::RanksSpec &ranks;
};

} // namespace tessera

#endif // TESSERA_TOOLS_PLANNEDSHARDING_H
