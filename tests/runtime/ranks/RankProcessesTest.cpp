// Ranks as processes, started by mpirun and in the way of torchrun: what arrives, and how ranks that are lost end the
// job.

#include "tests/runtime/ranks/RankProcesses.h"

#include <csignal>

using namespace tessera::tests;
using testing::HasSubstr;

namespace {

class EachStart : public RankProcesses, public testing::WithParamInterface<StartedBy> {
protected:
  JobOutcome run(int ranks, const std::string &arguments) { return RankProcesses::run(GetParam(), ranks, arguments); }
  JobOutcome runAndDisturb(int timeout, const std::string &action) {
    return RankProcesses::runAndDisturb(GetParam(), timeout, action);
  }
};
class EachStartAndSize : public RankProcesses, public testing::WithParamInterface<std::tuple<StartedBy, int>> {
protected:
  int ranks() const { return std::get<int>(GetParam()); }
  JobOutcome run(const std::string &arguments) {
    return RankProcesses::run(std::get<StartedBy>(GetParam()), ranks(), arguments);
  }
};

std::string nameOf(StartedBy launcher) { return launcher == StartedBy::Mpirun ? "Mpirun" : "Torchrun"; }
const auto launchers = testing::Values(StartedBy::Mpirun, StartedBy::Torchrun);
INSTANTIATE_TEST_SUITE_P(Ranks, EachStart, launchers, [](const auto &info) { return nameOf(info.param); });
std::string nameWithSize(const testing::TestParamInfo<std::tuple<StartedBy, int>> &info) {
  return fmt::format("{}{}", nameOf(std::get<0>(info.param)), std::get<1>(info.param));
}
INSTANTIATE_TEST_SUITE_P(Ranks, EachStartAndSize, testing::Combine(launchers, testing::Values(1, 2, 3, 4, 8)),
                         nameWithSize);

//===----------------------------------------------------------------------===//
// What arrives
//===----------------------------------------------------------------------===//

TEST_P(EachStartAndSize, ContentsArrive) { expectLines(run("contents 1073741824"), ranks(), "rank {}: equal"); }

TEST_P(EachStartAndSize, StepsAllocateNothing) { expectLines(run("steps"), ranks(), "rank {}: no memory"); }

TEST_P(EachStartAndSize, AgreeOnFlagsAndErrors) {
  JobOutcome outcome = run("agree");
  for (int rank = 0; rank < ranks(); ++rank)
    EXPECT_THAT(outcome.output, HasSubstr(fmt::format("rank {}: signal {} of rank {}\n", rank, SIGTERM, ranks() - 1)));
  if (ranks() == 1) return;
  EXPECT_EQ(outcome.status, 3);
  const char *expected = "rank 1: the disk is full\n";
  size_t first = outcome.errors.find(expected);
  ASSERT_NE(first, std::string::npos) << outcome.errors;
  EXPECT_EQ(outcome.errors.find(expected, first + 1), std::string::npos) << "only rank 0 prints it";
}

TEST_P(EachStart, GroupsAlongTheAxesOfAMesh) {
  for (const char *mesh : {"data=4", "data=2,tensor=2", "a=1,b=2,c=2"})
    expectLines(run(4, fmt::format("groups {}", mesh)), 4, "rank {}: equal");
  expectLines(run(8, "groups a=2,b=2,c=2"), 8, "rank {}: equal");
  expectLines(run(6, "groups data=3,tensor=2"), 6, "rank {}: equal");
  expectLines(run(1, "groups data=1"), 1, "rank {}: equal");
}

TEST_P(EachStart, MessagesOfMoreThanTwoToThe31Bytes) {
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

TEST_P(EachStart, RanksDivideTheMachine) {
  JobOutcome outcome = run(4, "share");
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  int threads = std::stoi(outcome.output.substr(outcome.output.find(": ") + 2));
  expectLines(outcome, 4, "rank {}: " + fmt::format("{0} threads of {0}, 250 bytes", threads));
}

//===----------------------------------------------------------------------===//
// Ranks that are lost
//===----------------------------------------------------------------------===//

TEST_P(EachStart, AllRanksEndInOrder) {
  JobOutcome outcome = runAndDisturb(5000, "touch end");
  expectLines(outcome, 4, "rank {}: ended in order");
  EXPECT_EQ(outcome.errors, "");
  EXPECT_THAT(outcome.output, testing::Not(HasSubstr("left over")));
}

TEST_P(EachStart, AStoppedRankIsNamedAndEndsTheJob) {
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

TEST_P(EachStart, AKilledRankIsNamedByAllOthers) {
  JobOutcome outcome = runAndDisturb(30'000, "kill -KILL $p");
  EXPECT_EQ(outcome.status, 128 + SIGKILL); // mpirun's own
  for (int rank : {0, 1, 3})
    EXPECT_TRUE(contains(outcome.errors, about2(rank, ") has died; this rank is "))) << outcome.errors;
  EXPECT_THAT(outcome.output, testing::Not(HasSubstr("left over")));
  EXPECT_LT(secondsToTheEnd(), 5);
}

TEST_P(EachStart, AJobThatWasStoppedAsAWholeResumes) {
  JobOutcome outcome = runAndDisturb(1000, "kill -STOP $(cat rank-0 rank-1 rank-2 rank-3)\nsleep 4\n"
                                           "kill -CONT $(cat rank-0 rank-1 rank-2 rank-3)\nsleep 1\ntouch end");
  expectLines(outcome, 4, "rank {}: ended in order");
  EXPECT_EQ(outcome.errors, "");
}

TEST_P(EachStart, ARankThatDoesNotComeIsNamed) {
  JobOutcome outcome = run(3, "hang 1000");
  EXPECT_EQ(outcome.status, 4);
  EXPECT_THAT(outcome.errors, HasSubstr("has not come to collective 2, 'second', within 1.0 s (--rank-timeout): it is "
                                        "after collective 1, 'first', for "));
  EXPECT_LT(outcome.seconds, 1 + 10);
}

TEST_P(EachStart, AnErrorOfOneRankEndsTheOthers) {
  JobOutcome outcome = run(3, "fail");
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.errors, HasSubstr("error on rank 1: out of luck\n"));
  EXPECT_EQ(run(3, "abandon").status, 3);
}

} // namespace
