// Ranks as processes: what arrives, how ranks that are lost end the job, and what is said without Open MPI.

#include "runtime/ranks/RankShare.h"
#include "tests/runtime/TemporaryFolder.h"
#include "tests/runtime/ranks/ThreadRanks.h"

#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <sys/wait.h>

using namespace tessera::tests;
using testing::HasSubstr;

namespace {

struct JobOutcome {
  int status = -1;
  std::string output, errors;
  double seconds = 0;
};

class Mpirun : public testing::Test {
protected:
  /// Runs a shell script in the folder.
  JobOutcome runScript(const std::string &script) {
    folder.write("script.sh", "cd " + folder.path + "\n" + script);
    auto start = std::chrono::steady_clock::now();
    int status = std::system(fmt::format("bash {0}/script.sh > {0}/out 2> {0}/err", folder.path).c_str());
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, readFile(folder / "out"), readFile(folder / "err"),
            seconds.count()};
  }

  /// The command that starts ranks. The variables are for sanitizers, which would report what Open MPI does.
  static std::string command(int ranks, const std::string &arguments) {
    return fmt::format("LSAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=detect_deadlocks=0:ignore_noninstrumented_modules=1 "
                       "timeout -k 5 100 mpirun --allow-run-as-root --oversubscribe -n {} {} {}",
                       ranks, TESSERA_RANKS_PROGRAM, arguments);
  }
  JobOutcome run(int ranks, const std::string &arguments) { return runScript("exec env " + command(ranks, arguments)); }

  /// Each rank prints `line`, in which {} is its number.
  static void expectLines(const JobOutcome &outcome, int ranks, const std::string &line) {
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_THAT(outcome.output, HasSubstr(fmt::format(fmt::runtime(line), rank) + "\n"));
  }

  /// Four ranks exchange bytes; `action` is for rank 2, whose process is $p. Processes that are left over are added to
  /// the output; those that only their parent has not asked for yet have no command line.
  JobOutcome runAndDisturb(int timeout, const std::string &action) {
    std::string wait = "for i in $(seq 1000); do sleep 0.03; [ -e rank-0 -a -e rank-1 -a -e rank-2 -a -e rank-3 ] && "
                       "break; done\np=$(cat rank-2)\n";
    std::string left = "for i in $(seq 100); do left=; for r in 0 1 2 3; do grep -qs . /proc/$(cat rank-$r)/cmdline && "
                       "left=\"$left rank $r is left over\"; done; [ -z \"$left\" ] && break; sleep 0.03; done\n"
                       "echo \"$left\"\n";
    return runScript(fmt::format("env {} &\n", command(4, fmt::format("exchange {} .", timeout))) + wait +
                     "date +%s.%N > since\n" + action + "\nwait $!\nstatus=$?\ndate +%s.%N > until\n" + left +
                     "exit $status\n");
  }
  /// Of the job, from the action to its end.
  double secondsToTheEnd() const {
    return std::stod(readFile(folder / "until")) - std::stod(readFile(folder / "since"));
  }

  /// What rank `rank` says of rank 2.
  std::string about2(int rank, const std::string &what) const {
    std::string process = readFile(folder / "rank-2");
    return fmt::format("rank {}: rank 2 of 4 (process {} on ", rank, process.substr(0, process.find('\n'))) + "@" +
           what;
  }
  /// The host's name, which is not known here, is where `text` has an @.
  static bool contains(const std::string &output, const std::string &text) {
    size_t at = text.find('@');
    for (size_t found = 0; (found = output.find(text.substr(0, at), found)) != output.npos; ++found) {
      std::string line = output.substr(found, output.find('\n', found) - found);
      if (line.find(text.substr(at + 1)) != line.npos) return true;
    }
    return false;
  }

  TemporaryFolder folder;
};

//===----------------------------------------------------------------------===//
// What arrives
//===----------------------------------------------------------------------===//

class MpirunRanks : public Mpirun, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, MpirunRanks, testing::Values(1, 2, 3, 4, 8));

TEST_P(MpirunRanks, ContentsArrive) {
  expectLines(run(GetParam(), "contents 1073741824"), GetParam(), "rank {}: equal");
}

TEST_P(MpirunRanks, ContentsArriveInPieces) {
  expectLines(run(GetParam(), "contents 64"), GetParam(), "rank {}: equal");
}

TEST_P(MpirunRanks, StepsAllocateNothing) { expectLines(run(GetParam(), "steps"), GetParam(), "rank {}: no memory"); }

TEST_P(MpirunRanks, AgreeOnFlagsAndErrors) {
  JobOutcome outcome = run(GetParam(), "agree");
  for (int rank = 0; rank < GetParam(); ++rank)
    EXPECT_THAT(outcome.output,
                HasSubstr(fmt::format("rank {}: signal {} of rank {}\n", rank, SIGTERM, GetParam() - 1)));
  if (GetParam() == 1) return;
  EXPECT_EQ(outcome.status, 3);
  const char *expected = "rank 1: the disk is full\n";
  size_t first = outcome.errors.find(expected);
  ASSERT_NE(first, std::string::npos) << outcome.errors;
  EXPECT_EQ(outcome.errors.find(expected, first + 1), std::string::npos) << "only rank 0 prints it";
}

