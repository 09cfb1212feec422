//===- RankLaunch.h - which job launcher started this process, as what ----===//

#ifndef TESSERA_RUNTIME_RANKS_RANKLAUNCH_H
#define TESSERA_RUNTIME_RANKS_RANKLAUNCH_H

#include <functional>
#include <string>

namespace tessera::runtime {

enum class RankLauncher {
  None,    ///< started alone
  Mpirun,  ///< OMPI_COMM_WORLD_RANK, …: Open MPI's mpirun
  Srun,    ///< SLURM_PROCID, …: a step of Slurm
  Torchrun ///< RANK, WORLD_SIZE, …: torchrun, or a script that sets its variables
};

/// A place among the ranks, as the job launcher says it in the environment.
struct RankLaunch {
  RankLauncher launcher = RankLauncher::None;
  int rank = 0, size = 1;
  int localRank = 0, localSize = 1; ///< among those on this host
  std::string masterAddress;        ///< of torchrun: the host of rank 0
  int masterPort = 0;               ///< of torchrun; 0: none

  /// For the line at the start: "one rank", "rank 2 of 4, 2 on this host (mpirun)".
  std::string describe() const;
};

/// The value of a variable of the environment; null: not set.
using EnvironmentReader = std::function<const char *(const char *name)>;

/// What the environment says. mpirun's variables come first: it starts its own helpers with srun. Throws an Error with
/// status 2 that names the variables if some are missing, are no numbers, or contradict each other, or if they are
/// those of MPICH's mpirun.
RankLaunch findRankLaunch(const EnvironmentReader &variable);

/// The same for the environment of this process.
RankLaunch findRankLaunch();

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_RANKS_RANKLAUNCH_H
