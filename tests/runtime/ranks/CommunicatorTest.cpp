// One rank: what it sends to itself is copied, and what others are told of it.

#include "tests/runtime/ranks/ThreadRanks.h"

using namespace tessera::tests;

namespace {

struct Recorder final : CollectiveObserver {
  void begin(std::string_view name, std::chrono::milliseconds) noexcept override { seen += std::string(name) + "("; }
  void end() noexcept override { seen += ")"; }
  std::string seen;
};

TEST(OneRankTest, CopiesWhatItSendsToItself) {
  OneRank world;
  EXPECT_EQ(world.rank(), 0);
  EXPECT_EQ(world.size(), 1);
  char from[] = "abc", to[4] = "", in[4] = "";
  world.allToAll("x", from, to, 4);
  EXPECT_STREQ(to, "abc");
  world.allGather("x", "def", to, 4);
  EXPECT_STREQ(to, "def");
  world.allGather("in place", to, to, 4);
  EXPECT_STREQ(to, "def");
  world.sendReceive("x", from, 4, 0, in, 4, 0);
  EXPECT_STREQ(in, "abc");
  world.sendReceive("nothing", from, 4, noRank, in, 4, noRank);
  world.broadcast("x", in, 4, 0);
  world.barrier("x");
  world.allToAll("no bytes", nullptr, nullptr, 0);
  EXPECT_STREQ(in, "abc");
  EXPECT_EQ(world.traffic().collectives, 8);
  EXPECT_EQ(world.traffic().received, 0);
  world.finish();
}

TEST(OneRankTest, RefusesOtherRanks) {
  OneRank world("data");
  char data[4] = "";
  EXPECT_EQ(messageOf([&] { world.broadcast("gradients", data, 4, 1); }),
            "broadcast 'gradients' on rank 0 of 1 of 'data': expected a rank from 0 to 0, got 1");
  EXPECT_EQ(messageOf([&] { world.sendReceive("x", data, 4, -2, data, 4, noRank); }),
            "sendReceive 'x' on rank 0 of 1 of 'data': expected a rank from 0 to 0, got -2");
  EXPECT_EQ(messageOf([&] { world.sendReceive("x", data, 4, 0, data, 4, noRank); }),
            "sendReceive 'x' on rank 0 of 1 of 'data': a rank that sends to itself must receive as many bytes from "
            "itself");
}

TEST(OneRankTest, TellsItsObserver) {
  Recorder recorder;
  OneRank world;
  world.setObserver(&recorder);
  std::unique_ptr<HostCommunicator> group = world.split("tensor", 0, 0);
  EXPECT_EQ(group->name(), "tensor");
  group->barrier("all");
  char data[4] = "";
  EXPECT_ANY_THROW(group->sendReceive("wrong", data, 4, 0, data, 3, 0));
  world.setObserver(nullptr);
  group->barrier("unseen");
  EXPECT_EQ(recorder.seen, "tensor()all()wrong()");
}

TEST(CommunicatorTest, CountsWhatARankReceives) {
  onRanks(3, [](HostCommunicator &world) {
    char from[24] = "", to[24] = "";
    world.allToAll("x", from, to, 8);
    world.allGather("x", from, to, 8);
    world.broadcast("x", to, 8, 2);
    EXPECT_EQ(world.traffic().collectives, 3);
    EXPECT_EQ(world.traffic().received, 16 + 16 + (world.rank() == 2 ? 0 : 8));
  });
}

} // namespace
