// What one rank knows, all learn.

#include "runtime/ranks/Agreement.h"
#include "tests/runtime/ranks/ThreadRanks.h"

#include <csignal>

using namespace tessera::tests;

namespace {

void expectValue(const AgreedValue &agreed, int value, int rank) {
  EXPECT_EQ(agreed.value, value);
  EXPECT_EQ(agreed.rank, rank);
}

TEST(AgreementTest, TheLargestValueWins) {
  onRanks(4, [](HostCommunicator &world) {
    Agreement agreement(world);
    if (world.rank() == 1) agreement.set(AgreedFlag::Stop, SIGINT);
    if (world.rank() >= 2) agreement.set(AgreedFlag::Stop, SIGTERM);
    if (world.rank() == 3) agreement.set(AgreedFlag::Save);
    AgreedValues agreed = agreement.agree("flags");
    expectValue(agreed[AgreedFlag::Stop], SIGTERM, 2);
    expectValue(agreed[AgreedFlag::Save], 1, 3);
    expectValue(agreed[AgreedFlag::Diverged], 0, noRank);
    agreed = agreement.agree("the next flags");
    expectValue(agreed[AgreedFlag::Stop], 0, noRank);
    expectValue(agreed[AgreedFlag::Save], 0, noRank);
  });
}

TEST(AgreementTest, TheErrorOfOneRankIsThatOfAll) {
  onRanks(4, [](HostCommunicator &world) {
    Agreement agreement(world);
    if (world.rank() == 2) agreement.setError("cannot write x: no space left", ExitStatus::Fault);
    if (world.rank() == 2) agreement.setError("another one after it", ExitStatus::Diverged);
    if (world.rank() == 3) agreement.setError("rank 3's own", ExitStatus::Fault);
    try {
      agreement.agree("flags");
      ADD_FAILURE() << "expected an error";
    } catch (const RankError &error) {
      EXPECT_STREQ(error.what(), "rank 2: cannot write x: no space left");
      EXPECT_EQ(error.exitStatus(), ExitStatus::Fault);
      EXPECT_EQ(error.rank(), 2);
    }
    expectValue(agreement.agree("afterwards")[AgreedFlag::Error], 0, noRank);
  });
}

TEST(AgreementTest, TheHighestStatusWins) {
  onRanks(3, [](HostCommunicator &world) {
    Agreement agreement(world);
    if (world.rank() == 0) agreement.setError("a fault", ExitStatus::Fault);
    if (world.rank() == 1) agreement.setError(std::string(20'000, 'x'), ExitStatus::Diverged);
    try {
      agreement.agree("flags");
      ADD_FAILURE() << "expected an error";
    } catch (const RankError &error) {
      EXPECT_EQ(error.what(), "rank 1: " + std::string(longestArgument, 'x'));
      EXPECT_EQ(error.exitStatus(), ExitStatus::Diverged);
    }
  });
}

TEST(AgreementTest, TogetherAllRanksSucceedOrFail) {
  onRanks(3, [](HostCommunicator &world) {
    Agreement agreement(world);
    int done = 0;
    agreement.together("first", [&] { done += 1; });
    EXPECT_EQ(messageOf([&] {
                agreement.together("second", [&] {
                  if (world.rank() == 1) failUsage("no such file: {}", "x");
                  done += 1;
                });
              }),
              "rank 1: no such file: x");
    EXPECT_EQ(messageOf([&] {
                agreement.together("third", [&] {
                  if (world.rank() == 2) throw std::bad_alloc();
                });
              }),
              "rank 2: std::bad_alloc");
    EXPECT_EQ(done, world.rank() == 1 ? 1 : 2);
  });
}

TEST(AgreementTest, AnErrorThatAllRanksHaveNamesNone) {
  onRanks(3, [](HostCommunicator &world) {
    Agreement agreement(world);
    try {
      agreement.together("start", [] { fail("no such file: {}", "x"); });
      ADD_FAILURE() << "expected an error";
    } catch (const RankError &error) {
      EXPECT_STREQ(error.what(), "no such file: x");
      EXPECT_EQ(error.rank(), noRank);
    }
    EXPECT_EQ(messageOf([&] { agreement.together("start", [&] { fail("no file {}", world.rank()); }); }),
              "rank 0: no file 0");
  });
}

TEST(AgreementTest, OneRankThrowsItsErrorAsItIs) {
  OneRank world;
  Agreement agreement(world);
  agreement.set(AgreedFlag::Stop, SIGTERM);
  expectValue(agreement.agree("flags")[AgreedFlag::Stop], SIGTERM, 0);
  EXPECT_EQ(messageOf([&] { agreement.together("start", [] { fail("no such file"); }); }), "no such file");
}

} // namespace
