//===- TimeBoundTest.cpp - no plan is below its bound ---------------------===//

#include "passes/rematerialize/TimeBound.h"
#include "frontend/Frontend.h"
#include "ir/program/Target.h"
#include "passes/Pipeline.h"
#include "passes/memory/PlanStorage.h"
#include "passes/rematerialize/Frontier.h"
#include "tests/passes/rematerialize/RandomSteps.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {
/// Random plans of a step, measured.
class RandomPlans {
public:
  RandomPlans(func::FuncOp step, Choices &choose, const OpTimes &times) : step(step), choose(choose), times(times) {}
  FrontierPoint draw();

private:
  LayerSpan span(const LayerPair &pair, int64_t layers);
  std::vector<LayerSpan> spans(const LayerPair &pair);

  func::FuncOp step;
  Choices &choose;
  const OpTimes &times;
  double seconds = 0, layerSeconds = 0; ///< so far; beside them, of one layer's forward pass
};

/// Layers with one random set of units.
LayerSpan RandomPlans::span(const LayerPair &pair, int64_t layers) {
  llvm::BitVector units(pair.units.size());
  for (unsigned i = 0; i < units.size(); ++i)
    if (choose.oneIn(2)) units.set(i);
  pair.savedWith(units); // leaves what is needed
  double each = 0;
  for (unsigned unit : units.set_bits()) each += secondsOf(pair.units[unit], times);
  for (const Credit &credit : creditsOf(pair, times))
    if (!credit.units.test(units)) each -= credit.seconds;
  seconds += static_cast<double>(layers * timesRun(RepeatOp(pair.forward)->getBlock())) * each;
  return {layers, units, 0, {}};
}

std::vector<LayerSpan> RandomPlans::spans(const LayerPair &pair) {
  RepeatOp forward = pair.forward;
  int64_t layers = forward.getAxis().getSize();
  std::vector<LayerSpan> spans;
  if (layers >= 4 && choose.oneIn(3)) {
    int64_t each = choose.integer(2, static_cast<int>(layers / 2)), count = layers / each;
    LayerSpan segments{count * each, {}, count, {}};
    double before = seconds;
    segments.inside.push_back(span(pair, each));
    seconds = before + (seconds - before) * static_cast<double>(count);
    seconds += times.secondsOf(forward) * static_cast<double>(count * each * timesRun(forward->getBlock())) /
               static_cast<double>(layers);
    spans.push_back(std::move(segments));
    layers -= count * each;
  }
  while (layers > 0) {
    int64_t part = choose.integer(1, static_cast<int>(layers));
    spans.push_back(span(pair, part));
    layers -= part;
  }
  return spans;
}

FrontierPoint RandomPlans::draw() {
  RecomputePlan plan;
  seconds = 0;
  for (Block *block : stepBlocks(step)) {
    BlockUnits units(*block);
    plan.blocks.emplace_back(units.units.size());
    for (auto [i, unit] : llvm::enumerate(units.units)) {
      if (!choose.oneIn(3)) continue;
      plan.blocks.back().set(i);
      seconds += static_cast<double>(timesRun(block)) * secondsOf(unit, times);
    }
  }
  for (auto [forward, backward] : allLayerPairs(step)) plan.pairs.push_back(spans(LayerPair(forward, backward)));
  return measure(step, std::move(plan), seconds);
}

/// Expects that no plan is below the bound for its live bytes.
void expectNoneBelow(const TimeBound &bound, ArrayRef<FrontierPoint> plans, const std::string &where) {
  for (const FrontierPoint &plan : plans) {
    double least = bound.secondsWithin(plan.live);
    EXPECT_LE(least, plan.seconds + 1e-9 * std::abs(plan.seconds) + 1e-12) << where << ": " << plan.live << " bytes";
  }
}
} // namespace

