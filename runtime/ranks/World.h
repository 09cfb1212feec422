//===- World.h - the group of all ranks of a run --------------------------===//

#ifndef TESSERA_RUNTIME_RANKS_WORLD_H
#define TESSERA_RUNTIME_RANKS_WORLD_H

#include "runtime/ranks/Communicator.h"
#include "runtime/ranks/RankLaunch.h"

namespace tessera::runtime {

/// The ranks that the job launcher started, connected by Open MPI. One rank opens no library. Throws an Error that says
/// what to install or how to start the program if there is no way to connect several.
std::unique_ptr<HostCommunicator> openWorld(const RankLaunch &launch);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_RANKS_WORLD_H
