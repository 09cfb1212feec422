// Exchanges with other ranks on a processor: which group moves which bytes, and how a profile counts them.

#include "runtime/machine/Machine.h"
#include "runtime/ranks/Communicator.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>

using namespace tessera::runtime;

namespace {

constexpr std::chrono::milliseconds exchangeTime(2);

/// The first of two ranks; the other one sends the same.
class SlowGroup final : public HostCommunicator {
public:
  explicit SlowGroup(std::string name) : HostCommunicator(std::move(name), 0, 2) {}
  [[noreturn]] void abandon(ExitStatus status) override { std::_Exit(static_cast<int>(status)); }

private:
  void moveAllToAll(std::string_view, const void *from, void *to, size_t bytes) override {
    std::this_thread::sleep_for(exchangeTime);
    countSent(bytes);
    memcpy(to, from, bytes);
    memcpy(static_cast<char *>(to) + bytes, from, bytes);
  }
  void moveAllGather(std::string_view what, const void *from, void *to, size_t bytes) override {
    moveAllToAll(what, from, to, bytes);
  }
  void moveBroadcast(std::string_view, void *, size_t, int) override {}
  void moveSendReceive(std::string_view, const void *, size_t, int, void *, size_t, int) override {}
  void waitForAll(std::string_view) override {}
  std::unique_ptr<HostCommunicator> makeGroup(std::string, int, int) override { return nullptr; }
  void end() override {}
};

/// Gathers four bytes along `data`, and exchanges two parts of four bytes along `tensor`, twice.
extern "C" void exchangeThrice(TsrRuntime *runtime, char *arena) {
  runtime->start(runtime, 0, arena, arena + 64);
  runtime->wait(runtime, 0);
  for (int i = 0; i < 2; ++i) {
    runtime->start(runtime, 1, arena, arena + 128);
    runtime->wait(runtime, 1);
  }
}

TEST(CpuMachine, ProfilesExchanges) {
  Manifest manifest = parseManifest(
      R"({"abi": 9, "model": "m", "target": {"kind": "cpu", "threads": 1}, "arena": {"bytes": 256}, "state": [],
          "entries": {"step": {}}, "mesh": [{"name": "data", "size": 2}, {"name": "tensor", "size": 2}],
          "exchanges": [{"of": "w", "kind": "all_gather", "along": "data", "bytes": 4, "calls": {"step": 1}},
                        {"of": "x", "kind": "all_to_all", "along": "tensor", "bytes": 4, "calls": {"step": 2}}]})");
  SlowGroup data("data"), tensor("tensor");
  OneRank world;
  MachineOptions options;
  options.ranks = RankGroups(world, {&tensor, &data});
  std::unique_ptr<Machine> machine = makeCpuMachine(manifest, options);
  memcpy(machine->at(0), "abc", 4);
  machine->call(manifest.entry("step"), exchangeThrice);
  EXPECT_STREQ(machine->at(64), "abc");
  EXPECT_STREQ(machine->at(68), "abc");
  EXPECT_EQ(data.traffic().collectives, 1);
  EXPECT_EQ(tensor.traffic().collectives, 2);

  Profile profile;
  machine->startProfile(profile);
  profile.beginStep();
  machine->call(manifest.entry("step"), exchangeThrice);
  profile.endStep(3 * exchangeTime);
  Json rows = profile.describe(manifest)["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["name"], "all_gather along data");
  EXPECT_EQ(rows[1]["name"], "all_to_all along tensor");
  EXPECT_EQ(machine->arenaBytes(), 256);
  for (int i = 0; i < 2; ++i) {
    int calls = manifest.target.ranks.exchanges[i].callsIn("step");
    EXPECT_EQ(rows[i]["calls"], calls);
    EXPECT_EQ(rows[i]["received"], 4);
    EXPECT_EQ(rows[i]["sent"], 4 * calls);
    EXPECT_GE(rows[i]["seconds"].get<double>(), calls * 0.002);
  }
}

} // namespace
