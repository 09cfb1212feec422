// What each job launcher says in the environment, and what contradicts itself.

#include "runtime/ranks/RankLaunch.h"
#include "tests/runtime/ranks/ThreadRanks.h"

#include <map>

using namespace tessera::tests;

namespace {

using Variables = std::map<std::string, std::string>;

RankLaunch launchOf(const Variables &variables) {
  return findRankLaunch([&](const char *name) {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string describe(const Variables &variables) {
  return messageOf([&] { throw Error(launchOf(variables).describe()); });
}

const Variables mpirun = {{"OMPI_COMM_WORLD_RANK", "5"},
                          {"OMPI_COMM_WORLD_SIZE", "8"},
                          {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                          {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
const Variables srun = {{"SLURM_PROCID", "5"},
                        {"SLURM_STEP_NUM_TASKS", "8"},
                        {"SLURM_LOCALID", "1"},
                        {"SLURM_NODEID", "2"},
                        {"SLURM_STEP_TASKS_PER_NODE", "2(x2),3,1"}};
const Variables torchrun = {{"RANK", "5"},
                            {"WORLD_SIZE", "8"},
                            {"LOCAL_RANK", "1"},
                            {"LOCAL_WORLD_SIZE", "4"},
                            {"MASTER_PORT", "29500"},
                            {"MASTER_ADDR", "node0"}};

/// `variables` with one changed; without it if `value` is empty.
Variables with(Variables variables, const std::string &name, const std::string &value) {
  variables[name] = value;
  return variables;
}
Variables both(Variables left, const Variables &right) {
  left.insert(right.begin(), right.end());
  return left;
}

TEST(RankLaunchTest, FindsTheLauncher) {
  EXPECT_EQ(describe({}), "one rank");
  EXPECT_EQ(describe(mpirun), "rank 5 of 8, 4 on this host (mpirun)");
  EXPECT_EQ(describe(srun), "rank 5 of 8, 3 on this host (srun)");
  EXPECT_EQ(describe(torchrun), "rank 5 of 8, 4 on this host (torchrun)");
  EXPECT_EQ(describe(with(mpirun, "OMPI_COMM_WORLD_LOCAL_SIZE", "8")), "rank 5 of 8, all on this host (mpirun)");
  EXPECT_EQ(launchOf({}).describeAll(), "one rank");
  EXPECT_EQ(launchOf(mpirun).describeAll(), "8 ranks (mpirun)");
  RankLaunch launch = launchOf(torchrun);
  EXPECT_EQ(launch.localRank, 1);
}

TEST(RankLaunchTest, SaysWhatConnectsTheRanks) {
  EXPECT_EQ(launchOf(mpirun).connection, RankConnection::Mpi);
  EXPECT_EQ(launchOf(torchrun).connection, RankConnection::Tcp);
  EXPECT_EQ(launchOf(srun).connection, RankConnection::None);
  Variables meeting = {{"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ(describe(both(srun, meeting)), "rank 5 of 8, 3 on this host (srun, TCP)");
  for (const char *name : {"PMIX_NAMESPACE", "PMI_FD"}) {
    EXPECT_EQ(describe(both(srun, {{name, "1"}})), "rank 5 of 8, 3 on this host (srun, MPI)");
    EXPECT_EQ(describe(both(both(srun, meeting), {{name, "1"}})), "rank 5 of 8, 3 on this host (srun, MPI)");
  }
}

TEST(RankLaunchTest, RanksMeetAtThePortAfterTorchruns) {
  RankMeeting meeting = launchOf(torchrun).meeting;
  EXPECT_EQ(meeting.address, "node0");
  EXPECT_EQ(meeting.port, 29501);
  EXPECT_EQ(meeting.portName, "MASTER_PORT + 1");
  EXPECT_EQ(meeting.seconds, 60);
  Variables named = both(with(torchrun, "MASTER_PORT", ""), {{"TESSERA_PORT", "7"}, {"TESSERA_START_TIMEOUT", "5"}});
  meeting = launchOf(named).meeting;
  EXPECT_EQ(meeting.port, 7);
  EXPECT_EQ(meeting.portName, "TESSERA_PORT");
  EXPECT_EQ(meeting.seconds, 5);
  EXPECT_EQ(describe(with(torchrun, "MASTER_PORT", "65535")),
            "MASTER_PORT=65535: rank 0 waits for the others at the port after it, and there is none; set TESSERA_PORT "
            "to another port, the same for all ranks");
  EXPECT_EQ(describe(both(srun, {{"MASTER_ADDR", "node0"}})),
            "MASTER_ADDR is set but MASTER_PORT is not: set it to a number, the same for all ranks; rank 0 waits for "
            "the others at the port after it");
  EXPECT_EQ(describe(both(torchrun, {{"TESSERA_START_TIMEOUT", "0"}})),
            "TESSERA_START_TIMEOUT=0: expected a number from 1 to 86400");
}

TEST(RankLaunchTest, TellsRunsApart) {
  Variables meeting = {
      {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}, {"SLURM_JOB_ID", "1"}, {"SLURM_STEP_ID", "0"}};
  std::string ofTorchrun = launchOf(torchrun).meeting.job, ofSrun = launchOf(both(srun, meeting)).meeting.job;
  EXPECT_EQ(launchOf(with(torchrun, "RANK", "4")).meeting.job, ofTorchrun);
  // Each host may be in a job of its own.
  EXPECT_EQ(launchOf(both(torchrun, {{"SLURM_JOB_ID", "2"}})).meeting.job, ofTorchrun);
  for (const char *name : {"TORCHELASTIC_RUN_ID", "TESSERA_SECRET"})
    EXPECT_NE(launchOf(both(torchrun, {{name, "2"}})).meeting.job, ofTorchrun) << name;
  for (const char *name : {"SLURM_JOB_ID", "SLURM_STEP_ID", "TESSERA_SECRET"})
    EXPECT_NE(launchOf(both(srun, with(meeting, name, "2"))).meeting.job, ofSrun) << name;
}

TEST(RankLaunchTest, OneRankOfALauncher) {
  RankLaunch launch = launchOf({{"OMPI_COMM_WORLD_RANK", "0"},
                                {"OMPI_COMM_WORLD_SIZE", "1"},
                                {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}});
  EXPECT_EQ(launch.launcher, RankLauncher::Mpirun);
  EXPECT_EQ(launch.describe(), "one rank");
  // No address is needed for one rank.
  EXPECT_EQ(describe({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "1"}}), "one rank");
}

TEST(RankLaunchTest, ScriptOfABatchJobIsNoStep) {
  EXPECT_EQ(describe({{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_NODEID", "0"}}),
            "one rank");
}

TEST(RankLaunchTest, MpirunMayHaveBeenStartedBySlurm) {
  // On other hosts, its ranks have the variables of its own helper.
  EXPECT_EQ(describe(both(mpirun, with(srun, "SLURM_PROCID", "1"))), "rank 5 of 8, 4 on this host (mpirun)");
  EXPECT_EQ(describe(both(mpirun, torchrun)), "rank 5 of 8, 4 on this host (mpirun)");
  EXPECT_EQ(describe(both(torchrun, srun)), "rank 5 of 8, 4 on this host (torchrun)");
  // One torchrun on each of two hosts.
  Variables step = {{"SLURM_PROCID", "1"},
                    {"SLURM_STEP_NUM_TASKS", "2"},
                    {"SLURM_LOCALID", "0"},
                    {"SLURM_NODEID", "1"},
                    {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"}};
  EXPECT_EQ(describe(both(torchrun, step)), "rank 5 of 8, 4 on this host (torchrun)");
}

TEST(RankLaunchTest, NamesVariablesThatContradict) {
  EXPECT_EQ(
      describe(both(mpirun, with(torchrun, "RANK", "4"))),
      "OMPI_COMM_WORLD_RANK=5 and OMPI_COMM_WORLD_SIZE=8 contradict RANK=4 and WORLD_SIZE=8; start the ranks with "
      "mpirun or with torchrun, and unset the variables of the other");
  EXPECT_EQ(
      describe(both(torchrun, with(srun, "SLURM_PROCID", "6"))),
      "SLURM_PROCID=6 and SLURM_STEP_NUM_TASKS=8 contradict RANK=5 and WORLD_SIZE=8; start the ranks with srun or "
      "with torchrun, and unset the variables of the other");
  EXPECT_EQ(describe(with(mpirun, "OMPI_COMM_WORLD_LOCAL_SIZE", "1")),
            "OMPI_COMM_WORLD_LOCAL_RANK=1 contradicts OMPI_COMM_WORLD_LOCAL_SIZE=1, OMPI_COMM_WORLD_RANK=5 and "
            "OMPI_COMM_WORLD_SIZE=8; start all ranks with one mpirun");
}

TEST(RankLaunchTest, NamesWhatIsMissing) {
  EXPECT_EQ(describe({{"RANK", "0"}}),
            "RANK is set but WORLD_SIZE is not: torchrun sets both; start the program with it, or unset RANK");
  EXPECT_EQ(describe({{"WORLD_SIZE", "4"}}),
            "WORLD_SIZE is set but RANK is not: torchrun sets both; start the program with it, or unset WORLD_SIZE");
  for (const char *name : {"LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
    EXPECT_EQ(
        describe(with(torchrun, name, "")),
        fmt::format("RANK is set but {} is not: torchrun sets both; start the program with it, or unset RANK", name));
  EXPECT_EQ(describe(with(srun, "SLURM_PROCID", "")),
            "SLURM_STEP_NUM_TASKS is set but SLURM_PROCID is not: srun sets both; start the program with it, or unset "
            "SLURM_STEP_NUM_TASKS");
}

TEST(RankLaunchTest, NamesWhatIsNoNumber) {
  EXPECT_EQ(describe(with(mpirun, "OMPI_COMM_WORLD_RANK", "8")),
            "OMPI_COMM_WORLD_RANK=8: expected a number from 0 to 7");
  EXPECT_EQ(describe(with(mpirun, "OMPI_COMM_WORLD_SIZE", "8.5")),
            "OMPI_COMM_WORLD_SIZE=8.5: expected a number from 1 to 1048576");
  EXPECT_EQ(describe(with(torchrun, "MASTER_PORT", "port")), "MASTER_PORT=port: expected a number from 1 to 65535");
  EXPECT_EQ(
      describe(with(srun, "SLURM_STEP_TASKS_PER_NODE", "2(x2")),
      "SLURM_STEP_TASKS_PER_NODE=2(x2: expected the ranks of each host, such as 2(x3),1, with an entry for that of "
      "SLURM_NODEID");
  EXPECT_EQ(describe(with(srun, "SLURM_NODEID", "4")),
            "SLURM_STEP_TASKS_PER_NODE=2(x2),3,1: expected the ranks of each host, such as 2(x3),1, with an entry for "
            "that of SLURM_NODEID");
}

TEST(RankLaunchTest, RefusesTheLauncherOfMpich) {
  EXPECT_EQ(describe({{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}),
            "PMI_SIZE=4 is from the mpirun of MPICH or Intel MPI: start the program with Open MPI's mpirun, or with "
            "srun");
  EXPECT_EQ(describe({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}), "one rank");
  EXPECT_EQ(describe(both(srun, {{"PMI_SIZE", "8"}})), "rank 5 of 8, 3 on this host (srun)");
}

/// What a rank starts alone is no rank.
TEST(RankLaunchTest, TheEnvironmentOfOneRankHasNoLauncher) {
  for (const Variables &variables : {mpirun, srun, torchrun, Variables{{"PMI_SIZE", "4"}}}) {
    for (const auto &[name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    setenv("TESSERA_TEST_VARIABLE", "a=b", 1);
    Variables alone;
    for (const std::string &entry : environmentOfOneRank())
      alone[entry.substr(0, entry.find('='))] = entry.substr(entry.find('=') + 1);
    for (const auto &[name, value] : variables) unsetenv(name.c_str());
    EXPECT_EQ(launchOf(alone).launcher, RankLauncher::None);
    EXPECT_EQ(alone["TESSERA_TEST_VARIABLE"], "a=b");
    EXPECT_TRUE(alone.count("PATH"));
  }
  unsetenv("TESSERA_TEST_VARIABLE");
}

} // namespace
