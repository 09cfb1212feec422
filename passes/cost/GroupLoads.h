//===- GroupLoads.h - what links carry for groups of ranks ----------------===//
//
// All groups along a mesh axis exchange at the same time: ranks first, first + stride, ..., `size` of them. Rank r is
// on machine r / devices, and `insideSharing` (`networkSharing`) adjacent devices of a machine share a link of each
// class. What the busiest link of each class carries, in one direction, follows from what moves the bytes: a CPU's
// all-gather goes around one ring, whose neighbours on different machines use the network; NCCL's goes through as many
// rings as members have adapters, with a part of the bytes each; an all-to-all goes from each member to each.
//
// `countGroupLoads` goes through all ranks. `groupLoads` is the same in a time that depends on the devices of a machine
// alone:
//
// 1. If members are as far apart as machines are large, each is on a machine of its own; if all are on one, it is the
//    whole group. Then all ranks send and receive the same.
// 2. Else groups lie on machines in the same way again after a common multiple of `stride * size` and `devices`: the
//    rest is left out.
// 3. In the middle of a group that is on many machines, these are alike. So many of its members are left out that the
//    rest of the ranks lie on machines as before.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_COST_GROUPLOADS_H
#define TESSERA_PASSES_COST_GROUPLOADS_H

#include <cstdint>

namespace tessera {

/// Groups of ranks along a mesh axis.
struct GroupsOnMachines {
  int64_t ranks = 1;             ///< all; a multiple of `stride * size`
  int64_t stride = 1, size = 1;  ///< from member to member; members
  int64_t devices = 1;           ///< ranks of a machine
  int64_t insideSharing = 1;     ///< adjacent ranks of a machine that share a link inside of it
  int64_t networkSharing = 1;    ///< and one to other machines
  bool hasRingOfAdapters = true; ///< as NCCL makes them
};

struct GroupLoads {
  /// What the busiest links of both classes carry, if each rank has one byte for each other one of its group.
  struct PerByte {
    double inside = 0, network = 0;
    bool operator==(const PerByte &) const = default;
  };

  int64_t machines = 1; ///< the most that one of the groups is on
  PerByte ring, direct; ///< of an all-gather and a reduce-scatter, and of an all-to-all
  bool operator==(const GroupLoads &) const = default;
};

/// Rank by rank.
GroupLoads countGroupLoads(const GroupsOnMachines &groups);
/// The same, whose time does not grow with the ranks.
GroupLoads groupLoads(const GroupsOnMachines &groups);

} // namespace tessera

#endif // TESSERA_PASSES_COST_GROUPLOADS_H
