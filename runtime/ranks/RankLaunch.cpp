//===- RankLaunch.cpp - which job launcher started this process, as what --===//

#include "runtime/ranks/RankLaunch.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace tessera::runtime {

namespace {
/// The variables of one job launcher. A step of Slurm has no variable for its ranks on this host alone.
struct LauncherVariables {
  RankLauncher launcher;
  const char *name; ///< of the job launcher
  const char *rank, *size, *localRank, *localSize;
};

constexpr LauncherVariables mpirun = {RankLauncher::Mpirun,         "mpirun",
                                      "OMPI_COMM_WORLD_RANK",       "OMPI_COMM_WORLD_SIZE",
                                      "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr LauncherVariables srun = {RankLauncher::Srun,     "srun",          "SLURM_PROCID",
                                    "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"};
constexpr LauncherVariables torchrun = {RankLauncher::Torchrun, "torchrun",   "RANK",
                                        "WORLD_SIZE",           "LOCAL_RANK", "LOCAL_WORLD_SIZE"};

/// Of MPICH's mpirun, which is refused.
constexpr const char *mpichSize = "PMI_SIZE";

/// Reads variables, and says which one is at fault.
class LaunchReader {
public:
  LaunchReader(const EnvironmentReader &variable, const char *launcher) : variable(variable), launcher(launcher) {}

  const char *find(const char *name) const {
    const char *value = variable(name);
    return value && *value ? value : nullptr;
  }
  const char *get(const char *name, const char *besides) const {
    if (const char *value = find(name)) return value;
    failUsage("{} is set but {} is not: {} sets both; start the program with it, or unset {}", besides, name, launcher,
              besides);
  }
  /// An integer from `least` to `most`.
  int number(const char *name, const char *besides, int least, int most) const {
    const char *value = get(name, besides);
    return toNumber(name, value, value + strlen(value), least, most);
  }
  static int toNumber(const char *name, const char *from, const char *to, int least, int most) {
    int value = 0;
    auto [end, error] = std::from_chars(from, to, value);
    if (error != std::errc() || end != to || value < least || value > most)
      failUsage("{}={}: expected a number from {} to {}", name, std::string(from, to), least, most);
    return value;
  }

private:
  const EnvironmentReader &variable;
  const char *launcher;
};

constexpr int mostRanks = 1 << 20;
} // namespace

/// The entry of "2(x3),1", the ranks on each host in order, for host `node`.
static int tasksOnNode(const char *name, const std::string &list, int node) {
  size_t at = 0;
  while (at < list.size()) {
    size_t comma = std::min(list.find(',', at), list.size()), open = std::min(list.find("(x", at), comma);
    int tasks = LaunchReader::toNumber(name, &list[at], &list[open], 1, mostRanks), repeats = 1;
    if (open < comma) {
      if (list[comma - 1] != ')') break;
      repeats = LaunchReader::toNumber(name, &list[open + 2], &list[comma - 1], 1, mostRanks);
    }
    if (node < repeats) return tasks;
    node -= repeats;
    at = comma + 1;
  }
  failUsage("{}={}: expected the ranks of each host, such as 2(x3),1, with an entry for that of SLURM_NODEID", name,
            list);
}

static RankConnection connectionOf(RankLauncher launcher, const LaunchReader &reader) {
  if (launcher == RankLauncher::Mpirun) return RankConnection::Mpi;
  if (launcher == RankLauncher::Torchrun) return RankConnection::Tcp;
  if (reader.find("PMIX_NAMESPACE") || reader.find("PMI_FD")) return RankConnection::Mpi;
  return reader.find("MASTER_ADDR") ? RankConnection::Tcp : RankConnection::None;
}

/// `first` is the variable because of which others are needed; Slurm has no variables for this, so there it is
/// MASTER_ADDR.
static RankMeeting readMeeting(RankLauncher launcher, const LaunchReader &reader, const char *first) {
  constexpr int lastPort = 65535, longestStart = 24 * 60 * 60;
  bool isTorchrun = launcher == RankLauncher::Torchrun;
  RankMeeting meeting;
  meeting.address = reader.get("MASTER_ADDR", first);
  if (reader.find("TESSERA_PORT")) {
    meeting.port = reader.number("TESSERA_PORT", first, 1, lastPort);
    meeting.portName = "TESSERA_PORT";
  } else if (!isTorchrun && !reader.find("MASTER_PORT")) {
    failUsage("MASTER_ADDR is set but MASTER_PORT is not: set it to a number, the same for all ranks; rank 0 waits for "
              "the others at the port after it");
  } else {
    meeting.port = reader.number("MASTER_PORT", first, 1, lastPort) + 1;
    meeting.portName = "MASTER_PORT + 1";
  }
  if (meeting.port > lastPort)
    failUsage(
        "MASTER_PORT={}: rank 0 waits for the others at the port after it, and there is none; set TESSERA_PORT to "
        "another port, the same for all ranks",
        lastPort);
  if (reader.find("TESSERA_START_TIMEOUT"))
    meeting.seconds = reader.number("TESSERA_START_TIMEOUT", first, 1, longestStart);
  auto also = [&](const char *name) {
    const char *value = reader.find(name);
    meeting.job += fmt::format("{}={}\n", name, value ? value : "");
  };
  if (isTorchrun) also("TORCHELASTIC_RUN_ID");
  if (!isTorchrun) also("SLURM_JOB_ID");
  if (!isTorchrun) also("SLURM_STEP_ID");
  also("TESSERA_SECRET");
  return meeting;
}

