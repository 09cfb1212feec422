//===- ProfiledRanks.h - what each rank of a profiled run did -------------===//

#ifndef TESSERA_RUNTIME_TRAIN_PROFILEDRANKS_H
#define TESSERA_RUNTIME_TRAIN_PROFILEDRANKS_H

#include "runtime/program/Profile.h"
#include "runtime/ranks/Communicator.h"

namespace tessera::runtime {

/// A collective: the list `ranks` of a profile (docs/profile.md), which has an entry for each rank, on all of them.
/// `profile`: of this rank's last step. `arenaBytes`: what this rank allocated.
Json profiledRanks(const Profile &profile, const RanksSpec &spec, int64_t arenaBytes, HostCommunicator &world);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_PROFILEDRANKS_H
