//===- RankProcesses.h - ranks as processes -------------------------------===//

#ifndef TESSERA_TESTS_RUNTIME_RANKS_RANKPROCESSES_H
#define TESSERA_TESTS_RUNTIME_RANKS_RANKPROCESSES_H

#include "tests/runtime/TemporaryFolder.h"
#include "tests/runtime/ranks/ThreadRanks.h"

#include <gmock/gmock.h>

#include <chrono>
#include <sys/wait.h>

namespace tessera::tests {

enum class StartedBy { Mpirun, Torchrun };

struct JobOutcome {
  int status = -1;
  std::string output, errors;
  double seconds = 0;
};

/// Runs `ranks-program` on several ranks.
class RankProcesses : public testing::Test {
protected:
  /// Runs a shell script in the folder.
  JobOutcome runScript(const std::string &script) {
    // Without /sys, as in some containers, Open MPI's hwloc says that it learns nothing of the machine.
    folder.write("script.sh", "cd " + folder.path + "\nexport HWLOC_HIDE_ERRORS=2\n" + script);
    auto start = std::chrono::steady_clock::now();
    int status = std::system(fmt::format("bash {0}/script.sh > {0}/out 2> {0}/err", folder.path).c_str());
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, readFile(folder / "out"), readFile(folder / "err"),
            seconds.count()};
  }

  /// The command that starts ranks. The variables are for sanitizers, which would report what Open MPI does.
  static std::string command(StartedBy launcher, int ranks, const std::string &arguments) {
    std::string start = launcher == StartedBy::Mpirun ? "mpirun --allow-run-as-root --oversubscribe -n"
                                                      : TESSERA_SOURCE_DIR "/tests/runtime/ranks/torchrun.sh";
    return fmt::format("LSAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=detect_deadlocks=0:ignore_noninstrumented_modules=1 "
                       "timeout -k 5 100 {} {} {} {}",
                       start, ranks, TESSERA_RANKS_PROGRAM, arguments);
  }
  JobOutcome run(StartedBy launcher, int ranks, const std::string &arguments) {
    return runScript("exec env " + command(launcher, ranks, arguments));
  }

  /// Each rank prints `line`, in which {} is its number.
  static void expectLines(const JobOutcome &outcome, int ranks, const std::string &line) {
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_THAT(outcome.output, testing::HasSubstr(fmt::format(fmt::runtime(line), rank) + "\n"));
  }

  /// Four ranks exchange bytes; `action` is for rank 2, whose process is $p. Processes that are left over are added to
  /// the output; those that only their parent has not asked for yet have no command line.
  JobOutcome runAndDisturb(StartedBy launcher, int timeout, const std::string &action) {
    std::string wait = "for i in $(seq 1000); do sleep 0.03; [ -e rank-0 -a -e rank-1 -a -e rank-2 -a -e rank-3 ] && "
                       "break; done\np=$(cat rank-2)\n";
    std::string left = "for i in $(seq 100); do left=; for r in 0 1 2 3; do grep -qs . /proc/$(cat rank-$r)/cmdline && "
                       "left=\"$left rank $r is left over\"; done; [ -z \"$left\" ] && break; sleep 0.03; done\n"
                       "echo \"$left\"\n";
    return runScript(fmt::format("env {} &\n", command(launcher, 4, fmt::format("exchange {} .", timeout))) + wait +
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

} // namespace tessera::tests

#endif // TESSERA_TESTS_RUNTIME_RANKS_RANKPROCESSES_H