static RankLaunch readLaunch(const LauncherVariables &names, const EnvironmentReader &variable) {
  LaunchReader reader(variable, names.name);
  const char *first = names.rank;
  for (const char *name : {names.size, names.rank})
    if (reader.find(name)) first = name;
  RankLaunch launch;
  launch.launcher = names.launcher;
  launch.size = reader.number(names.size, first, 1, mostRanks);
  launch.rank = reader.number(names.rank, first, 0, launch.size - 1);
  if (launch.size == 1) return launch; // the rest is for several
  launch.localRank = reader.number(names.localRank, first, 0, launch.size - 1);
  if (names.launcher == RankLauncher::Srun) {
    int node = reader.number("SLURM_NODEID", first, 0, launch.size - 1);
    launch.localSize = tasksOnNode(names.localSize, reader.get(names.localSize, first), node);
  } else {
    launch.localSize = reader.number(names.localSize, first, 1, launch.size);
  }
  if (launch.localRank >= launch.localSize || launch.localRank > launch.rank || launch.localSize > launch.size)
    failUsage("{}={} contradicts {}={}, {}={} and {}={}; start all ranks with one {}", names.localRank,
              launch.localRank, names.localSize, reader.get(names.localSize, first), names.rank, launch.rank,
              names.size, launch.size, names.name);
  launch.connection = connectionOf(names.launcher, reader);
  if (launch.connection == RankConnection::Tcp) launch.meeting = readMeeting(names.launcher, reader, first);
  return launch;
}

static void requireEqual(const LauncherVariables &a, const RankLaunch &left, const LauncherVariables &b,
                         const RankLaunch &right) {
  if (left.rank != right.rank || left.size != right.size)
    failUsage("{}={} and {}={} contradict {}={} and {}={}; start the ranks with {} or with {}, and unset the variables "
              "of the other",
              a.rank, left.rank, a.size, left.size, b.rank, right.rank, b.size, right.size, a.name, b.name);
}

RankLaunch findRankLaunch(const EnvironmentReader &variable) {
  LaunchReader reader(variable, "");
  bool hasMpirun = reader.find(mpirun.rank) || reader.find(mpirun.size);
  bool hasTorchrun = reader.find(torchrun.rank) || reader.find(torchrun.size);
  // The script of a batch job has SLURM_PROCID too; only a step has its number of tasks.
  bool hasSrun = reader.find(srun.size);
  if (hasMpirun) {
    RankLaunch launch = readLaunch(mpirun, variable);
    if (hasTorchrun) requireEqual(mpirun, launch, torchrun, readLaunch(torchrun, variable));
    return launch;
  }
  if (hasTorchrun) {
    RankLaunch launch = readLaunch(torchrun, variable);
    // Slurm may start one torchrun on each host, or the ranks themselves.
    if (hasSrun)
      if (RankLaunch step = readLaunch(srun, variable); step.size == launch.size && step.size > 1)
        requireEqual(srun, step, torchrun, launch);
    return launch;
  }
  if (hasSrun) return readLaunch(srun, variable);
  if (const char *size = reader.find(mpichSize); size && strcmp(size, "1") != 0)
    failUsage("PMI_SIZE={} is from the mpirun of MPICH or Intel MPI: start the program with Open MPI's mpirun, or with "
              "srun",
              size);
  return {};
}

RankLaunch findRankLaunch() {
  return findRankLaunch([](const char *name) -> const char * { return getenv(name); });
}

std::vector<std::string> environmentOfOneRank() {
  std::vector<std::string> variables;
  for (char **entry = environ; *entry; ++entry) {
    std::string_view name = *entry;
    name = name.substr(0, name.find('='));
    auto tells = [&](const LauncherVariables &launcher) {
      return name == launcher.rank || name == launcher.size || name == launcher.localRank || name == launcher.localSize;
    };
    if (!tells(mpirun) && !tells(srun) && !tells(torchrun) && name != mpichSize) variables.emplace_back(*entry);
  }
  return variables;
}

/// "mpirun", "srun, TCP".
static std::string nameOf(const RankLaunch &launch) {
  bool isMpirun = launch.launcher == RankLauncher::Mpirun, isSrun = launch.launcher == RankLauncher::Srun;
  std::string name = isMpirun ? mpirun.name : isSrun ? srun.name : torchrun.name;
  if (isSrun && launch.connection == RankConnection::Mpi) name += ", MPI";
  if (isSrun && launch.connection == RankConnection::Tcp) name += ", TCP";
  return name;
}

std::string RankLaunch::describe() const {
  if (size == 1) return "one rank";
  std::string where = localSize == size ? "all on this host" : fmt::format("{} on this host", localSize);
  return fmt::format("rank {} of {}, {} ({})", rank, size, where, nameOf(*this));
}

std::string RankLaunch::describeAll() const {
  return size == 1 ? "one rank" : fmt::format("{} ranks ({})", size, nameOf(*this));
}

} // namespace tessera::runtime
