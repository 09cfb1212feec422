// Every kind of error of collectives, with its message.

#include "tests/runtime/cuda/NcclFixture.h"

using namespace tessera;
using namespace tessera::tests;

namespace {

class NcclErrors : public NcclFixture {};

/// Errors of several ranks, as threads and as processes.
class NcclRankErrors : public NcclFixture, public testing::WithParamInterface<RanksAre> {
protected:
  Texts runRanks(int ranks, const RankBody &body) { return onRanks(ranks, body, GetParam()); }
  void expectMismatch(const RankBody &body, const std::string &function, const std::string &text);
};
INSTANTIATE_TEST_SUITE_P(As, NcclRankErrors, testing::Values(RanksAre::Threads, RanksAre::Processes));

TEST_P(NcclRankErrors, CheckReportsMismatchInAGraph) {
  Texts errors = runRanks(2, [](Rank &rank) {
    GraphExec graph = record(rank, [&] {
      rank.communicator.allReduce("x", rank.from, rank.to, 4 + rank.rank(), ElementType::F32, ReductionKind::Sum,
                                  rank.stream);
    });
    rank.communicator.check();
    EXPECT_EQ(rank.driver.graphLaunch(graph, rank.stream), 0);
    EXPECT_NE(rank.driver.streamSynchronize(rank.stream), 0);
    rank.driver.graphExecDestroy(graph);
    rank.communicator.check();
  });
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_EQ(errors[rank], fmt::format("communication of rank {} of 2 failed: NCCL: invalid usage: rank "
                                        "0 calls ncclAllReduce of 4 f32, sum, rank 1 ncclAllReduce of 5 f32, sum",
                                        rank));
}

TEST_F(NcclErrors, GraphThatOutlivesTheCommunicator) {
  auto rank = std::make_unique<Rank>(0, 1, Communicator::makeId());
  const Driver &driver = rank->driver;
  GraphExec graph = record(*rank, [&] {
    rank->communicator.allReduce("x", rank->from, rank->to, 4, ElementType::F32, ReductionKind::Sum, rank->stream);
  });
  testing::internal::CaptureStderr();
  rank.reset();
  std::string warning = testing::internal::GetCapturedStderr();
  EXPECT_NE(warning.find("rank 0 of 1 cannot leave its communicator in order: NCCL: invalid usage: a graph contains "
                         "collectives of the communicator: the library would hang\n"),
            std::string::npos)
      << warning;
  driver.graphExecDestroy(graph);
}

/// Creates an id in a new process, which has not opened the library.
[[noreturn]] void makeIdAndExit(const std::string &folder) {
  setenv("TESSERA_NCCL", folder.c_str(), 1);
  fmt::print(stderr, "{}\n", errorOf([] { Communicator::makeId(); }));
  exit(0);
}

TEST(NcclLibrary, Missing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  TemporaryFolder folder;
  EXPECT_EXIT(makeIdAndExit(folder.path), testing::ExitedWithCode(0),
              "^cannot open libnccl.so.2: install NCCL, or name its folder in TESSERA_NCCL\n$");
}

/// Creates a libnccl.so.2 in which `functions` fail.
void compileStub(const TemporaryFolder &folder, const Texts &functions) {
  std::string code = "const char *ncclGetErrorString(int status) { return \"as the stub says\"; }\n";
  for (const std::string &function : functions) code += fmt::format("int {}() {{ return 3; }}\n", function);
  std::string source = folder.write("nccl.c", code);
  std::string command = fmt::format("{} -shared -fPIC -o {}/libnccl.so.2 {}", TESSERA_C_COMPILER, folder.path, source);
  ASSERT_EQ(system(command.c_str()), 0);
}

TEST(NcclLibrary, TooOld) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  TemporaryFolder folder;
  compileStub(folder, {"ncclGetUniqueId"});
  EXPECT_EXIT(makeIdAndExit(folder.path), testing::ExitedWithCode(0),
              "libnccl.so.2 has no function ncclCommInitRank; it is too old for this program\n$");
}

TEST(NcclLibrary, WithoutLastError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  TemporaryFolder folder;
  compileStub(folder, {"ncclGetUniqueId", "ncclCommInitRank", "ncclCommDestroy", "ncclCommAbort",
                       "ncclCommGetAsyncError", "ncclAllReduce", "ncclReduceScatter", "ncclAllGather", "ncclBroadcast",
                       "ncclSend", "ncclRecv", "ncclGroupStart", "ncclGroupEnd"});
  EXPECT_EXIT(makeIdAndExit(folder.path), testing::ExitedWithCode(0),
              "^cannot create an id for a communicator: NCCL: as the stub says\n$");
}

