//===- World.cpp - the group of all ranks of a run ------------------------===//

#include "runtime/ranks/World.h"

#include "runtime/ranks/Mpi.h"

namespace tessera::runtime {

std::unique_ptr<HostCommunicator> openWorld(const RankLaunch &launch) {
  if (launch.size == 1) return std::make_unique<OneRank>();
  if (launch.launcher == RankLauncher::Torchrun)
    failUsage("WORLD_SIZE={}: torchrun's variables alone do not connect ranks on processors; start the program with "
              "Open MPI's mpirun, or with srun --mpi=pmix",
              launch.size);
  return openMpi(launch.rank, launch.size);
}

} // namespace tessera::runtime
