//===- RankLinksTest.cpp - what the links between ranks carry -------------===//

#include "passes/cost/RankLinks.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"
#include "passes/cost/CostModel.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;

namespace {

constexpr ExchangeKind gather = ExchangeKind::AllGather, toAll = ExchangeKind::AllToAll,
                       scatter = ExchangeKind::ReduceScatter;
/// Of a block: so large that an exchange of it goes in rounds.
constexpr int64_t large = 1 << 20;

/// A GPU with an adapter of its own.
Target gpu() { return *Target::named("h100"); }

/// A processor with a cable for all ranks of a machine.
Target cpu(double sharing) {
  Target target = *Target::named("x86");
  target.figures.linkDevices["network"] = sharing;
  return target;
}

using Mesh = llvm::SmallVector<int64_t>;

/// What the busiest links carry, in blocks, and the rounds.
struct Load {
  double inside, network;
  int64_t insideRounds, networkRounds;
};

void expectLoad(const Target &target, Mesh mesh, std::optional<Machines> machines, ExchangeKind kind, size_t axis,
                Load expected, int64_t bytes = large) {
  ExchangeWork work = RankLinks(target, mesh, machines).workOf(kind, axis, bytes);
  std::string where = (machines ? machines->text() : "one machine") + ", axis " + std::to_string(axis);
  EXPECT_EQ(work.kind, kind);
  EXPECT_EQ(work.received, (mesh[axis] - 1) * bytes) << where;
  EXPECT_DOUBLE_EQ(work.inside.bytes, expected.inside * double(bytes)) << where;
  EXPECT_DOUBLE_EQ(work.network.bytes, expected.network * double(bytes)) << where;
  EXPECT_EQ(work.inside.rounds, expected.insideRounds) << where;
  EXPECT_EQ(work.network.rounds, expected.networkRounds) << where;
}

/// data=2, tensor=4
const Mesh mesh{2, 4};
constexpr size_t data = 0, tensor = 1;

//===----------------------------------------------------------------------===//
// GPUs
//===----------------------------------------------------------------------===//

TEST(RankLinks, OneMachineHasNoNetwork) {
  for (std::optional<Machines> machines : {std::optional<Machines>(), std::optional(Machines{1, 8})}) {
    expectLoad(gpu(), mesh, machines, gather, data, {1, 0, 1, 0});
    expectLoad(gpu(), mesh, machines, gather, tensor, {3, 0, 3, 0});
    expectLoad(gpu(), mesh, machines, scatter, tensor, {3, 0, 3, 0});
    expectLoad(gpu(), mesh, machines, toAll, tensor, {3, 0, 1, 0});
  }
}

TEST(RankLinks, GroupsInAMachineAndAcross) {
  Machines machines{2, 4}; // ranks 0 to 3, and 4 to 7
  expectLoad(gpu(), mesh, machines, gather, tensor, {3, 0, 3, 0});
  expectLoad(gpu(), mesh, machines, toAll, tensor, {3, 0, 1, 0});
  expectLoad(gpu(), mesh, machines, gather, data, {0, 1, 0, 1});
  expectLoad(gpu(), mesh, machines, toAll, data, {0, 1, 0, 1});
}

/// A group with two members on each of two machines: two rings, each with half of the bytes.
TEST(RankLinks, RingsGoThroughTheAdaptersOfAllMembers) {
  Machines machines{4, 2};
  expectLoad(gpu(), mesh, machines, gather, tensor, {1.5, 1.5, 2, 1});
  expectLoad(gpu(), mesh, machines, scatter, tensor, {1.5, 1.5, 2, 1});
  expectLoad(gpu(), mesh, machines, toAll, tensor, {1, 2, 0, 1});
  expectLoad(gpu(), mesh, machines, gather, data, {0, 1, 0, 1});
  expectLoad(gpu(), {8}, Machines{2, 4}, gather, 0, {5.25, 1.75, 6, 1});
  expectLoad(gpu(), {8}, Machines{2, 4}, toAll, 0, {3, 4, 0, 1});
}

TEST(RankLinks, OneDeviceInEachMachine) {
  Machines machines{8, 1};
  expectLoad(gpu(), mesh, machines, gather, tensor, {0, 3, 0, 3});
  expectLoad(gpu(), mesh, machines, toAll, tensor, {0, 3, 0, 1});
  expectLoad(gpu(), mesh, machines, gather, data, {0, 1, 0, 1});
}

TEST(RankLinks, DevicesShareAnAdapter) {
  Target target = gpu();
  target.figures.linkDevices["network"] = 2;
  expectLoad(target, mesh, Machines{2, 4}, gather, data, {0, 2, 0, 1});
  expectLoad(target, mesh, Machines{2, 4}, toAll, data, {0, 2, 0, 1});
  expectLoad(target, {8}, Machines{2, 4}, gather, 0, {5.25, 3.5, 6, 1});
  target.figures.linkDevices["nvlink"] = 8; // more than the machine has
  expectLoad(target, mesh, Machines{2, 4}, gather, tensor, {12, 0, 3, 0});
}

//===----------------------------------------------------------------------===//
// Processors
//===----------------------------------------------------------------------===//

TEST(RankLinks, ACpusRingCrossesOnceFromMachineToMachine) {
  for (double sharing : {1, 4}) expectLoad(cpu(sharing), {8}, Machines{2, 4}, gather, 0, {7, 7, 0, 7});
  expectLoad(cpu(1), {8}, Machines{2, 4}, toAll, 0, {3, 4, 0, 7});
  expectLoad(cpu(4), {8}, Machines{2, 4}, toAll, 0, {3, 16, 0, 7});
}

/// Four groups of two ranks share the cable.
TEST(RankLinks, GroupsShareACable) {
  expectLoad(cpu(4), mesh, Machines{2, 4}, gather, data, {0, 4, 0, 1});
  expectLoad(cpu(4), mesh, Machines{2, 4}, toAll, data, {0, 4, 0, 1});
  expectLoad(cpu(2), mesh, Machines{2, 4}, toAll, data, {0, 2, 0, 1});
  expectLoad(cpu(4), mesh, Machines{2, 4}, gather, tensor, {3, 0, 3, 0});
  expectLoad(cpu(1), mesh, Machines{8, 1}, gather, tensor, {0, 3, 0, 3});
  expectLoad(cpu(1), mesh, Machines{4, 2}, gather, tensor, {3, 3, 0, 3});
}

TEST(RankLinks, SmallExchangesOfACpuHaveFewerRounds) {
  expectLoad(cpu(1), {8}, std::nullopt, gather, 0, {7, 0, 3, 0}, 4096);
  expectLoad(cpu(1), {8}, std::nullopt, gather, 0, {7, 0, 7, 0}, 4097);
  expectLoad(cpu(1), {3}, std::nullopt, toAll, 0, {2, 0, 2, 0}, 1);
  expectLoad(cpu(1), {8}, Machines{2, 4}, toAll, 0, {3, 4, 0, 3}, 100);
}

/// {0, 1}, {2, 3} and {4, 5} on machines with three ranks each.
TEST(RankLinks, OneOfSeveralGroupsMayCross) {
  for (const Target &target : {cpu(1), gpu()}) {
    RankLinks links(target, {3, 2}, Machines{2, 3});
    EXPECT_TRUE(links.crossesMachines(1));
    ExchangeWork work = links.workOf(toAll, 1, large);
    EXPECT_EQ(work.inside.bytes, large);
    EXPECT_EQ(work.network.bytes, large);
  }
  expectLoad(gpu(), {3, 2}, Machines{2, 3}, gather, 1, {1, 1, 0, 1});
}

TEST(RankLinks, AnAxisOfOneRankExchangesNothing) {
  for (const Target &target : {cpu(1), gpu()})
    for (ExchangeKind kind : {gather, toAll}) expectLoad(target, {1, 4}, Machines{2, 2}, kind, 0, {0, 0, 0, 0});
  EXPECT_FALSE(RankLinks(gpu(), {1, 4}, Machines{2, 2}).crossesMachines(0));
}

/// What all ranks receive over links is what is sent, whatever the mesh.
TEST(RankLinks, LinksCarryAsMuchAsRanksReceive) {
  for (const Target &target : {cpu(1), gpu()})
    for (ExchangeKind kind : {gather, toAll})
      for (int64_t devices : {1, 2, 3, 4, 6, 12, 24})
        for (const Mesh &sizes : {Mesh{24}, Mesh{2, 12}, Mesh{2, 3, 4}, Mesh{8, 3}})
          for (size_t axis = 0; axis < sizes.size(); ++axis) {
            ExchangeWork work = RankLinks(target, sizes, Machines{24 / devices, devices}).workOf(kind, axis, large);
            double most = work.inside.bytes + work.network.bytes;
            EXPECT_GE(most, double(work.received) * (1 - 1e-12)) << devices;
            EXPECT_LE(std::max(work.inside.bytes, work.network.bytes), double(work.received) * (1 + 1e-12)) << devices;
          }
}

//===----------------------------------------------------------------------===//
// Classes and times
//===----------------------------------------------------------------------===//

TEST(RankLinks, TheFastestClassThatIsNoNetworkIsInsideOfAMachine) {
  EXPECT_EQ(insideClass(gpu()), "nvlink");
  EXPECT_EQ(insideClass(*Target::named("l40s")), "pcie");
  Target target = *Target::named("x86");
  EXPECT_EQ(insideClass(target), "memory");
  target.figures.linkBandwidths = {{"network", 1e12}, {"network.all_gather", 2e12}, {"bus.all_to_all", 1e9}};
  EXPECT_EQ(insideClass(target), "bus");
}

CallWork callOf(const ExchangeWork &work) {
  CallWork call;
  call.kind = CallKind::Exchange, call.exchange = work;
  return call;
}

TEST(RankLinks, TheBusiestLinkOfBothClassesDecides) {
  Target target = gpu(); // nvlink 450 GB/s, network 50 GB/s
  target.figures.linkLatencies = {{"nvlink", 1e-6}, {"network", 5e-6}};
  target.figures.gpu.exchangeStart = 10e-6;
  ExchangeWork work = RankLinks(target, mesh, Machines{4, 2}).workOf(gather, tensor, 100'000'000);
  CostModel model(target, 1);
  EXPECT_DOUBLE_EQ(model.secondsOf(callOf(work)), 10e-6 + 2 * 1e-6 + 1 * 5e-6 + 150e6 / 50e9);
  model.set("link_bandwidth.nvlink", 1e9);
  EXPECT_DOUBLE_EQ(model.secondsOf(callOf(work)), 10e-6 + 2 * 1e-6 + 1 * 5e-6 + 150e6 / 1e9);
}

TEST(RankLinks, AFigureOfTheCollectiveComesBeforeThatOfAll) {
  Target target = cpu(1);
  target.figures.linkBandwidths = {{"memory", 1e9}, {"memory.all_gather", 2e9}};
  target.figures.linkLatencies = {{"memory", 1e-6}, {"memory.all_to_all", 3e-6}};
  RankLinks links(target, {2}, std::nullopt);
  CostModel model(target, 1);
  EXPECT_DOUBLE_EQ(model.secondsOf(callOf(links.workOf(gather, 0, 1'000'000))), 1e-6 + 1e6 / 2e9);
  EXPECT_DOUBLE_EQ(model.secondsOf(callOf(links.workOf(toAll, 0, 1'000'000))), 3e-6 + 1e6 / 1e9);
  auto keys = model.figuresOf(callOf(links.workOf(gather, 0, 100)));
  EXPECT_EQ(keys, (std::set<std::string>{"link_bandwidth.memory.all_gather", "link_latency.memory"}));
}

TEST(RankLinks, LinksThatAreNotDescribedAreAssumed) {
  Target target = cpu(1);
  target.figures.source = "calibrated";
  target.figures.linkBandwidths = {{"memory", 4e9}};
  CostModel model(target, 1);
  ExchangeWork inside = RankLinks(target, mesh, Machines{2, 4}).workOf(gather, tensor, large);
  ExchangeWork across = RankLinks(target, mesh, Machines{2, 4}).workOf(gather, data, large);
  EXPECT_TRUE(model.assumedLinks(inside).empty());
  EXPECT_EQ(model.assumedLinks(across), (llvm::SmallVector<std::string, 2>{"network"}));
  target.figures.linkBandwidths = {{"network.all_gather", 1e9}};
  EXPECT_TRUE(CostModel(target, 1).assumedLinks(across).empty());
  // A range is wider by what is assumed.
  EXPECT_LT(model.leastOf(1, 0, 0.5), model.leastOf(1, 0));
  EXPECT_DOUBLE_EQ(model.mostOf(1, 1) - 1e-5, 3);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp> parse(MLIRContext &context, const std::string &text) {
  context.loadDialect<TsrDialect>();
  return parseSourceString<ModuleOp>(text, &context);
}

TEST(RankLinks, AModuleRecordsMachines) {
  MLIRContext context;
  auto module = parse(context, "module attributes {tsr.mesh = [#tsr.axis<data: 2>, #tsr.axis<tensor: 2>]} {}");
  ASSERT_TRUE(module);
  EXPECT_FALSE(Machines::of(*module));
  EXPECT_FALSE(RankLinks::of(*module).crossesMachines(0));
  Machines{2, 2}.record(*module);
  EXPECT_EQ(Machines::of(*module), (Machines{2, 2}));
  EXPECT_TRUE(RankLinks::of(*module).crossesMachines(0));
  EXPECT_FALSE(RankLinks::of(*module).crossesMachines(1));
  EXPECT_TRUE(Machines::isRecorded((*module)->getAttr("tsr.machines")));
  const char *wrong[] = {"3 : i64",
                         "{}",
                         "{count = 2 : i64}",
                         "{count = 2 : i64, devices = 0 : i64}",
                         "{count = 2 : i64, devices = 8 : i32}",
                         "{count = 2 : i64, devices = 8 : i64, more = 1 : i64}",
                         "{count = -1 : i64, devices = 8 : i64}",
                         "{count = 2000000 : i64, devices = 8 : i64}"};
  for (const char *text : wrong) EXPECT_FALSE(Machines::isRecorded(parseAttribute(text, &context))) << text;
}

} // namespace
