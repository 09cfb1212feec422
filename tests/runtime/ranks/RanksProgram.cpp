// What tests run on several ranks: `ranks-program MODE ARGUMENT...`. A rank that finds something wrong says it on
// standard error and exits with status 1.

#include "runtime/machine/StepAllocator.h"
#include "runtime/ranks/Agreement.h"
#include "runtime/ranks/Mesh.h"
#include "runtime/ranks/Mpi.h"
#include "runtime/ranks/RankShare.h"
#include "runtime/ranks/Watchdog.h"
#include "runtime/ranks/World.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <unistd.h>
#include <utility>

using namespace tessera::runtime;

namespace {

using Bytes = std::vector<unsigned char>;

/// Byte `i` of the block that rank `from` has for rank `to`.
unsigned char byteOf(int from, int to, size_t i) { return static_cast<unsigned char>(i * 31 + from * 7 + to * 101); }

void fill(unsigned char *block, size_t bytes, int from, int to) {
  for (size_t i = 0; i < bytes; ++i) block[i] = byteOf(from, to, i);
}

void check(const unsigned char *block, size_t bytes, int from, int to, const char *what) {
  for (size_t i = 0; i < bytes; ++i)
    if (block[i] != byteOf(from, to, i))
      fail("{} of {} bytes: byte {} of the block from rank {}: expected {}, got {}", what, bytes, i, from,
           byteOf(from, to, i), block[i]);
}

void exchangeAll(HostCommunicator &group, size_t bytes) {
  constexpr int everyone = 50;
  int rank = group.rank(), size = group.size();
  Bytes from(size * bytes + 1), to(size * bytes + 1, 0xee);
  int64_t begun = group.traffic().sent;
  auto requireSent = [&](int exchanges, const char *what) {
    int64_t expected = exchanges * (size - 1) * static_cast<int64_t>(bytes), sent = group.traffic().sent - begun;
    if (sent != expected) fail("{} of {} bytes: sent {} to other ranks, expected {}", what, bytes, sent, expected);
  };
  for (int other = 0; other < size; ++other) fill(&from[other * bytes], bytes, rank, other);
  group.allToAll("all-to-all", from.data(), to.data(), bytes);
  for (int other = 0; other < size; ++other) check(&to[other * bytes], bytes, other, rank, "all-to-all");
  requireSent(1, "all-to-all");

  fill(from.data(), bytes, rank, everyone);
  group.allGather("all-gather", from.data(), to.data(), bytes);
  for (int other = 0; other < size; ++other) check(&to[other * bytes], bytes, other, everyone, "all-gather");
  std::fill(to.begin(), to.end(), 0xee);
  fill(&to[rank * bytes], bytes, rank, everyone);
  group.allGather("in place", &to[rank * bytes], to.data(), bytes);
  for (int other = 0; other < size; ++other) check(&to[other * bytes], bytes, other, everyone, "all-gather in place");
  requireSent(3, "all-gather");

  for (int root = 0; root < size; ++root) {
    fill(to.data(), bytes, rank, root);
    group.broadcast("broadcast", to.data(), bytes, root);
    check(to.data(), bytes, root, root, "broadcast");
  }

  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  fill(from.data(), bytes, rank, next);
  group.sendReceive("ring", from.data(), bytes, next, to.data(), bytes, before);
  check(to.data(), bytes, before, rank, "ring");

  // A line, with another size on each edge: the ends have one neighbour.
  auto bytesTo = [&](int receiver) { return std::max<size_t>(bytes, 1) * receiver / size; };
  fill(from.data(), bytesTo(rank + 1 == size ? 0 : rank + 1), rank, rank + 1);
  group.sendReceive("line", from.data(), bytesTo(rank + 1 == size ? 0 : rank + 1), rank + 1 == size ? noRank : rank + 1,
                    to.data(), bytesTo(rank), rank == 0 ? noRank : rank - 1);
  check(to.data(), rank == 0 ? 0 : bytesTo(rank), rank - 1, rank, "line");
  group.barrier("barrier");
  if (to.back() != 0xee) fail("the byte after the last one was written");
}

int contents(HostCommunicator &world) {
  for (size_t bytes : {0, 1, 7, 63, 64, 65, 1000, 100'003}) exchangeAll(world, bytes);
  fmt::print("rank {}: equal\n", world.rank());
  return 0;
}

int groups(HostCommunicator &world, const Mesh &mesh) {
  std::vector<std::unique_ptr<HostCommunicator>> parts = splitAlongAxes(world, mesh);
  for (size_t axis = 0; axis < parts.size(); ++axis) {
    HostCommunicator &part = *parts[axis];
    std::vector<int> ranks(part.size());
    int own = world.rank();
    part.allGather("ranks", &own, ranks.data(), sizeof(int));
    if (ranks != mesh.ranksAlong(axis, own) || part.name() != mesh.axes()[axis].name)
      fail("rank {} is with other ranks along '{}': {}", own, part.name(), fmt::format("{}", ranks));
    exchangeAll(part, 1000);
  }
  fmt::print("rank {}: equal\n", world.rank());
  return 0;
}

/// Two ranks, with messages of more than 2^31 bytes.
int large(HostCommunicator &world, size_t bytes) {
  Bytes data(bytes);
  if (world.rank() == 0) fill(data.data(), bytes, 0, 1);
  world.sendReceive("large", data.data(), bytes, world.rank() == 0 ? 1 : noRank, data.data(), bytes,
                    world.rank() == 0 ? noRank : 0);
  if (world.rank() == 1) check(data.data(), bytes, 0, 1, "sendReceive");
  if (world.rank() == 1) std::fill(data.begin(), data.end(), 0);
  world.broadcast("large", data.data(), bytes, 0);
  if (world.rank() == 1) check(data.data(), bytes, 0, 1, "broadcast");
  fmt::print("rank {}: received {} bytes\n", world.rank(), world.traffic().received);
  return 0;
}

/// Rank 1 expects `expected` bytes of the 8 that rank 0 sends.
int sizes(HostCommunicator &world, size_t expected) {
  char data[16] = "";
  if (world.rank() == 0) world.sendReceive("sizes", data, 8, 1, nullptr, 0, noRank);
  if (world.rank() == 1) world.sendReceive("sizes", nullptr, 0, noRank, data, expected, 0);
  return 0;
}

/// The rates at which a rank receives from others: GB/s of all-to-alls and all-gathers of so many bytes in all.
int speed(HostCommunicator &world, size_t bytes, int rounds) {
  size_t block = bytes / world.size();
  Bytes from(bytes, 1), to(bytes, 2);
  auto measure = [&](const char *name, const std::function<void()> &move) {
    move();
    world.barrier("start");
    auto start = std::chrono::steady_clock::now(), before = start;
    std::chrono::duration<double> best = std::chrono::hours(1);
    for (int round = 0; round < rounds; ++round) {
      move();
      auto after = std::chrono::steady_clock::now();
      best = std::min<std::chrono::duration<double>>(best, after - std::exchange(before, after));
    }
    world.barrier("end");
    std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    double received = static_cast<double>(block) * (world.size() - 1) * rounds;
    if (world.rank() == 0)
      fmt::print("{} of {} bytes: {:.2f} GB/s, {:.1f} us, {:.1f} us at best\n", name, bytes,
                 received / time.count() / 1e9, time.count() / rounds * 1e6, best.count() * 1e6);
  };
  measure("all-to-all", [&] { world.allToAll("all-to-all", from.data(), to.data(), block); });
  measure("all-gather", [&] { world.allGather("all-gather", from.data(), to.data(), block); });
  return 0;
}

int agree(HostCommunicator &world) {
  Agreement agreement(world);
  if (world.rank() == world.size() - 1) agreement.set(AgreedFlag::Stop, SIGTERM);
  AgreedValue stop = agreement.agree("flags")[AgreedFlag::Stop];
  fmt::print("rank {}: signal {} of rank {}\n", world.rank(), stop.value, stop.rank);
  std::fflush(stdout);
  try {
    agreement.together("start", [&] {
      if (world.rank() == 1) throw Error("the disk is full", ExitStatus::Diverged);
    });
  } catch (const RankError &error) {
    if (world.rank() == 0) warn("{}", error.what());
    return static_cast<int>(error.exitStatus()); // after all ranks have ended in order
  }
  return 0;
}

int share(HostCommunicator &world, const RankLaunch &launch) {
  RankShare share = agreeOnShare(world, processorsOfRank(launch), 1'000);
  restrictTo(share.processors);
  fmt::print("rank {}: {} threads of {}, {} bytes\n", world.rank(), share.threads(), allowedProcessors().size(),
             share.memory);
  return 0;
}

WatchdogOptions options(const char *timeout) {
  WatchdogOptions options;
  options.timeout = std::chrono::milliseconds(std::stoi(timeout));
  return options;
}

void ignore(int) {}

/// Collectives inside of steps, whose small blocks of memory come from the step allocator. Expects that other requests
/// come from few of 50 steps: Open MPI's lists of fragments still grow now and then.
int steps(HostCommunicator &world) {
  stepallocator::reserve();
  constexpr size_t mostBytes = 100'000;
  Bytes from(world.size() * mostBytes), to(world.size() * mostBytes);
  auto step = [&](int number) {
    stepallocator::StepScope scope;
    for (size_t bytes = 1; bytes <= mostBytes; bytes *= 10) {
      for (int other = 0; other < world.size(); ++other)
        fill(&from[other * bytes], bytes, world.rank() + number, other);
      world.allToAll("all-to-all", from.data(), to.data(), bytes);
      for (int other = 0; other < world.size(); ++other)
        check(&to[other * bytes], bytes, other + number, world.rank(), "all-to-all");
      world.allGather("all-gather", from.data(), to.data(), bytes);
      world.broadcast("broadcast", from.data(), bytes, number % world.size());
      world.barrier("barrier");
    }
  };
  for (int number = 0; number < 20; ++number) step(number);
  int requesting = 0;
  for (int number = 0; number < 50; ++number) {
    uint64_t before = stepallocator::stepAllocations();
    step(number);
    requesting += stepallocator::stepAllocations() != before;
  }
  if (requesting > 5) fail("{} of 50 steps requested memory of the system", requesting);
  fmt::print("rank {}: no memory\n", world.rank());
  return 0;
}

/// Exchanges bytes until there is a file `end` in the folder. After the first exchanges, writes the process into the
/// file `rank-N` there.
int exchange(HostCommunicator &world, const char *timeout, const std::string &folder) {
  signal(SIGTERM, ignore); // as a run does, which saves before it ends
  Watchdog watchdog(world, options(timeout));
  Bytes from(world.size() * 1000), to(from.size());
  int64_t rounds = 0;
  for (char isOver = 0; !isOver; ++rounds) {
    world.allToAll("gradients", from.data(), to.data(), 1000);
    if (rounds == 20) {
      std::ofstream(folder + "/temporary-" + std::to_string(world.rank())) << getpid() << "\n";
      std::filesystem::rename(folder + "/temporary-" + std::to_string(world.rank()),
                              folder + "/rank-" + std::to_string(world.rank()));
    }
    isOver = world.rank() == 0 && access((folder + "/end").c_str(), F_OK) == 0;
    world.broadcast("end", &isOver, 1, 0);
    usleep(1'000);
  }
  world.finish();
  watchdog.finish();
  fmt::print("rank {}: ended in order\n", world.rank());
  return 0;
}

/// Rank 1 does not come to the second collective.
int hang(HostCommunicator &world, const char *timeout) {
  Watchdog watchdog(world, options(timeout));
  world.barrier("first");
  if (world.rank() == 1)
    for (;;) pause();
  world.barrier("second");
  return 0;
}

/// Rank 1 fails where the others do not ask for errors.
int failAlone(HostCommunicator &world) {
  Watchdog watchdog(world, {});
  world.barrier("first");
  if (world.rank() == 1) {
    warn("error on rank 1: out of luck"); // first: mpirun ends this rank when another one has ended
    watchdog.endOthers(ExitStatus::Diverged);
    return static_cast<int>(ExitStatus::Diverged);
  }
  world.barrier("second");
  return 0;
}

int run(const std::string &mode, char **arguments, RankLaunch &launch) {
  launch = findRankLaunch();
  size_t piece = mode == "contents" ? std::stoul(arguments[0]) : mpiPieceBytes;
  bool isPlain = piece == mpiPieceBytes || launch.size == 1;
  std::unique_ptr<HostCommunicator> world = isPlain ? openWorld(launch) : openMpi(launch, piece);
  if (mode == "describe") {
    std::ifstream maps("/proc/self/maps");
    std::string text{std::istreambuf_iterator<char>(maps), {}};
    fmt::print("{}; {} {}\n", launch.describe(), text.find("libmpi") == text.npos ? "without libmpi" : "with libmpi,",
               mpiVersion().substr(0, 8));
    world->finish();
    return 0;
  }
  if (mode == "exchange") return exchange(*world, arguments[0], arguments[1]);
  if (mode == "abandon" && launch.rank == 1) world->abandon(ExitStatus::Diverged);
  if (mode == "fail") return failAlone(*world);
  int status = mode == "contents"  ? contents(*world)
               : mode == "steps"   ? steps(*world)
               : mode == "groups"  ? groups(*world, Mesh::parse(arguments[0]))
               : mode == "large"   ? large(*world, std::stoul(arguments[0]))
               : mode == "sizes"   ? sizes(*world, std::stoul(arguments[0]))
               : mode == "speed"   ? speed(*world, std::stoul(arguments[0]), std::stoi(arguments[1]))
               : mode == "agree"   ? agree(*world)
               : mode == "share"   ? share(*world, launch)
               : mode == "hang"    ? hang(*world, arguments[0])
               : mode == "abandon" ? 0
                                   : 2;
  world->finish();
  return status;
}

} // namespace

int main(int count, char **arguments) {
  RankLaunch launch;
  try {
    return count < 2 ? 2 : run(arguments[1], arguments + 2, launch);
  } catch (const Error &error) {
    warn("error on rank {}: {}", launch.rank, error.what());
    return static_cast<int>(error.exitStatus());
  }
}
