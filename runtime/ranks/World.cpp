//===- World.cpp - the group of all ranks of a run ------------------------===//

#include "runtime/ranks/World.h"

#include "runtime/ranks/Mpi.h"
#include "runtime/ranks/Tcp.h"

namespace tessera::runtime {

std::unique_ptr<HostCommunicator> openWorld(const RankLaunch &launch) {
  if (launch.size == 1) return std::make_unique<OneRank>();
  if (launch.connection == RankConnection::Tcp) return openTcp(launch);
  if (launch.connection == RankConnection::Mpi) return openMpi(launch);
  // Open MPI would end the process here, with advice on how to build it.
  failUsage("SLURM_STEP_NUM_TASKS={}: srun did not provide what connects these ranks; set MASTER_ADDR to the host of "
            "rank 0 and MASTER_PORT to a free port, or start the program with srun --mpi=pmix (srun --mpi=list says "
            "whether it is there), or with mpirun in the job",
            launch.size);
}

} // namespace tessera::runtime
