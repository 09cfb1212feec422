// How ranks of the fake NCCL find and lose each other: ids, GPUs, sizes of messages, ranks that die, stop or never
// come.

#include "tests/runtime/cuda/NcclFixture.h"

#include <gmock/gmock.h>

#include <algorithm>

using namespace tessera;
using namespace tessera::tests;
using testing::HasSubstr, testing::StartsWith;

namespace {

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// Memory of the device, which the tests read and write: it is memory of the process.
class Block {
public:
  Block(const Driver &driver, size_t bytes) : driver(driver), bytes(bytes) {
    driver.check(driver.memAlloc(&address, std::max<size_t>(bytes, 1)), "a block");
  }
  ~Block() { driver.memFree(address); }
  Block(const Block &) = delete;
  char *data() const { return reinterpret_cast<char *>(address); }
  /// Byte i of part `part` of `from`.
  static char byteOf(int from, int part, size_t i) {
    return static_cast<char>(i * 31 + i / 4096 + from * 7 + part * 101);
  }
  void fill(size_t at, size_t count, int from, int part) {
    for (size_t i = 0; i < count; ++i) data()[at + i] = byteOf(from, part, i);
  }
  bool contains(size_t at, size_t count, int from, int part) const {
    for (size_t i = 0; i < count; ++i)
      if (data()[at + i] != byteOf(from, part, i)) return false;
    return true;
  }

