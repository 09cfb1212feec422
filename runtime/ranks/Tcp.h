//===- Tcp.h - ranks over TCP ---------------------------------------------===//
//
// Needs no library: ranks that torchrun or srun started find each other (`Meeting.h`), and each has a connection to
// each other one, which all groups share.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_RANKS_TCP_H
#define TESSERA_RUNTIME_RANKS_TCP_H

#include "runtime/ranks/Communicator.h"
#include "runtime/ranks/RankLaunch.h"

namespace tessera::runtime {

/// Connects the ranks and returns the group of all of them. Throws what `meetRanks` throws, and an Error that names a
/// rank that has come but cannot be reached.
///
/// A connection that is lost inside of a collective is an Error with status 4; if the group is observed, not before the
/// watchdog had the time to name the rank and to end the process. The process must call `finish` on the group in order
/// to end well; otherwise the other ranks lose their connections.
std::unique_ptr<HostCommunicator> openTcp(const RankLaunch &launch);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_RANKS_TCP_H
