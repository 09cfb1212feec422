//===- MachineShareTest.cpp - what a rank has of its machine -------------===//

#include "passes/cost/MachineShare.h"
#include "ir/program/Machines.h"
#include "mlir/Parser/Parser.h"
#include "passes/cost/CostModel.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;

namespace {

/// A processor with 16 cores, which share an L3 cache in groups of eight.
Target machine() {
  Target target = *Target::named("x86");
  target.figures.memoryBytes = 64'000'000'000;
  target.figures.rates.f32 = 1600e9, target.figures.rates.bf16 = 3200e9;
  target.figures.copyBandwidth = 80e9;
  target.figures.cpu.cores = 16, target.figures.cpu.thread.f32 = 120e9, target.figures.cpu.threadCopyBandwidth = 20e9;
  target.figures.cpu.l3Bytes = 32 << 20, target.figures.cpu.l3Cores = 8, target.figures.cpu.l3Bandwidth = 400e9;
  return target;
}

TEST(MachineShare, RanksDivideTheMachine) {
  MachineShare share = MachineShare::of(machine(), 16, 4);
  EXPECT_EQ(share.threads, 4);
  CostModel model(share.target, share.threads);
  EXPECT_DOUBLE_EQ(model.get("cores"), 4);
  EXPECT_DOUBLE_EQ(model.peakRate(ElementType::F32), 400e9);
  EXPECT_DOUBLE_EQ(model.peakRate(ElementType::BF16), 800e9);
  EXPECT_DOUBLE_EQ(model.get("copy_bandwidth"), 20e9);
  EXPECT_DOUBLE_EQ(model.get("thread_copy_bandwidth"), 20e9);
  EXPECT_DOUBLE_EQ(model.get("l3_cache"), 16 << 20);
  EXPECT_DOUBLE_EQ(model.get("l3_bandwidth"), 200e9);
  EXPECT_EQ(share.target.figures.memoryBytes, 16'000'000'000);
}

TEST(MachineShare, FewerThreadsStay) {
  EXPECT_EQ(MachineShare::of(machine(), 2, 4).threads, 2);
  EXPECT_EQ(MachineShare::of(machine(), 16, 2).threads, 8);
}

TEST(MachineShare, MoreRanksThanCoresAlternate) {
  MachineShare share = MachineShare::of(machine(), 16, 32);
  EXPECT_EQ(share.threads, 1);
  CostModel model(share.target, 1), whole(machine(), 16);
  EXPECT_DOUBLE_EQ(model.peakRate(ElementType::F32), 50e9);
  EXPECT_DOUBLE_EQ(model.get("l2_bandwidth"), whole.get("l2_bandwidth") / 2);
  EXPECT_DOUBLE_EQ(model.get("l3_bandwidth"), 400e9 / 8 / 2);
  CallWork call; // in one thread, with its start
  call.kind = CallKind::Kernel, call.isAlone = true, call.ops = {{"exp", 1'000'000}};
  EXPECT_DOUBLE_EQ(model.secondsOf(call), 2 * whole.secondsOf(call));
}

/// The program has a thread for each core.
TEST(MachineShare, WhatIsNotDescribedIsDividedToo) {
  Target target = *Target::named("x86");
  CostModel whole(target, 8);
  MachineShare share = MachineShare::of(target, 8, 4);
  EXPECT_EQ(share.threads, 2);
  CostModel model(share.target, share.threads);
  EXPECT_DOUBLE_EQ(model.peakRate(ElementType::F32), whole.peakRate(ElementType::F32) / 4);
  EXPECT_DOUBLE_EQ(model.get("copy_bandwidth"), whole.get("copy_bandwidth") / 4);
  EXPECT_EQ(model.getSource(), CostSource::Assumed);
  EXPECT_FALSE(share.target.figures.memoryBytes);
}

TEST(MachineShare, OneRankAndAGpuHaveAll) {
  EXPECT_EQ(MachineShare::of(machine(), 16, 1).target.figures.memoryBytes, 64'000'000'000);
  Target gpu = *Target::named("h100");
  EXPECT_EQ(MachineShare::of(gpu, 8, 8).target.figures.memoryBytes, gpu.figures.memoryBytes);
  EXPECT_EQ(MachineShare::of(gpu, 8, 8).threads, 8);
}

TEST(MachineShare, RanksAreOnTheMachinesOfTheModule) {
  MLIRContext context;
  context.loadDialect<TsrDialect>();
  auto module = parseSourceString<ModuleOp>("module attributes {tsr.mesh = [#tsr.axis<data: 8>]} {}", &context);
  EXPECT_EQ(ranksOfMachine(*module), 8);
  Machines{4, 2}.record(*module);
  EXPECT_EQ(ranksOfMachine(*module), 2);
  auto searched = parseSourceString<ModuleOp>("module attributes {tsr.devices = 6 : i64} {}", &context);
  EXPECT_EQ(ranksOfMachine(*searched), 6);
  EXPECT_EQ(ranksOfMachine(*parseSourceString<ModuleOp>("module {}", &context)), 1);
}

} // namespace
