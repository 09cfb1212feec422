// Commands on several ranks, which mpirun starts. The program exchanges nothing: all ranks compute the same, unless
// they are given other rows.

#include "tests/runtime/commands/LauncherFixture.h"

#include <gmock/gmock.h>

#include <csignal>

using namespace tessera::tests;
using testing::HasSubstr, testing::Not;

namespace {

class LauncherRanks : public LauncherFixture {
protected:
  void SetUp() override {
    LauncherFixture::SetUp();
    programWith(
        {{R"("model": "line",)", R"("model": "line", "mesh": [{"name": "data", "size": 3}], "exchanges": [],)"}});
    if (!fs::exists(*shared / "ranks")) fs::rename(*shared / "other", *shared / "ranks");
  }

  static std::string mpirun(int ranks = 3) {
    // hwloc: see RankProcesses.h.
    return fmt::format("HWLOC_HIDE_ERRORS=2 LSAN_OPTIONS=detect_leaks=0 "
                       "TSAN_OPTIONS=detect_deadlocks=0:ignore_noninstrumented_modules=1 "
                       "timeout -k 5 100 mpirun --allow-run-as-root --oversubscribe -n {}",
                       ranks);
  }
  /// A command on ranks; in its arguments $RANK is the number of the rank. Each writes its process into pid-RANK.
  Outcome runRanks(const std::string &arguments, const std::string &after = "", const std::string &program = "ranks") {
    folder.write("rank.sh", fmt::format("RANK=$OMPI_COMM_WORLD_RANK\necho $$ > pid-$RANK\nexec {} {}\n",
                                        *shared / program, arguments));
    folder.write("script.sh", fmt::format("cd {}\nrm -f pid-* out\n{} bash rank.sh > out 2>&1 &\np=$!\n{}\nwait $p\n",
                                          folder.path, mpirun(), after));
    int status = std::system(fmt::format("bash {} > /dev/null 2>&1", folder / "script.sh").c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, readFile(folder / "out")};
  }
  /// An endless run, to which something happens once it steps.
  Outcome runEndless(const std::string &script, const std::string &options = "") {
    return runRanks("train --checkpoint-dir a --steps 2000000000 --set evaluate.every=0 " + options,
                    "for i in $(seq 1000); do sleep 0.01; grep -q '^step [0-9]*/' out && break; done\n" + script);
  }
  static size_t countOf(const std::string &text, const std::string &part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
    return count;
  }
  void expectFailure(const Outcome &outcome, int status, const std::string &line) {
    EXPECT_EQ(outcome.status, status) << outcome.output;
    EXPECT_EQ(countOf(outcome.output, "error: "), 1u) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(line));
  }
};

TEST_F(LauncherRanks, TrainWhatOneRankTrains) {
  EXPECT_EQ(run("train --checkpoint-dir one").status, 0);
  Outcome outcome = runRanks("train --checkpoint-dir several --check-replicas 7 --metrics metrics");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  expectEqualCheckpoints("one", "several", 40);
  EXPECT_EQ(countOf(outcome.output, "line: 3 ranks (mpirun), mesh data=3, "), 1u) << outcome.output;
  EXPECT_EQ(countOf(outcome.output, "step 40/40 "), 1u) << outcome.output;
  EXPECT_EQ(countOf(readFile(folder / "metrics"), "\"split\":\"train\""), 40u);
}

TEST_F(LauncherRanks, ResumeWhereOneRankStopped) {
  EXPECT_EQ(run("train --checkpoint-dir one").status, 0);
  EXPECT_EQ(run("train --checkpoint-dir a --steps 20").status, 0);
  Outcome outcome = runRanks("train --checkpoint-dir a --steps 30");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("resumed at step 20"));
  EXPECT_EQ(run("train --checkpoint-dir a").status, 0);
  expectEqualCheckpoints("one", "a", 40);
}

