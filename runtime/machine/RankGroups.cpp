//===- RankGroups.cpp - the ranks that a program exchanges with -----------===//

#include "runtime/machine/RankGroups.h"

#include "runtime/base/Error.h"
#include "runtime/ranks/Agreement.h"

#include <algorithm>

namespace tessera::runtime {

HostCommunicator &RankGroups::along(const std::string &axis) const {
  auto isIts = [&](HostCommunicator *group) { return group->name() == axis; };
  auto group = std::find_if(groups.begin(), groups.end(), isIts);
  if (group == groups.end()) fail("the program is for several ranks: nothing connects them along '{}'", axis);
  return **group;
}

void RankGroups::together(std::string_view what, const std::function<void()> &body) const {
  if (!isSeveral()) return body();
  Agreement(*all).together(what, body);
}

void RankGroups::require(const RanksSpec &ranks) const {
  for (const MeshAxisSpec &axis : ranks.mesh)
    if (int size = along(axis.name).size(); size != axis.size)
      fail("the program is for {} ranks along '{}', and there are {}; compile it for these, or start as many",
           axis.size, axis.name, size);
}

} // namespace tessera::runtime