TEST_F(Mpirun, GroupsAlongTheAxesOfAMesh) {
  for (const char *mesh : {"data=4", "data=2,tensor=2", "a=1,b=2,c=2"})
    expectLines(run(4, fmt::format("groups {}", mesh)), 4, "rank {}: equal");
  expectLines(run(8, "groups a=2,b=2,c=2"), 8, "rank {}: equal");
  expectLines(run(6, "groups data=3,tensor=2"), 6, "rank {}: equal");
  expectLines(run(1, "groups data=1"), 1, "rank {}: equal");
}

TEST_F(Mpirun, MessagesOfMoreThanTwoToThe31Bytes) {
  std::ifstream memory("/proc/meminfo");
  std::string line;
  while (std::getline(memory, line) && line.rfind("MemAvailable:", 0) != 0) {
  }
  if (std::stoll(line.substr(13)) < 7'000'000) GTEST_SKIP() << "this machine has less than 7 GB of memory available";
  JobOutcome outcome = run(2, "large 2147483659");
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("rank 0: received 0 bytes\n"));
  EXPECT_THAT(outcome.output, HasSubstr("rank 1: received 4294967318 bytes\n"));
}

TEST_F(Mpirun, SizesThatDifferAreErrors) {
  EXPECT_THAT(run(2, "sizes 12").errors, HasSubstr("error on rank 1: sendReceive 'sizes' on rank 1 of 2 of 'world': "
                                                   "expected 12 bytes from rank 0, got 8\n"));
  JobOutcome shorter = run(2, "sizes 4");
  EXPECT_THAT(shorter.errors, HasSubstr("error on rank 1: sendReceive 'sizes' on rank 1 of 2 of 'world': MPI: "
                                        "MPI_ERR_TRUNCATE: message truncated\n"));
  EXPECT_EQ(shorter.status, 1);
}

TEST_F(Mpirun, RanksDivideTheMachine) {
  JobOutcome outcome = run(4, "share");
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  int threads = std::stoi(outcome.output.substr(outcome.output.find(": ") + 2));
  expectLines(outcome, 4, "rank {}: " + fmt::format("{0} threads of {0}, 250 bytes", threads));
}

TEST_F(Mpirun, ItsOwnBindingIsUndoneUnlessItWasAskedFor) {
  size_t processors = allowedProcessors().size();
  auto share = [&](const std::string &options) {
    return runScript(fmt::format("exec mpirun --allow-run-as-root {} -n 1 {} share", options, TESSERA_RANKS_PROGRAM));
  };
  expectLines(share(""), 1, "rank {}: " + fmt::format("{0} threads of {0}, 1000 bytes", processors));
  expectLines(share("--bind-to hwthread"), 1, "rank {}: 1 threads of 1, 1000 bytes");
}

//===----------------------------------------------------------------------===//
// Which libraries are opened
//===----------------------------------------------------------------------===//

TEST_F(Mpirun, OneRankOpensNoLibrary) {
  std::string alone = fmt::format("exec env TESSERA_MPI=/nowhere {} describe", TESSERA_RANKS_PROGRAM);
  EXPECT_EQ(runScript(alone).output, "one rank; without libmpi \n");
  EXPECT_EQ(run(1, "describe").output, "one rank; without libmpi \n");
  JobOutcome two = run(2, "describe");
  EXPECT_THAT(two.output, HasSubstr("rank 0 of 2, all on this host (mpirun); with libmpi, Open MPI\n")) << two.errors;
  EXPECT_THAT(two.output, HasSubstr("rank 1 of 2, all on this host (mpirun); with libmpi, Open MPI\n"));
}

/// The variables of mpirun for one of two ranks, without mpirun.
constexpr const char *asMpirun = "export OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 "
                                 "OMPI_COMM_WORLD_LOCAL_SIZE=2\n";

TEST_F(Mpirun, WithoutTheLibraryItSaysWhatToInstall) {
  JobOutcome outcome =
      runScript(fmt::format("{}TESSERA_MPI={} {} describe", asMpirun, folder.path, TESSERA_RANKS_PROGRAM));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(
      outcome.errors,
      fmt::format("error on rank 0: cannot open {0}/libmpi.so.40: {0}/libmpi.so.40: cannot open shared object file: "
                  "No such file or directory; install Open MPI 4 (on Debian the packages openmpi-bin, with its "
                  "mpirun, and libopenmpi3), or unset TESSERA_MPI\n",
                  folder.path));
}

