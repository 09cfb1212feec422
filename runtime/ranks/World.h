//===- World.h - the group of all ranks of a run --------------------------===//

#ifndef TESSERA_RUNTIME_RANKS_WORLD_H
#define TESSERA_RUNTIME_RANKS_WORLD_H

#include "runtime/ranks/Communicator.h"
#include "runtime/ranks/RankLaunch.h"

namespace tessera::runtime {

/// The ranks that the job launcher started, connected by Open MPI or over TCP. One rank opens neither. Throws an Error
/// that says what to install or how to start the program if there is no way to connect several, and one with status 2
/// if they do not find each other.
std::unique_ptr<HostCommunicator> openWorld(const RankLaunch &launch);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_RANKS_WORLD_H