TEST(TimeBound, HoldsForRandomPlansOfRandomPrograms) {
  int plans = 0, positive = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    MLIRContext context;
    OwningOpRef<ModuleOp> program = makeRandomProgram(context, seed, Float32Type::get(&context), Extra::Stacks);
    PipelineOptions toTile;
    toTile.compileTo = "tile";
    ASSERT_TRUE(succeeded(runPipeline(*program, toTile))) << "seed " << seed;
    auto step = program->lookupSymbol<func::FuncOp>("step");
    OpTimes times(*Target::read(*program), 1);
    PinPatterns pins(step, {}, {});
    TimeBound bound(step, pins, times);
    std::vector<FrontierPoint> all = findFrontier(step, pins, times);
    Choices choose(seed);
    RandomPlans random(step, choose, times);
    for (int i = 0; i < 20; ++i) all.push_back(random.draw());
    expectNoneBelow(bound, all, "seed " + std::to_string(seed));
    plans += static_cast<int>(all.size());
    for (const FrontierPoint &plan : all) positive += bound.secondsWithin(plan.live) > 0;
  }
  llvm::outs() << plans << " plans, " << positive << " with a bound above 0\n";
  EXPECT_GT(positive, plans / 10);
}

TEST(TimeBound, HoldsForSmallSteps) {
  int plans = 0, tight = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    MLIRContext context;
    Choices choose(seed);
    OwningOpRef<ModuleOp> module = makeRandomStep(context, seed, choose.integer(3, 8), choose.integer(2, 6));
    ASSERT_TRUE(module) << "seed " << seed;
    auto step = module->lookupSymbol<func::FuncOp>("step");
    OpTimes times(*Target::read(*module), 1);
    PinPatterns pins(step, {}, {});
    TimeBound bound(step, pins, times);
    RandomPlans random(step, choose, times);
    std::vector<FrontierPoint> all = findFrontier(step, pins, times);
    for (const FrontierPoint &plan : all) tight += bound.secondsWithin(plan.live) > 0.5 * plan.seconds;
    for (int i = 0; i < 30; ++i) all.push_back(random.draw());
    expectNoneBelow(bound, all, "seed " + std::to_string(seed));
    plans += static_cast<int>(all.size());
  }
  llvm::outs() << plans << " plans, " << tight << " of frontiers near their bounds\n";
  EXPECT_GT(tight, 50);
}

TEST(TimeBound, IsNearThePlansOfGpt2) {
  MLIRContext context;
  context.loadDialect<TsrDialect, func::FuncDialect>();
  tessera::DiagnosticEngine diagnostics;
  FrontendOptions sizes;
  sizes.sets = {"rows=8", "length=1024"};
  OwningOpRef<ModuleOp> module = compileModel(context, TESSERA_SOURCE_DIR "/tests/golden/gpt2.tsr", sizes, diagnostics);
  ASSERT_TRUE(module);
  PipelineOptions toTile;
  toTile.compileTo = "tile";
  ASSERT_TRUE(succeeded(runPipeline(*module, toTile)));
  auto step = module->lookupSymbol<func::FuncOp>("step");
  OpTimes times(*Target::read(*module), 2);
  PinPatterns pins(step, {}, {});
  std::vector<FrontierPoint> frontier = findFrontier(step, pins, times);
  TimeBound bound(step, pins, times);
  expectNoneBelow(bound, frontier, "gpt2");
  double stepSeconds = 0;
  for (Operation &op : step.getBody().front()) stepSeconds += times.secondsOf(&op);
  for (int mebibytes : {3600, 2900, 2560}) {
    int64_t room = (int64_t(mebibytes) << 20) - stateBytes(*module);
    auto plan = llvm::find_if(frontier, [&](const FrontierPoint &point) { return point.bytes <= room; });
    ASSERT_NE(plan, frontier.end()) << mebibytes;
    double gap = (plan->seconds - bound.secondsWithin(room)) / stepSeconds;
    llvm::outs() << mebibytes << " MiB: " << plan->seconds << " s, at least " << bound.secondsWithin(room) << " s, gap "
                 << 100 * gap << " % of the step\n";
    EXPECT_GT(bound.secondsWithin(room), 0) << mebibytes << " MiB";
    EXPECT_LE(gap, 0.02) << mebibytes << " MiB";
  }
}