TEST_F(Mpirun, RefusesMpich) {
  std::filesystem::create_symlink(TESSERA_FAKE_MPICH, folder / "libmpi.so.40");
  JobOutcome outcome =
      runScript(fmt::format("{}TESSERA_MPI={} {} describe", asMpirun, folder.path, TESSERA_RANKS_PROGRAM));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.errors,
            fmt::format("error on rank 0: {}/libmpi.so.40 has no ompi_mpi_comm_world: expected Open MPI 4, got MPICH "
                        "Version: 4.0.2; install Open MPI 4 (on Debian the packages openmpi-bin, with its mpirun, and "
                        "libopenmpi3)\n",
                        folder.path));
}

TEST_F(Mpirun, RefusesAnotherCountOfRanks) {
  // To the library, a process that it did not start is the only rank.
  JobOutcome outcome = runScript(fmt::format("{}{} describe", asMpirun, TESSERA_RANKS_PROGRAM));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.errors,
              testing::StartsWith("error on rank 0: mpirun or srun started rank 0 of 2, but to Open MPI v"));
  EXPECT_THAT(outcome.errors, HasSubstr(" it is rank 0 of 1: use the mpirun of that library, or srun --mpi=pmix\n"));
}

TEST_F(Mpirun, RefusesSrunThatDoesNotConnectRanks) {
  JobOutcome outcome =
      runScript(fmt::format("export SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=1 SLURM_NODEID=0 "
                            "SLURM_STEP_TASKS_PER_NODE=2\n{} describe",
                            TESSERA_RANKS_PROGRAM));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.errors,
            "error on rank 1: SLURM_STEP_NUM_TASKS=2: srun did not provide what connects these ranks; "
            "start the program with srun --mpi=pmix (srun --mpi=list says whether it is there), or with "
            "mpirun in the job\n");
}

TEST_F(Mpirun, RefusesTorchrunOnProcessors) {
  JobOutcome outcome = runScript(fmt::format("export RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 "
                                             "MASTER_ADDR=localhost MASTER_PORT=29500\n{} describe",
                                             TESSERA_RANKS_PROGRAM));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.errors,
            "error on rank 0: WORLD_SIZE=2: torchrun's variables alone do not connect ranks on processors; start the "
            "program with Open MPI's mpirun, or with srun --mpi=pmix\n");
}

//===----------------------------------------------------------------------===//
// Ranks that are lost
//===----------------------------------------------------------------------===//

TEST_F(Mpirun, AllRanksEndInOrder) {
  JobOutcome outcome = runAndDisturb(5000, "touch end");
  expectLines(outcome, 4, "rank {}: ended in order");
  EXPECT_EQ(outcome.errors, "");
  EXPECT_THAT(outcome.output, testing::Not(HasSubstr("left over")));
}

TEST_F(Mpirun, AStoppedRankIsNamedAndEndsTheJob) {
  JobOutcome outcome = runAndDisturb(1000, "kill -STOP $p");
  EXPECT_EQ(outcome.status, 4);
  for (int rank : {0, 1, 3}) {
    EXPECT_TRUE(contains(outcome.errors, about2(rank, ") does not answer; this rank is in collective ")))
        << outcome.errors;
  }
  EXPECT_THAT(outcome.errors, HasSubstr(", 'gradients', for "));
  EXPECT_THAT(outcome.output, testing::Not(HasSubstr("left over")));
  EXPECT_LT(secondsToTheEnd(), 1 + 10);
}

TEST_F(Mpirun, AKilledRankIsNamedByAllOthers) {
  JobOutcome outcome = runAndDisturb(30'000, "kill -KILL $p");
  EXPECT_EQ(outcome.status, 128 + SIGKILL); // mpirun's own
  for (int rank : {0, 1, 3})
    EXPECT_TRUE(contains(outcome.errors, about2(rank, ") has died; this rank is "))) << outcome.errors;
  EXPECT_THAT(outcome.output, testing::Not(HasSubstr("left over")));
  EXPECT_LT(secondsToTheEnd(), 5);
}

TEST_F(Mpirun, AJobThatWasStoppedAsAWholeResumes) {
  JobOutcome outcome = runAndDisturb(1000, "kill -STOP $(cat rank-0 rank-1 rank-2 rank-3)\nsleep 4\n"
                                           "kill -CONT $(cat rank-0 rank-1 rank-2 rank-3)\nsleep 1\ntouch end");
  expectLines(outcome, 4, "rank {}: ended in order");
  EXPECT_EQ(outcome.errors, "");
}

TEST_F(Mpirun, ARankThatDoesNotComeIsNamed) {
  JobOutcome outcome = run(3, "hang 1000");
  EXPECT_EQ(outcome.status, 4);
  EXPECT_THAT(outcome.errors, HasSubstr("has not come to collective 2, 'second', within 1.0 s (--rank-timeout): it is "
                                        "after collective 1, 'first', for "));
  EXPECT_LT(outcome.seconds, 1 + 10);
}

TEST_F(Mpirun, AnErrorOfOneRankEndsTheOthers) {
  JobOutcome outcome = run(3, "fail");
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.errors, HasSubstr("error on rank 1: out of luck\n"));
  EXPECT_EQ(run(3, "abandon").status, 3);
}

} // namespace