  const Driver &driver;
  size_t bytes;
  DevicePointer address = 0;
};

class NcclSizes : public NcclFixture, public testing::WithParamInterface<std::tuple<size_t, RanksAre>> {
protected:
  static constexpr int ranks = 3;
  size_t bytes = std::get<0>(GetParam()); ///< of each rank, or to each rank
  RanksAre kind = std::get<1>(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Bytes, NcclSizes,
                         testing::Combine(testing::Values(0, 4, 40'000'000),
                                          testing::Values(RanksAre::Threads, RanksAre::Processes)));

TEST_P(NcclSizes, AllGather) {
  auto body = [&](Rank &rank) {
    Block from(rank.driver, bytes), to(rank.driver, ranks * bytes);
    from.fill(0, bytes, rank.rank(), 0);
    rank.communicator.allGather("x", from.address, to.address, static_cast<int64_t>(bytes), ElementType::U8,
                                rank.stream);
    rank.driver.check(rank.driver.streamSynchronize(rank.stream), "the stream");
    for (int other = 0; other < ranks; ++other) EXPECT_TRUE(to.contains(other * bytes, bytes, other, 0));
    EXPECT_EQ(rank.communicator.sent(), static_cast<int64_t>((ranks - 1) * bytes));
  };
  EXPECT_EQ(onRanks(ranks, body, kind), Texts(ranks));
}

TEST_P(NcclSizes, AllToAllAsAGroup) {
  auto body = [&](Rank &rank) {
    Block from(rank.driver, ranks * bytes), to(rank.driver, ranks * bytes);
    for (int other = 0; other < ranks; ++other) from.fill(other * bytes, bytes, rank.rank(), other);
    GraphExec graph = record(rank, [&] {
      Communicator::Group group(rank.communicator, "all-to-all");
      for (int other = 0; other < ranks; ++other) {
        auto count = static_cast<int64_t>(bytes);
        rank.communicator.send("x", from.address + other * bytes, count, ElementType::U8, other, rank.stream);
        rank.communicator.receive("x", to.address + other * bytes, count, ElementType::U8, other, rank.stream);
      }
      group.end();
    });
    for (int launch = 0; launch < 2; ++launch) {
      memset(to.data(), 0x55, ranks * bytes);
      rank.driver.check(rank.driver.graphLaunch(graph, rank.stream), "launch");
      rank.driver.check(rank.driver.streamSynchronize(rank.stream), "the stream");
      for (int other = 0; other < ranks; ++other) EXPECT_TRUE(to.contains(other * bytes, bytes, other, rank.rank()));
    }
    rank.driver.graphExecDestroy(graph);
    // What a graph contains counts once. What stays on the rank does not.
    EXPECT_EQ(rank.communicator.sent(), static_cast<int64_t>((ranks - 1) * bytes));
  };
  EXPECT_EQ(onRanks(ranks, body, kind), Texts(ranks));
}

/// Two communicators in one group, in a different order on each rank, with more bytes than a connection holds.
TEST_F(NcclFixture, GroupOnTwoCommunicators) {
  constexpr int64_t count = 4'000'000;
  UniqueId id = Communicator::makeId();
  auto body = [&](Rank &rank) {
    Communicator second(rank.rank(), 2, id);
    Block from(rank.driver, count), to(rank.driver, 2 * count);
    from.fill(0, count, rank.rank(), 0);
    auto swap = [&](Communicator &communicator, int64_t at) {
      int other = 1 - rank.rank();
      communicator.send("x", from.address, count, ElementType::U8, other, rank.stream);
      communicator.receive("x", to.address + at, count, ElementType::U8, other, rank.stream);
    };
    Communicator::Group group(rank.communicator, "both");
    if (rank.rank() == 0) swap(rank.communicator, 0), swap(second, count);
    if (rank.rank() == 1) swap(second, count), swap(rank.communicator, 0);
    group.end();
    for (int64_t at : {int64_t(0), count}) EXPECT_TRUE(to.contains(at, count, 1 - rank.rank(), 0));
  };
  EXPECT_EQ(onRanks(2, body, RanksAre::Processes), Texts(2));
}

//===----------------------------------------------------------------------===//
// Ids and GPUs
//===----------------------------------------------------------------------===//

class NcclStart : public NcclFixture {};

TEST_F(NcclStart, IdsDiffer) {
  UniqueId one = Communicator::makeId(), two = Communicator::makeId();
  EXPECT_NE(memcmp(one.bytes, two.bytes, sizeof one.bytes), 0);
}

TEST_F(NcclStart, IdThatIsUsedTwice) {
  UniqueId id = Communicator::makeId();
  Communicator first(0, 1, id);
  EXPECT_EQ(errorOf([&] { Communicator(0, 1, id); }),
            "cannot connect rank 0 of 1: NCCL: invalid usage: rank 0 has used the id before");
}

TEST_F(NcclStart, IdOfNobody) {
  EXPECT_EQ(errorOf([&] { Communicator(0, 1, UniqueId()); }),
            "cannot connect rank 0 of 1: NCCL: invalid argument: the id is not one of ncclGetUniqueId");
}

TEST_F(NcclStart, RanksThatCountDifferently) {
  UniqueId id = Communicator::makeId();
  auto connect = [&](int rank, int ranks) { return runRank(rank, ranks, id, [](Rank &) {}); };
  std::string error;
  std::thread first([&] { error = connect(0, 2); });
  std::string text = "invalid usage: the id is for 2 ranks or for 3";
  EXPECT_THAT(connect(1, 3), HasSubstr(text));
  first.join();
  EXPECT_THAT(error, HasSubstr(text));
}

TEST_F(NcclStart, RankThatNeverComes) {
  Variable patience("FAKE_NCCL_PATIENCE", "1");
  UniqueId id = Communicator::makeId();
  EXPECT_EQ(errorOf([&] { Communicator(0, 2, id); }),
            "cannot connect rank 0 of 2: NCCL: remote process exited or there was a network error: only 1 of 2 ranks "
            "have arrived at rank 0");
  id = Communicator::makeId();
  EXPECT_THAT(errorOf([&] { Communicator(1, 2, id); }), HasSubstr("only 1 of 2 ranks have arrived at rank 1"));
}

TEST_F(NcclStart, RankThatComesTwice) {
  Variable patience("FAKE_NCCL_PATIENCE", "1");
  UniqueId id = Communicator::makeId();
  Texts errors = onRanks(2, [&](Rank &) { Communicator(0, 2, id); }, RanksAre::Processes);
  EXPECT_THAT(errors, testing::UnorderedElementsAre(
                          HasSubstr("cannot connect rank 0 of 2: NCCL: invalid usage: there is a rank 0 already"),
                          HasSubstr("only 1 of 2 ranks have arrived at rank 0")));
}

/// Two processes on one GPU.
Texts onOneGpu(const std::function<void(int rank)> &prepare) {
  UniqueId id = Communicator::makeId();
  return onRanks(
      2,
      [&](Rank &rank) {
        prepare(rank.rank());
        driverOnGpu(0);
        Communicator second(rank.rank(), 2, id);
        rank.put(rank.from, ElementType::F32, {1});
        second.allReduce("x", rank.from, rank.to, 1, ElementType::F32, ReductionKind::Sum, rank.stream);
        EXPECT_EQ(rank.get(rank.to, ElementType::F32, 1), Values{2});
      },
      RanksAre::Processes);
}

TEST_F(NcclStart, RefusesTwoRanksOnOneGpu) {
  Texts errors = onOneGpu([](int) {});
  for (int rank : {0, 1})
    EXPECT_EQ(errors[rank], fmt::format("cannot connect rank {} of 2: NCCL: invalid usage: Duplicate GPU detected : "
                                        "rank 0 and rank 1 both on CUDA device 0",
                                        rank));
}

TEST_F(NcclStart, OneGpuServesRanksOfDifferentHosts) {
  EXPECT_EQ(onOneGpu([](int rank) { setenv("NCCL_HOSTID", fmt::format("host-{}", rank).c_str(), 1); }), Texts(2));
}

TEST_F(NcclStart, ThereAreAsManyGpusAsTheVariableSays) {
  EXPECT_EQ(errorOf([] { driverOnGpu(3); }), "no error");
  EXPECT_THAT(errorOf([] { driverOnGpu(4); }), StartsWith("a GPU: CUDA_ERROR_INVALID_DEVICE"));
}

//===----------------------------------------------------------------------===//
// Ranks that are lost
//===----------------------------------------------------------------------===//

class NcclLostProcess : public NcclFixture {
protected:
  static constexpr int ranks = 3;
  /// Rank 1 sends itself a signal before the second all-reduce, of 4 MB.
  static RankBody signalBeforeTheSecond(int signal) {
    return [=](Rank &rank) {
      rank.communicator.allReduce("first", rank.from, rank.to, 1, ElementType::F32, ReductionKind::Sum, rank.stream);
      if (rank.rank() == 1) raise(signal);
      Block block(rank.driver, 4'000'000);
      rank.communicator.allReduce("second", block.address, block.address, 1'000'000, ElementType::F32,
                                  ReductionKind::Sum, rank.stream);
      rank.communicator.check();
    };
  }
  static std::string lost(int rank, const std::string &text) {
    return fmt::format("allReduce 'second' on rank {} of 3: NCCL: remote process exited or there was a network error: "
                       "{}",
                       rank, text);
  }
};

TEST_F(NcclLostProcess, KilledRank) {
  RankProcesses processes(ranks, signalBeforeTheSecond(SIGKILL));
  for (int rank : {0, 2}) EXPECT_THAT(processes.wait(rank), StartsWith(lost(rank, "rank 1 has died; rank ")));
  EXPECT_EQ(processes.wait(1), "signal 9");
}

TEST_F(NcclLostProcess, StoppedRank) {
  Variable patience("FAKE_NCCL_PATIENCE", "1");
  RankProcesses processes(ranks, signalBeforeTheSecond(SIGSTOP));
  // Either of the others may be the first that has waited long enough.
  std::string text = " waits without end in ncclAllReduce of 1000000 f32, sum for rank 1";
  for (int rank : {0, 2})
    EXPECT_THAT(processes.wait(rank), testing::AllOf(StartsWith(lost(rank, "rank ")), HasSubstr(text)));
}

TEST_F(NcclLostProcess, StoppedRankThatGoesOn) {
  RankProcesses processes(ranks, signalBeforeTheSecond(SIGSTOP));
  processes.awaitStop(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  processes.kill(1, SIGCONT);
  for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(processes.wait(rank), "");
}

} // namespace
