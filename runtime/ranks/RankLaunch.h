//===- RankLaunch.h - which job launcher started this process, as what ----===//

#ifndef TESSERA_RUNTIME_RANKS_RANKLAUNCH_H
#define TESSERA_RUNTIME_RANKS_RANKLAUNCH_H

#include <functional>
#include <string>
#include <vector>

namespace tessera::runtime {

enum class RankLauncher {
  None,    ///< started alone
  Mpirun,  ///< OMPI_COMM_WORLD_RANK, …: Open MPI's mpirun
  Srun,    ///< SLURM_PROCID, …: a step of Slurm
  Torchrun ///< RANK, WORLD_SIZE, …: torchrun, or a script that sets its variables
};

/// What connects several ranks.
enum class RankConnection {
  None, ///< nothing: the job launcher does not say how
  Mpi,  ///< Open MPI: mpirun, or srun --mpi=pmix
  Tcp   ///< rank 0 waits for the others at MASTER_ADDR: torchrun, or srun without --mpi=pmix
};

/// Where and how ranks meet that are connected over TCP.
struct RankMeeting {
  std::string address;  ///< MASTER_ADDR: the host of rank 0
  int port = 0;         ///< on which rank 0 waits: TESSERA_PORT, or the one after MASTER_PORT, which is torchrun's own
  std::string portName; ///< what the port is from: "TESSERA_PORT", "MASTER_PORT + 1"
  int seconds = 60;     ///< in which all must have come: TESSERA_START_TIMEOUT
  /// What tells the run from others, the same on all ranks: torchrun's run ID, Slurm's step, TESSERA_SECRET.
  std::string job;
};

/// A place among the ranks, as the job launcher says it in the environment.
struct RankLaunch {
  RankLauncher launcher = RankLauncher::None;
  int rank = 0, size = 1;
  int localRank = 0, localSize = 1; ///< among those on this host
  RankConnection connection = RankConnection::None;
  RankMeeting meeting; ///< if they are connected over TCP

  /// For the line at the start: "one rank", "rank 2 of 4, 2 on this host (mpirun)". srun's ranks have "(srun, MPI)" or
  /// "(srun, TCP)"; mpirun always means MPI, torchrun TCP.
  std::string describe() const;
  /// What all ranks say alike: "one rank", "4 ranks (mpirun)".
  std::string describeAll() const;
};

/// The value of a variable of the environment; null: not set.
using EnvironmentReader = std::function<const char *(const char *name)>;

/// What the environment says. mpirun's variables come first: it starts its own helpers with srun. Throws an Error with
/// status 2 that names the variables if some are missing, are no numbers, or contradict each other, or if they are
/// those of MPICH's mpirun.
RankLaunch findRankLaunch(const EnvironmentReader &variable);

/// The same for the environment of this process.
RankLaunch findRankLaunch();

/// The environment of this process without the variables by which job launchers tell ranks: for programs that it starts
/// alone. As `NAME=VALUE`.
std::vector<std::string> environmentOfOneRank();

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_RANKS_RANKLAUNCH_H