TEST_F(LauncherRanks, EvaluatePredictAndGenerateAsOneRankDoes) {
  EXPECT_EQ(run("train").status, 0);
  for (const char *command : {"eval", "generate --length 5"}) {
    Outcome one = run(command), several = runRanks(command);
    EXPECT_EQ(one.status, 0) << one.output;
    EXPECT_EQ(several.status, 0) << several.output;
    EXPECT_EQ(several.output, one.output);
  }
  EXPECT_EQ(runRanks("predict --data line.csv --output several.npy").status, 0);
  EXPECT_EQ(run("predict --data line.csv --output one.npy").status, 0);
  EXPECT_EQ(readFile(folder / "several.npy"), readFile(folder / "one.npy"));
}

TEST_F(LauncherRanks, ASignalToOneRankStopsAll) {
  for (int rank : {0, 2}) {
    Outcome outcome = runEndless(fmt::format("kill -TERM $(cat pid-{})\n", rank));
    EXPECT_EQ(outcome.status, 75) << outcome.output;
    EXPECT_EQ(countOf(outcome.output, "stopped at step "), 1u) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("; run again to resume"));
  }
}

TEST_F(LauncherRanks, ARequestToOneRankSaves) {
  Outcome outcome = runEndless("kill -USR1 $(cat pid-1)\n"
                               "for i in $(seq 1000); do sleep 0.01; grep -q '^saved ' out && break; done\n"
                               "kill -TERM $(cat pid-1)\n",
                               "--set save.every=0");
  EXPECT_EQ(outcome.status, 75) << outcome.output;
  EXPECT_EQ(countOf(outcome.output, "\nsaved "), 2u) << outcome.output; // asked for, and when it stopped
}

TEST_F(LauncherRanks, AnotherNumberOfRanksIsRefused) {
  Outcome alone = run("train", "", "ranks");
  EXPECT_EQ(alone.status, 2);
  EXPECT_EQ(alone.output, "error: one rank: this program is for the 3 ranks of the mesh data=3; start it with mpirun "
                          "-n 3, or compile it without --mesh, for one rank\n");
  Outcome two = run("train", mpirun(2), "ranks");
  expectFailure(
      two, 2,
      "error: 2 ranks (mpirun): this program is for the 3 ranks of the mesh data=3; start it with mpirun -n 3, "
      "or compile it for 2\n");
  Outcome one = run("train", mpirun(2));
  expectFailure(
      one, 2,
      "error: 2 ranks (mpirun): this program is for one rank; start it alone, or compile it for these, as with "
      "--mesh data=2\n");
  EXPECT_FALSE(fs::exists(folder / "line-checkpoints"));
}

TEST_F(LauncherRanks, RanksThatDifferAreRefused) {
  expectFailure(runRanks("train --seed $((RANK / 2))"), 2,
                "error: rank 2: the option --seed is not the same as on rank 0; start all ranks with the same program "
                "and the same options\n");
  expectFailure(runRanks("$([ $RANK = 1 ] && echo eval || echo train)"), 2,
                "error: rank 1: the command is not the same as on rank 0; ");
  folder.write("line-0.csv", csvLines(50)), folder.write("line-1.csv", csvLines(50));
  folder.write("line-2.csv", csvLines(51));
  expectFailure(runRanks("train --data line-$RANK.csv"), 2,
                "error: rank 2: the data 'd' is not the same as on rank 0; all ranks must read files with the same "
                "contents\n");
}

TEST_F(LauncherRanks, AnErrorOfOneRankEndsAllWithItsMessage) {
  folder.write("line-0.csv", csvLines(50)), folder.write("line-1.csv", csvLines(50));
  expectFailure(runRanks("train --data line-$RANK.csv"), 1, "error: rank 2: no data file matches line-2.csv; ");
  folder.write("line-2.csv", csvLines(30) + "1,2,x,4,5\n");
  expectFailure(runRanks("train --data line-$RANK.csv"), 1,
                "error: rank 2: line-2.csv: line 32, column 2 ('c'), byte ");
  // An error that all have names no rank.
  expectFailure(runRanks("train --data nowhere.csv"), 1, "error: no data file matches nowhere.csv; ");
  expectFailure(runRanks("train --set nothing=1"), 2, "error: --set nothing=1: this program has no setting");
}

