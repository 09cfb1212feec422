//===- RankShare.h - what of a machine one rank uses ----------------------===//
//
// Ranks on one machine divide its processors and its memory. The user, or Slurm, may have done so already: a rank whose
// processors no other rank may use keeps them; ranks that may use the same ones share them evenly.
//
// All ranks of a run have the same number of threads, although some processors may be left over: the slowest rank
// would set the pace anyway, and how a value is computed may depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_RANKS_RANKSHARE_H
#define TESSERA_RUNTIME_RANKS_RANKSHARE_H

#include "runtime/ranks/Communicator.h"
#include "runtime/ranks/RankLaunch.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::runtime {

/// Processors of a machine, by the system's numbers, in the order in which they are divided.
using Processors = std::vector<int>;

struct RankShare {
  Processors processors; ///< at least one; the same one for several ranks if there are more ranks than processors
  int64_t memory = 0;    ///< bytes
  int threads() const { return static_cast<int>(processors.size()); }
};

/// The share of rank `localRank` of `localSize` that all may use `processors`, which are adjacent if they share a core
/// or a cache, and `memory` bytes.
RankShare shareOf(const Processors &processors, int64_t memory, int localRank, int localSize);

/// The processors that this process may use: those of a core beside each other, then those of a package.
Processors allowedProcessors();

/// The same for a rank, before they are divided. Unless it is told how to bind, mpirun binds each of two ranks to one
/// core, for processes with one thread: then these are the processors that mpirun itself may use.
Processors processorsOfRank(const RankLaunch &launch);

/// A collective: the share of this rank, of what each rank on this machine may use. `memory` is what the machine has
/// available; all ranks measure it before any allocates. No rank gets more threads than another one.
RankShare agreeOnShare(HostCommunicator &world, const Processors &processors, int64_t memory);

/// Lets this process, with the threads that it starts from now on, run on these processors only.
void restrictTo(const Processors &processors);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_RANKS_RANKSHARE_H
