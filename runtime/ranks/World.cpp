//===- World.cpp - the group of all ranks of a run ------------------------===//

#include "runtime/ranks/World.h"

#include "runtime/ranks/Mpi.h"

#include <cstdlib>

namespace tessera::runtime {

std::unique_ptr<HostCommunicator> openWorld(const RankLaunch &launch) {
  if (launch.size == 1) return std::make_unique<OneRank>();
  if (launch.launcher == RankLauncher::Torchrun)
    failUsage("WORLD_SIZE={}: torchrun's variables alone do not connect ranks on processors; start the program with "
              "Open MPI's mpirun, or with srun --mpi=pmix",
              launch.size);
  // Open MPI would end the process here, with advice on how to build it.
  if (launch.launcher == RankLauncher::Srun && !getenv("PMIX_NAMESPACE") && !getenv("PMI_FD"))
    failUsage("SLURM_STEP_NUM_TASKS={}: srun did not provide what connects these ranks; start the program with srun "
              "--mpi=pmix (srun --mpi=list says whether it is there), or with mpirun in the job",
              launch.size);
  return openMpi(launch);
}

} // namespace tessera::runtime