TEST_F(LauncherRanks, AnErrorBeforeTheRanksMeetIsSaidOnce) {
  expectFailure(runRanks("train --stepps 5"), 2,
                "error: train: unexpected arguments --stepps 5; did you mean --steps?");
  expectFailure(runRanks("train --steps $((RANK - 1))"), 2,
                "error: rank 0: --steps: expected a whole number of at least 0, got -1\n");
  // As one rank alone says it.
  EXPECT_EQ(run("train --steps -1").output, "error: --steps: expected a whole number of at least 0, got -1\n"
                                            "Run with --help for more information.\n");
}

TEST_F(LauncherRanks, InitialValuesThatOneRankCannotComputeAreAnErrorOfAll) {
  std::string input = R"("init": {"inputs": [
        {"name": "data", "role": "rank", "type": "i32", "axes": [], "offset": 1088, "bytes": 4},)";
  programWith({{R"("model": "line",)", R"("model": "line", "mesh": [{"name": "data", "size": 3}], "exchanges": [],)"},
               {R"("init": {"inputs": [)", input}});
  std::string error = "error: rank 2: entry function 'init' failed: contraction 1000: ";
  expectFailure(runRanks("train", "", "other"), 1, error);
  expectFailure(runRanks("eval --checkpoint w", "", "other"), 1, error);
}

TEST_F(LauncherRanks, GenerationMissesAStoppedRank) {
  EXPECT_EQ(run("train").status, 0);
  Outcome outcome = runRanks("generate --length 2000000000 --rank-timeout 1",
                             "for i in $(seq 1000); do sleep 0.01; [ -s out ] && break; done\n"
                             "kill -STOP $(cat pid-1)\n");
  EXPECT_EQ(outcome.status, 4);
  std::string said = outcome.output.substr(std::min(outcome.output.find("rank"), outcome.output.size())); // no tokens
  EXPECT_THAT(said, HasSubstr("rank 1 of 3 (process "));
  EXPECT_THAT(said, HasSubstr("does not answer; this rank is in collective "));
  EXPECT_THAT(said, HasSubstr("'the next token'"));
}

TEST_F(LauncherRanks, ReplicasThatDifferAreNamed) {
  // Each rank reads rows of its own, and nothing is exchanged.
  std::string divided =
      R"("axes": [["batch", 4], ["feature", 3]], "divided": {"batch": {"along": "data", "whole": 12}},)";
  std::string outputs = R"("axes": [["batch", 4], ["output", 2]], "divided": {"batch": {"along": "data", "whole": 12}},
         "of": null,)";
  programWith({{R"("model": "line",)", R"("model": "line", "mesh": [{"name": "data", "size": 3}], "exchanges": [],)"},
               {R"("axes": [["batch", 4], ["feature", 3]],)", divided},
               {R"("axes": [["batch", 4], ["output", 2]],
         "of": null,)",
                outputs}});
  Outcome outcome = runRanks("train --steps 5 --set evaluate.every=0 --check-replicas 3", "", "other");
  expectFailure(outcome, 1,
                "error: states that ranks hold equally differ: w (rank 1 from 0, 2 from 0), w.momentum "
                "(rank 1 from 0, 2 from 0)\n");
}

TEST_F(LauncherRanks, DivergenceIsSaidOnce) {
  writeDiverging();
  Outcome outcome = runRanks("train --checkpoint-dir a");
  EXPECT_EQ(outcome.status, 3) << outcome.output;
  EXPECT_EQ(countOf(outcome.output, "error: "), 1u) << outcome.output;
}

TEST_F(LauncherRanks, AFileIsWrittenByOneProcess) {
  Outcome outcome = runRanks("export w.safetensors");
  expectFailure(outcome, 2,
                "error: 3 ranks (mpirun): one process writes the file; start export without the job launcher\n");
}

TEST_F(LauncherRanks, InfoShowsTheMesh) {
  Outcome outcome = run("info", "", "ranks");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output, HasSubstr("mesh data=3: 3 ranks; state, memory and buffers are those of one rank\n"));
}

} // namespace
