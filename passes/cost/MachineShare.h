//===- MachineShare.h - what a rank has of its machine -------------------===//
//
// A GPU is a rank's own. Ranks on processors share those of their machine: a description is that of a machine, and of
// each rank the model of costs sees this share of it. Links are the machine's (RankLinks.h).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_COST_MACHINESHARE_H
#define TESSERA_PASSES_COST_MACHINESHARE_H

#include "ir/program/Target.h"

namespace tessera {

/// The ranks that are on one machine: those that `Machines` says, without it all for which the module is, or for which
/// a mesh is to be found.
int64_t ranksOfMachine(mlir::ModuleOp module);

struct MachineShare {
  /// Cores, rates, bandwidths, the L3 cache and memory are divided by the ranks. What one thread reaches stays, unless
  /// there are more ranks than cores: they alternate, and all that they do takes longer.
  Target target;
  int threads = 1; ///< of the rank: no more than it has cores

  /// With so many ranks on a machine, in a program of so many threads. Of a machine whose cores the description does
  /// not say the program has a thread for each.
  static MachineShare of(const Target &target, int threads, int64_t ranks);
};

} // namespace tessera

#endif // TESSERA_PASSES_COST_MACHINESHARE_H
