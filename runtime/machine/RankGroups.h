//===- RankGroups.h - the ranks that a program exchanges with -------------===//

#ifndef TESSERA_RUNTIME_MACHINE_RANKGROUPS_H
#define TESSERA_RUNTIME_MACHINE_RANKGROUPS_H

#include "runtime/program/RanksSpec.h"
#include "runtime/ranks/Communicator.h"

#include <string>
#include <vector>

namespace tessera::runtime {

/// All ranks of a run, and those along each axis of the program's mesh, in groups that are named like it. Empty for a
/// program for one rank. The groups must outlive this.
class RankGroups {
public:
  RankGroups() = default;
  RankGroups(HostCommunicator &world, std::vector<HostCommunicator *> along) : all(&world), groups(std::move(along)) {}

  /// Null: a program for one rank.
  HostCommunicator *world() const { return all; }
  const std::vector<HostCommunicator *> &along() const { return groups; }
  /// The ranks along an axis of the mesh. Throws an Error if nothing connects them.
  HostCommunicator &along(const std::string &axis) const;

  bool isSeveral() const { return all && all->size() > 1; }
  /// Whether this is the first rank, or the only one.
  bool isFirst() const { return !all || all->rank() == 0; }

  /// A collective of all ranks: runs `body` on each, and throws a RankError on all if it throws on one. Alone it throws
  /// what `body` does. `body` must not call collectives after what may fail on one rank.
  void together(std::string_view what, const std::function<void()> &body) const;

  /// Throws an Error unless there are as many ranks along each axis of a program's mesh as it is for.
  void require(const RanksSpec &ranks) const;

private:
  HostCommunicator *all = nullptr;
  std::vector<HostCommunicator *> groups;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_MACHINE_RANKGROUPS_H
