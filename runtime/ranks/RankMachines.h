//===- RankMachines.h - which ranks are on one machine --------------------===//

#ifndef TESSERA_RUNTIME_RANKS_RANKMACHINES_H
#define TESSERA_RUNTIME_RANKS_RANKMACHINES_H

#include "runtime/ranks/Communicator.h"

#include <vector>

namespace tessera::runtime {

/// A collective: the number of the machine of each rank, counted in the order of their first ranks. What counts is
/// whether ranks reach each other over the loopback device: a network namespace is a machine of its own.
std::vector<int> machinesOfRanks(HostCommunicator &world);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_RANKS_RANKMACHINES_H