TEST_F(NcclErrors, FailingFunctions) {
  Rank rank(0, 1, Communicator::makeId());
  Communicator &communicator = rank.communicator;
  ElementType type = ElementType::F32;
  auto group = [&] { Communicator::Group(communicator, "x").end(); };
  struct Case {
    std::string function, text;
    std::function<void()> body;
  };
  std::vector<Case> cases = {
      {"ncclGetUniqueId", "cannot create an id for a communicator", [] { Communicator::makeId(); }},
      {"ncclCommInitRank", "cannot connect rank 2 of 3", [] { Communicator(2, 3, UniqueId()); }},
      {"ncclCommGetAsyncError", "communication of rank 0 of 1 failed", [&] { communicator.check(); }},
      {"ncclAllReduce", "allReduce 'x' on rank 0 of 1",
       [&] { communicator.allReduce("x", rank.from, rank.to, 4, type, ReductionKind::Sum, rank.stream); }},
      {"ncclReduceScatter", "reduceScatter 'x' on rank 0 of 1",
       [&] { communicator.reduceScatter("x", rank.from, rank.to, 4, type, ReductionKind::Sum, rank.stream); }},
      {"ncclAllGather", "allGather 'x' on rank 0 of 1",
       [&] { communicator.allGather("x", rank.from, rank.to, 4, type, rank.stream); }},
      {"ncclBroadcast", "broadcast 'x' on rank 0 of 1",
       [&] { communicator.broadcast("x", rank.from, rank.to, 4, type, 0, rank.stream); }},
      {"ncclSend", "send 'x' on rank 0 of 1", [&] { communicator.send("x", rank.from, 4, type, 0, rank.stream); }},
      {"ncclRecv", "receive 'x' on rank 0 of 1", [&] { communicator.receive("x", rank.to, 4, type, 0, rank.stream); }},
      {"ncclGroupStart", "group 'x' on rank 0 of 1", group},
      {"ncclGroupEnd", "group 'x' on rank 0 of 1", group}};
  for (const Case &each : cases) {
    Variable fails("FAKE_NCCL_FAIL", each.function);
    EXPECT_EQ(errorOf(each.body),
              each.text + ": NCCL: unhandled system error: " + each.function + " fails, as FAKE_NCCL_FAIL asks");
  }
  for (const Case &each : cases) // and nothing of that stays
    if (each.text.find("'x'") != std::string::npos && each.function != "ncclSend" && each.function != "ncclRecv")
      EXPECT_EQ(errorOf(each.body), "no error") << each.function;
}

TEST_F(NcclErrors, WrongArguments) {
  EXPECT_EQ(errorOf([] { Communicator(3, 3, Communicator::makeId()); }),
            "cannot connect rank 3 of 3: NCCL: invalid argument: no rank 3");
  Rank rank(0, 1, Communicator::makeId());
  auto reduce = [&](DevicePointer from, DevicePointer to, int64_t count) {
    return errorOf(
        [&] { rank.communicator.allReduce("x", from, to, count, ElementType::BF16, ReductionKind::Max, rank.stream); });
  };
  std::string start = "allReduce 'x' on rank 0 of 1: NCCL: invalid argument: ncclAllReduce of ";
  EXPECT_EQ(reduce(0, rank.to, 4), start + "4 bf16, max: what it reads is not the device's memory");
  EXPECT_EQ(reduce(rank.from + 1, rank.to, 4), start + "4 bf16, max: what it reads is not the device's memory");
  EXPECT_EQ(reduce(rank.from, rank.to, 2049), start + "2049 bf16, max: what it writes is not the device's memory");
  EXPECT_EQ(errorOf([&] { rank.communicator.broadcast("x", rank.from, rank.to, 4, ElementType::F32, 1, rank.stream); }),
            "broadcast 'x' on rank 0 of 1: NCCL: invalid argument: ncclBroadcast of 4 f32 from rank 1: no rank 1");
  rank.communicator.check();
}

/// Runs `body` on three ranks.
void NcclRankErrors::expectMismatch(const RankBody &body, const std::string &function, const std::string &text) {
  testing::internal::CaptureStderr();
  Texts errors = runRanks(3, body);
  std::string warning = testing::internal::GetCapturedStderr();
  // The communicators are stopped, not destroyed.
  EXPECT_EQ(warning.find("cannot leave"), std::string::npos) << warning;
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(errors[rank], fmt::format("{} on rank {} of 3: NCCL: invalid usage: {}", function, rank, text));
}

