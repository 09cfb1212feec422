// Ranks over TCP: how they meet, who is sent away, and what is said when they do not meet or lose each other. Here
// ranks are threads; `RankProcessesTest.cpp` has them as processes.

#include "runtime/ranks/Tcp.h"
#include "runtime/base/Hash.h"
#include "runtime/ranks/Sockets.h"
#include "tests/runtime/ranks/RankProcesses.h"

#include <netinet/in.h>
#include <optional>
#include <poll.h>

using namespace tessera::tests;
using testing::HasSubstr, testing::StartsWith;

namespace {

int freePort() { return portOf(listenOn(0, 1).get()); }

/// As torchrun starts a rank, on this host.
RankLaunch launchAs(int rank, int size, int port) {
  RankLaunch launch;
  launch.launcher = RankLauncher::Torchrun;
  launch.rank = launch.localRank = rank;
  launch.size = launch.localSize = size;
  launch.connection = RankConnection::Tcp;
  launch.meeting = {"localhost", port, "TESSERA_PORT", 20, "run 1"};
  return launch;
}

/// What became of a rank.
struct Ending {
  std::string text = "no error";
  ExitStatus status = ExitStatus::Done;
};

/// Runs `body` as each rank, and returns how they ended. A null body: the ranks only meet.
std::vector<Ending> endingsOf(const std::vector<RankLaunch> &launches,
                              const std::function<void(HostCommunicator &world)> &body = nullptr) {
  std::vector<Ending> endings(launches.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < launches.size(); ++i)
    threads.emplace_back([&, i] {
      try {
        std::unique_ptr<HostCommunicator> world = openTcp(launches[i]);
        if (body) body(*world);
        world->finish();
      } catch (const Error &error) {
        endings[i] = {error.what(), error.exitStatus()};
      }
    });
  for (std::thread &thread : threads) thread.join();
  return endings;
}
std::vector<RankLaunch> launchesOf(int size, int port) {
  std::vector<RankLaunch> launches;
  for (int rank = 0; rank < size; ++rank) launches.push_back(launchAs(rank, size, port));
  return launches;
}
void expectNoErrors(const std::vector<Ending> &endings) {
  for (const Ending &ending : endings) EXPECT_EQ(ending.text, "no error");
}
void expectUsageErrors(const std::vector<Ending> &endings, const testing::Matcher<const std::string &> &text) {
  for (const Ending &ending : endings) {
    EXPECT_THAT(ending.text, text);
    EXPECT_EQ(ending.status, ExitStatus::Usage) << ending.text;
  }
}

/// Blocks until something listens on the port of this host.
OwnedSocket connectToPort(int port) {
  for (std::string reason;; usleep(1000)) {
    auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    OwnedSocket socket = connectTo("127.0.0.1", port, /*isName=*/false, until, reason);
    if (socket.isOpen()) return socket;
  }
}

//===----------------------------------------------------------------------===//
// Meeting
//===----------------------------------------------------------------------===//

TEST(TcpTest, RanksMeetInAnyOrder) {
  std::vector<RankLaunch> launches = launchesOf(5, freePort());
  std::reverse(launches.begin(), launches.end());
  expectNoErrors(endingsOf(launches, [](HostCommunicator &world) {
    std::vector<int> ranks(world.size());
    int own = world.rank();
    world.allGather("ranks", &own, ranks.data(), sizeof(int));
    EXPECT_EQ(ranks, std::vector({0, 1, 2, 3, 4}));
  }));
}

TEST(TcpTest, ManyRanksMeet) {
  expectNoErrors(endingsOf(launchesOf(24, freePort()), [](HostCommunicator &world) { world.barrier("all"); }));
}

TEST(TcpTest, StrangersDoNotStopTheStart) {
  int port = freePort();
  std::vector<OwnedSocket> strangers;
  std::thread stranger([&] {
    auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    for (std::string text : {"", "GET / HTTP/1.0\r\n\r\n", "tsr-rank", "tsr-ran"}) {
      strangers.push_back(connectToPort(port));
      sendAll(strangers.back().get(), text.data(), text.size(), until);
    }
    // One that is gone at once, and the bytes of a rank of another run.
    connectToPort(port);
    RankLaunch other = launchAs(1, 2, port);
    other.meeting.job = "run 2";
    EXPECT_EQ(messageOf([&] { openTcp(other); }),
              "rank 0 at this address belongs to another run, which has another TORCHELASTIC_RUN_ID, SLURM_JOB_ID, "
              "SLURM_STEP_ID or TESSERA_SECRET; give each run its own MASTER_PORT");
  });
  std::vector<Ending> first(1);
  std::thread host([&] { first = endingsOf({launchAs(0, 2, port)}); });
  stranger.join();
  auto start = std::chrono::steady_clock::now();
  expectNoErrors(endingsOf({launchAs(1, 2, port)}));
  host.join();
  expectNoErrors(first);
  // They were not waited for.
  EXPECT_LT(std::chrono::steady_clock::now() - start, patience);
}

TEST(TcpTest, MissingRanksAreNamed) {
  int port = freePort();
  std::vector<RankLaunch> launches = launchesOf(5, port);
  for (RankLaunch &launch : launches) launch.meeting.seconds = 1;
  launches.erase(launches.begin() + 4);
  launches.erase(launches.begin() + 1);
  expectUsageErrors(endingsOf(launches),
                    fmt::format("ranks 1, 4 of 5 did not come to rank 0 within 1 s (TESSERA_START_TIMEOUT); start all "
                                "ranks, and allow TCP connections to port {} (TESSERA_PORT) of localhost",
                                port));
}

TEST(TcpTest, RankZeroIsMissing) {
  int port = freePort();
  RankLaunch launch = launchAs(1, 2, port);
  launch.meeting.seconds = 1;
  expectUsageErrors(endingsOf({launch}),
                    fmt::format("rank 1 of 2 does not find rank 0 at localhost (MASTER_ADDR), port {} (TESSERA_PORT), "
                                "within 1 s (TESSERA_START_TIMEOUT): Connection refused; start rank 0 on that host, "
                                "and allow TCP connections to it",
                                port));
  launch.meeting.address = "no-such-host.invalid";
  expectUsageErrors(endingsOf({launch}), StartsWith("rank 1 of 2 does not find rank 0 at no-such-host.invalid "));
}

TEST(TcpTest, AnotherProgramAtThePort) {
  OwnedSocket listener = listenOn(0, 8);
  RankLaunch launch = launchAs(1, 2, portOf(listener.get()));
  launch.meeting.seconds = 1;
  std::thread other([&] {
    auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    for (std::string text(1000, 'x'); waitFor(listener.get(), POLLIN, until);) {
      OwnedSocket guest(accept(listener.get(), nullptr, nullptr));
      sendAll(guest.get(), text.data(), text.size(), until);
    }
  });
  expectUsageErrors(endingsOf({launch}), HasSubstr("another program listens there"));
  expectUsageErrors(endingsOf({launchAs(0, 2, launch.meeting.port)}),
                    fmt::format("rank 0 cannot wait for the other ranks at port {} (TESSERA_PORT): Address already in "
                                "use; set TESSERA_PORT to a free port, the same for all ranks",
                                launch.meeting.port));
  other.join();
}

TEST(TcpTest, RanksThatCountDifferently) {
  int port = freePort();
  std::vector<RankLaunch> launches = {launchAs(0, 4, port), launchAs(1, 4, port), launchAs(2, 3, port)};
  for (RankLaunch &launch : launches) launch.meeting.seconds = 5;
  std::vector<Ending> endings = endingsOf(launches);
  // Rank 1 may come after rank 0 has ended.
  endings.erase(endings.begin() + 1);
  expectUsageErrors(endings,
                    testing::AllOf(StartsWith("rank 2 (process "), HasSubstr("was started as one of 3 ranks, "),
                                   HasSubstr(" as one of 4; start all ranks with the same WORLD_SIZE")));
}

TEST(TcpTest, AnotherVersion) {
  struct {
    char magic[8] = {'t', 's', 'r', '-', 'r', 'a', 'n', 'k'};
    int32_t version = 2, rank = 1;
    uint64_t job = 0;
  } greeting;
  RankLaunch launch = launchAs(0, 2, freePort());
  greeting.job = hashXxh64(launch.meeting.job.data(), launch.meeting.job.size());
  std::thread other([&] {
    OwnedSocket socket = connectToPort(launch.meeting.port);
    sendAll(socket.get(), &greeting, sizeof(greeting), std::chrono::steady_clock::now() + std::chrono::seconds(5));
    waitFor(socket.get(), POLLIN, std::chrono::steady_clock::now() + std::chrono::seconds(5));
  });
  expectUsageErrors(endingsOf({launch}),
                    "rank 1 runs another version of the program; start all ranks with the same one");
  other.join();
}

TEST(TcpTest, TwoProcessesWithOneRank) {
  int port = freePort();
  std::vector<RankLaunch> launches = {launchAs(0, 3, port), launchAs(1, 3, port), launchAs(1, 3, port)};
  expectUsageErrors(endingsOf(launches),
                    testing::AllOf(StartsWith("two processes were started as rank 1 of 3: process "),
                                   HasSubstr("; each needs its own RANK")));
}

//===----------------------------------------------------------------------===//
// After the start
//===----------------------------------------------------------------------===//

TEST(TcpTest, ALostConnectionNamesTheCollectiveAndTheRank) {
  std::vector<Ending> endings = endingsOf(launchesOf(3, freePort()), [](HostCommunicator &world) {
    world.barrier("all");
    if (world.rank() == 1) fail("out of luck");
    std::vector<char> from(300'000), to(300'000);
    world.allToAll("gradients", from.data(), to.data(), 100'000);
  });
  EXPECT_EQ(endings[1].text, "out of luck");
  for (int rank : {0, 2}) {
    EXPECT_THAT(
        endings[rank].text,
        StartsWith(fmt::format("allToAll 'gradients' on rank {} of 3 of 'world': lost the connection to rank ", rank)));
    EXPECT_EQ(endings[rank].status, ExitStatus::RankLost);
  }
}

TEST(TcpTest, SizesThatDifferAreErrors) {
  for (size_t expected : {4, 12}) {
    std::vector<Ending> endings = endingsOf(launchesOf(2, freePort()), [&](HostCommunicator &world) {
      char data[16] = "";
      if (world.rank() == 0) world.sendReceive("sizes", data, 8, 1, nullptr, 0, noRank);
      if (world.rank() == 1) world.sendReceive("sizes", nullptr, 0, noRank, data, expected, 0);
    });
    EXPECT_EQ(endings[1].text, fmt::format("sendReceive 'sizes' on rank 1 of 2 of 'world': expected {} bytes from rank "
                                           "0, got 8",
                                           expected));
  }
}

TEST(TcpTest, LargeExchangesDoNotBlockEachOther) {
  // Both send more than sockets hold before they receive, in each of two groups.
  expectNoErrors(endingsOf(launchesOf(4, freePort()), [](HostCommunicator &world) {
    constexpr size_t bytes = 20 << 20;
    std::vector<char> from(bytes, static_cast<char>(world.rank())), to(bytes, -1);
    std::unique_ptr<HostCommunicator> pair = world.split("pair", world.rank() / 2, -world.rank());
    for (HostCommunicator *group : {&world, pair.get()}) {
      int other = group->size() - 1 - group->rank();
      group->sendReceive("swap", from.data(), bytes, other, to.data(), bytes, other);
      int expected = group == &world ? 3 - world.rank() : world.rank() ^ 1;
      EXPECT_EQ(std::count(to.begin(), to.end(), static_cast<char>(expected)), static_cast<int64_t>(bytes));
    }
  }));
}

class Torchrun : public RankProcesses {};

TEST_F(Torchrun, OpensNoLibrary) {
  EXPECT_EQ(run(StartedBy::Torchrun, 1, "describe").output, "one rank; without libmpi \n");
  expectLines(run(StartedBy::Torchrun, 2, "describe"), 2, "rank {} of 2, all on this host (torchrun); without libmpi ");
}

TEST_F(Torchrun, ARankThatDiesBeforeTheStartMayComeAgain) {
  std::string script = fmt::format("export WORLD_SIZE=3 LOCAL_WORLD_SIZE=3 MASTER_ADDR=localhost TESSERA_PORT={0}\n"
                                   "RANK=0 LOCAL_RANK=0 {1} describe &\n"
                                   "RANK=1 LOCAL_RANK=1 timeout -s KILL 1 {1} describe\n"
                                   "RANK=1 LOCAL_RANK=1 {1} describe &\n"
                                   "RANK=2 LOCAL_RANK=2 {1} describe && wait\n",
                                   freePort(), TESSERA_RANKS_PROGRAM);
  expectLines(runScript(script), 3, "rank {} of 3, all on this host (torchrun); without libmpi ");
}

TEST_F(Torchrun, AStepOfSlurmIsConnectedInTheSameWay) {
  std::string script = fmt::format("export SLURM_STEP_NUM_TASKS=2 SLURM_NODEID=0 SLURM_STEP_TASKS_PER_NODE=2 "
                                   "SLURM_JOB_ID=7 SLURM_STEP_ID=0 MASTER_ADDR=localhost TESSERA_PORT={0}\n"
                                   "SLURM_PROCID=0 SLURM_LOCALID=0 {1} describe &\n"
                                   "SLURM_PROCID=1 SLURM_LOCALID=1 {1} describe && wait $!\n",
                                   freePort(), TESSERA_RANKS_PROGRAM);
  expectLines(runScript(script), 2, "rank {} of 2, all on this host (srun, TCP); without libmpi ");
}

} // namespace
