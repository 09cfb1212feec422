// What is special about ranks that mpirun starts: pieces of messages, its binding to processors, which libraries are
// opened, and what is said without Open MPI.

#include "runtime/ranks/RankShare.h"
#include "tests/runtime/ranks/RankProcesses.h"

using namespace tessera::tests;
using testing::HasSubstr;

namespace {

class Mpirun : public RankProcesses {
protected:
  JobOutcome run(int ranks, const std::string &arguments) {
    return RankProcesses::run(StartedBy::Mpirun, ranks, arguments);
  }
};

TEST_F(Mpirun, ContentsArriveInPieces) {
  for (int ranks : {1, 2, 3, 4, 8}) expectLines(run(ranks, "contents 64"), ranks, "rank {}: equal");
}

TEST_F(Mpirun, SizesThatDifferAreErrors) {
  EXPECT_THAT(run(2, "sizes 12").errors, HasSubstr("error on rank 1: sendReceive 'sizes' on rank 1 of 2 of 'world': "
                                                   "expected 12 bytes from rank 0, got 8\n"));
  JobOutcome shorter = run(2, "sizes 4");
  EXPECT_THAT(shorter.errors, HasSubstr("error on rank 1: sendReceive 'sizes' on rank 1 of 2 of 'world': MPI: "
                                        "MPI_ERR_TRUNCATE: message truncated\n"));
  EXPECT_EQ(shorter.status, 1);
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
            "set MASTER_ADDR to the host of rank 0 and MASTER_PORT to a free port, or start the program with srun "
            "--mpi=pmix (srun --mpi=list says whether it is there), or with mpirun in the job\n");
}

} // namespace