TEST_P(NcclRankErrors, RanksThatDisagree) {
  expectMismatch(
      [](Rank &rank) {
        rank.communicator.allGather("w", rank.from, rank.to, rank.rank() == 2 ? 5 : 4, ElementType::F32, rank.stream);
      },
      "allGather 'w'", "rank 0 calls ncclAllGather of 4 f32, rank 2 ncclAllGather of 5 f32");
  expectMismatch(
      [](Rank &rank) {
        ElementType type = rank.rank() == 1 ? ElementType::BF16 : ElementType::F32;
        rank.communicator.reduceScatter("w", rank.from, rank.to, 4, type, ReductionKind::Sum, rank.stream);
      },
      "reduceScatter 'w'", "rank 0 calls ncclReduceScatter of 4 f32, sum, rank 1 ncclReduceScatter of 4 bf16, sum");
  expectMismatch(
      [](Rank &rank) {
        ReductionKind reduction = rank.rank() == 1 ? ReductionKind::Average : ReductionKind::Max;
        rank.communicator.allReduce("w", rank.from, rank.to, 4, ElementType::U8, reduction, rank.stream);
      },
      "allReduce 'w'", "rank 0 calls ncclAllReduce of 4 u8, max, rank 1 ncclAllReduce of 4 u8, average");
  expectMismatch(
      [](Rank &rank) {
        rank.communicator.broadcast("w", rank.from, rank.to, 4, ElementType::I32, rank.rank() / 2, rank.stream);
      },
      "broadcast 'w'", "rank 0 calls ncclBroadcast of 4 i32 from rank 0, rank 2 ncclBroadcast of 4 i32 from rank 1");
  expectMismatch(
      [](Rank &rank) {
        Communicator::Group group(rank.communicator, "swap");
        if (rank.rank() == 0) rank.communicator.send("w", rank.from, 4, ElementType::F16, 1, rank.stream);
        if (rank.rank() == 1) rank.communicator.receive("w", rank.to, 3, ElementType::F16, 0, rank.stream);
        if (rank.rank() == 2) rank.communicator.receive("w", rank.to, 3, ElementType::F16, 0, rank.stream);
        group.end();
      },
      "group 'swap'", "rank 0 calls ncclSend of 4 f16 to rank 1, rank 1 ncclRecv of 3 f16 from rank 0");
}

TEST_P(NcclRankErrors, LostRank) {
  Texts errors = runRanks(3, [](Rank &rank) {
    if (rank.rank() == 1) fail("out of data");
    rank.communicator.allReduce("loss", rank.from, rank.to, 1, ElementType::F32, ReductionKind::Sum, rank.stream);
  });
  EXPECT_EQ(errors[1], "out of data");
  for (int rank : {0, 2}) {
    EXPECT_EQ(errors[rank].rfind(fmt::format("allReduce 'loss' on rank {} of 3: NCCL: remote process exited or there "
                                             "was a network error: rank 1 has left",
                                             rank),
                                 0),
              0u)
        << errors[rank];
  }
}

TEST_F(NcclErrors, GroupThatFails) {
  Rank rank(0, 1, Communicator::makeId());
  ElementType type = ElementType::F32;
  rank.put(rank.from, type, valuesOf(type, 0, 4));
  rank.put(rank.to, type, Values(4, 9));
  std::string refused = "allReduce 'y' on rank 0 of 1: NCCL: invalid argument: ncclAllReduce of 4 f32, sum: what it "
                        "reads is not the device's memory";
  auto callBoth = [&](bool mayGoOn) {
    Communicator::Group group(rank.communicator, "both");
    rank.communicator.allReduce("x", rank.from, rank.to, 4, type, ReductionKind::Sum, rank.stream);
    try {
      rank.communicator.allReduce("y", 0, rank.to, 4, type, ReductionKind::Sum, rank.stream);
    } catch (const Error &error) {
      EXPECT_EQ(error.what(), refused);
      if (!mayGoOn) throw;
    }
    group.end();
  };
  EXPECT_EQ(errorOf([&] { callBoth(false); }), refused);
  EXPECT_EQ(errorOf([&] { callBoth(true); }).rfind("group 'both' on rank 0 of 1: NCCL: invalid argument", 0), 0u);
  EXPECT_EQ(rank.get(rank.to, type, 4), Values(4, 9)); // nothing was started
  rank.communicator.allReduce("x", rank.from, rank.to, 4, type, ReductionKind::Sum, rank.stream);
  EXPECT_EQ(rank.get(rank.to, type, 4), valuesOf(type, 0, 4)); // and no group is open
}

} // namespace
