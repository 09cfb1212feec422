//===- Frontier.cpp - memory against time ---------------------------------===//
//
// 1. For each pair of repeats, stages: each with less memory and more time than the one before. All layers have one
//    policy; or between two neighbours on the hull of policies, more and more layers get the leaner one. Then come
//    segments.
// 2. A path through the stages of all pairs: the step that saves most bytes for its time is the next one.
// 3. Each plan on the path is applied to a copy of the function, and the copy's storage is planned.
//
//===----------------------------------------------------------------------===//

#include "passes/rematerialize/Frontier.h"
#include "ir/dialect/Attributes.h"
#include "passes/memory/PeakOrder.h"
#include "passes/memory/PlanStorage.h"
#include "passes/rematerialize/CertainMoments.h"
#include "passes/rematerialize/Policies.h"
#include "passes/rematerialize/Positions.h"
#include "llvm/Support/ThreadPool.h"
#include <cmath>
#include <deque>

using namespace mlir;
using namespace tessera;

/// Divisions of a stack between two policies, and plans in all.
static constexpr int64_t mostDivisions = 12;
static constexpr size_t mostPlans = 96;
/// Moving ops may save this part of the arena.
static constexpr int64_t nearDivisor = 16;

static void addBlocks(Block &block, std::vector<Block *> &blocks) {
  blocks.push_back(&block);
  for (auto repeat : block.getOps<RepeatOp>()) {
    // Those of one pass have a mark, which their ops share.
    bool isMixed = stepPass(repeat) == StepPass::Forward &&
                   llvm::any_of(repeat.getBlock(), [](Operation &op) { return stepPass(&op) == StepPass::Backward; });
    if (isMixed) addBlocks(repeat.getBlock(), blocks);
  }
}

std::vector<Block *> tessera::stepBlocks(func::FuncOp function) {
  std::vector<Block *> blocks;
  addBlocks(function.getBody().front(), blocks);
  return blocks;
}

std::vector<std::pair<RepeatOp, RepeatOp>> tessera::allLayerPairs(func::FuncOp function) {
  std::vector<std::pair<RepeatOp, RepeatOp>> pairs;
  for (Block *block : stepBlocks(function)) llvm::append_range(pairs, findLayerPairs(*block));
  return pairs;
}

int64_t tessera::timesRun(Block *block) {
  int64_t times = 1;
  for (auto repeat = dyn_cast<RepeatOp>(block->getParentOp()); repeat; repeat = repeat->getParentOfType<RepeatOp>())
    times *= repeat.getAxis().getSize();
  return times;
}

void tessera::applyPlan(func::FuncOp function, const RecomputePlan &plan) {
  auto blocks = stepBlocks(function);
  for (auto [block, units] : llvm::zip(blocks, plan.blocks))
    if (units.any()) recompute(BlockUnits(*block), units);
  auto pairs = allLayerPairs(function);
  for (auto [pair, spans] : llvm::zip(pairs, plan.pairs))
    if (!spans.empty()) applySpans(pair.first, pair.second, spans);
  applyPositions(function);
}

//===----------------------------------------------------------------------===//
// 1. Stages
//===----------------------------------------------------------------------===//

namespace {
/// A way to divide the layers of a pair, or a set of units of a block.
struct Stage {
  std::vector<LayerSpan> spans;
  llvm::BitVector units;
  double seconds = 0;
  double bytes = 0; ///< that are saved: an estimate
};
} // namespace

static int64_t layersOf(const LayerPair &pair) {
  RepeatOp forward = pair.forward;
  return forward.getAxis().getSize();
}

static LayerSpan spanOf(int64_t layers, const Policy &policy) { return {layers, policy.recomputed, 0, {}}; }

/// Numbers from 1 to `most`, evenly spaced, with `most`.
static SmallVector<int64_t> samples(int64_t most) {
  SmallVector<int64_t> numbers;
  int64_t count = std::min(most, mostDivisions);
  for (int64_t i = 1; i <= count; ++i) numbers.push_back((most * i + count - 1) / count);
  return numbers;
}

static Stage stageOf(const LayerPair &pair, const Policy &policy) {
  auto layers = static_cast<double>(layersOf(pair));
  Stage stage;
  stage.spans.push_back(spanOf(layersOf(pair), policy));
  stage.seconds = layers * policy.seconds, stage.bytes = layers * static_cast<double>(policy.bytes);
  return stage;
}

/// The first layers recompute more: what the last ones saved is free again when the backward pass reaches the first.
static void addDivisions(const LayerPair &pair, const Policy &from, const Policy &to, std::vector<Stage> &stages) {
  int64_t layers = layersOf(pair);
  auto joined = static_cast<double>(joinedBytes(pair));
  for (int64_t lean : samples(layers)) {
    if (lean == layers) continue;
    Stage stage;
    stage.spans = {spanOf(lean, to), spanOf(layers - lean, from)};
    auto leanPart = static_cast<double>(lean), rest = static_cast<double>(layers - lean);
    stage.seconds = leanPart * to.seconds + rest * from.seconds;
    stage.bytes = leanPart * static_cast<double>(to.bytes) + rest * static_cast<double>(from.bytes) + joined;
    stages.push_back(std::move(stage));
  }
}

/// Segments of `each` layers that recompute as `inside` says; what is left over at the end is like the inside of one.
/// The backward pass has freed that when it comes to the segments, one of which at a time has saved its layers.
static Stage segmentStage(const LayerPair &pair, int64_t each, const Policy &inside, double layerSeconds) {
  int64_t layers = layersOf(pair), segments = layers / each, rest = layers % each, inputBytes = 0;
  for (Value value : RepeatOp(pair.forward).getCarried()) inputBytes += tensorType(value).getNumBytes();
  Stage stage;
  LayerSpan span;
  span.layers = segments * each, span.segments = segments;
  span.inside.push_back(spanOf(each, inside));
  stage.spans.push_back(std::move(span));
  if (rest > 0) stage.spans.push_back(spanOf(rest, inside));
  stage.seconds = static_cast<double>(layers) * inside.seconds + static_cast<double>(segments * each) * layerSeconds;
  stage.bytes = static_cast<double>(segments * inputBytes + each * inside.bytes + (rest > 0 ? joinedBytes(pair) : 0));
  return stage;
}

static void addSegments(const LayerPair &pair, ArrayRef<Policy> hull, const OpTimes &times,
                        std::vector<Stage> &stages) {
  RepeatOp forward = pair.forward;
  int64_t layers = forward.getAxis().getSize();
  double layerSeconds = times.secondsOf(forward) / static_cast<double>(layers);
  std::vector<Stage> found;
  for (int64_t each = 2; each <= layers / 2; each += std::max<int64_t>(1, each / 4))
    for (const Policy &inside : {hull.front(), hull.back()})
      found.push_back(segmentStage(pair, each, inside, layerSeconds));
  llvm::stable_sort(found, [](const Stage &a, const Stage &b) { return a.seconds < b.seconds; });
  for (Stage &stage : found)
    if (stage.bytes < stages.back().bytes) stages.push_back(std::move(stage));
}

static std::vector<Stage> stagesOf(const LayerPair &pair, const Pins &pins, const OpTimes &times) {
  std::vector<Policy> policies = findPolicies(pair, pins, times), hull = hullOf(policies);
  std::vector<Stage> found;
  for (const Policy &policy : policies) found.push_back(stageOf(pair, policy));
  for (size_t i = 1; i < hull.size(); ++i) addDivisions(pair, hull[i - 1], hull[i], found);
  llvm::stable_sort(found, [](const Stage &a, const Stage &b) { return a.seconds < b.seconds; });
  std::vector<Stage> stages;
  for (Stage &stage : found)
    if (stages.empty() || stage.bytes < stages.back().bytes) stages.push_back(std::move(stage));
  if (hull.front().recomputed.none()) stages.front().spans.clear();
  if (pins.saved.none()) addSegments(pair, hull, times, stages); // segments save no values of layers
  return stages;
}

static std::vector<Stage> stagesOf(Block &block, const OpTimes &times) {
  std::vector<Stage> stages;
  for (BlockPolicy &policy : findBlockPolicies(BlockUnits(block), times)) {
    Stage stage;
    stage.units = std::move(policy.recomputed);
    stage.seconds = policy.seconds, stage.bytes = static_cast<double>(policy.peak);
    stages.push_back(std::move(stage));
  }
  return stages;
}

//===----------------------------------------------------------------------===//
// 2. Path
//===----------------------------------------------------------------------===//

namespace {
struct PlannedStages {
  RecomputePlan plan;
  double seconds = 0;
};
} // namespace

/// The stages of blocks, then of pairs.
static std::vector<PlannedStages> pathThrough(ArrayRef<std::vector<Stage>> all, size_t blocks) {
  SmallVector<size_t> at(all.size(), 0);
  std::vector<PlannedStages> path;
  auto note = [&] {
    PlannedStages planned;
    for (size_t i = 0; i < all.size(); ++i) {
      const Stage &stage = all[i][at[i]];
      planned.seconds += stage.seconds;
      if (i < blocks)
        planned.plan.blocks.push_back(stage.units);
      else
        planned.plan.pairs.push_back(stage.spans);
    }
    path.push_back(std::move(planned));
  };
  note();
  while (true) {
    // Seconds for a byte less.
    auto price = [&](size_t i) {
      const Stage &now = all[i][at[i]], &next = all[i][at[i] + 1];
      return (next.seconds - now.seconds) / std::max(1.0, now.bytes - next.bytes);
    };
    std::optional<size_t> best;
    for (size_t i = 0; i < all.size(); ++i)
      if (at[i] + 1 < all[i].size() && (!best || price(i) < price(*best))) best = i;
    if (!best) return path;
    ++at[*best];
    note();
  }
}

//===----------------------------------------------------------------------===//
// 3. Memory
//===----------------------------------------------------------------------===//

/// The buffers of a step with a plan; none if its storage cannot be planned.
static std::optional<SmallVector<Lifetime>> lifetimesWith(func::FuncOp step, const RecomputePlan &plan,
                                                          bool movesOps = false) {
  ScopedDiagnosticHandler silent(step.getContext(), [](Diagnostic &) { return success(); });
  OpBuilder builder(step);
  auto trial = cast<func::FuncOp>(builder.clone(*step));
  trial.setName("step.trial");
  applyPlan(trial, plan);
  unsigned copies = 0;
  FailureOr<StoragePlan> storage = planStorage(trial, copies);
  std::optional<SmallVector<Lifetime>> lifetimes;
  if (succeeded(storage)) lifetimes = storage->lifetimes();
  if (lifetimes && movesOps && lowerPeak(trial) > 0) lifetimes = StoragePlan(trial).lifetimes();
  trial.erase();
  return lifetimes;
}

FrontierPoint tessera::measure(func::FuncOp step, RecomputePlan plan, double seconds, bool movesOps) {
  constexpr int64_t tooLarge = int64_t(1) << 60; // without a plan of storage
  FrontierPoint point{std::move(plan), seconds, tooLarge, tooLarge};
  if (std::optional<SmallVector<Lifetime>> lifetimes = lifetimesWith(step, point.plan, movesOps))
    point.bytes = packBuffers(*lifetimes).bytes, point.live = liveBytesBound(*lifetimes);
  return point;
}

/// The plans of every `stride`th stage of a path, with their memory. Packing takes most of the time, and needs no IR:
/// it runs on all processors. Results do not depend on their number.
static std::deque<FrontierPoint> evaluate(func::FuncOp step, std::vector<PlannedStages> path, size_t stride) {
  std::deque<FrontierPoint> points; // which stay where they are
  llvm::DefaultThreadPool pool;
  for (size_t i = 0; i < path.size(); i += stride) {
    std::optional<SmallVector<Lifetime>> lifetimes = lifetimesWith(step, path[i].plan);
    if (!lifetimes) continue;
    FrontierPoint &point = points.emplace_back(FrontierPoint{std::move(path[i].plan), path[i].seconds, 0, 0});
    pool.async([&point, lifetimes = std::move(*lifetimes)] {
      point.bytes = packBuffers(lifetimes).bytes;
      point.live = liveBytesBound(lifetimes);
    });
  }
  pool.wait();
  return points;
}

/// Whether ops that move may bring a plan's memory down to so many bytes.
static bool isNear(const FrontierPoint &point, int64_t bytes) {
  return point.bytes - point.bytes / nearDivisor <= bytes;
}

/// Which plan takes the least memory depends on the order of ops that `schedule` finds: of those near the least, it is
/// found here.
static void moveOpsOfLeast(func::FuncOp step, std::deque<FrontierPoint> &points) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const FrontierPoint &point : points) least = std::min(least, point.bytes);
  for (FrontierPoint &point : points)
    if (isNear(point, least)) point.bytes = measure(step, point.plan, point.seconds, true).bytes;
}

size_t tessera::firstWithin(ArrayRef<FrontierPoint> frontier, int64_t room, func::FuncOp step) {
  for (auto [i, point] : llvm::enumerate(frontier)) {
    bool fits = point.bytes <= room;
    if (fits || (isNear(point, room) && measure(step, point.plan, point.seconds, true).bytes <= room)) return i;
  }
  return frontier.size() - 1;
}

std::vector<FrontierPoint> tessera::findFrontier(func::FuncOp step, PinPatterns &pins, const OpTimes &times) {
  std::vector<std::vector<Stage>> stages;
  auto addStages = [&](std::vector<Stage> found, Block *block) {
    for (Stage &stage : found) stage.seconds *= static_cast<double>(timesRun(block));
    stages.push_back(std::move(found));
  };
  for (Block *block : stepBlocks(step)) addStages(stagesOf(*block, times), block);
  size_t blocks = stages.size();
  for (auto [forward, backward] : allLayerPairs(step)) {
    LayerPair pair(forward, backward);
    addStages(stagesOf(pair, pins.pinsOf(pair), times), forward->getBlock());
  }
  std::vector<PlannedStages> path = pathThrough(stages, blocks);
  llvm::stable_sort(path, [](const auto &a, const auto &b) { return a.seconds < b.seconds; });
  size_t stride = (path.size() + mostPlans - 1) / mostPlans;
  std::deque<FrontierPoint> points = evaluate(step, std::move(path), stride);
  moveOpsOfLeast(step, points);
  std::vector<FrontierPoint> frontier;
  for (FrontierPoint &point : points)
    if (frontier.empty() || point.bytes < frontier.back().bytes) frontier.push_back(std::move(point));
  return frontier;
}

FrontierPoint tessera::findUniform(func::FuncOp step, PinPatterns &pins, const OpTimes &times, bool usesSegments) {
  RecomputePlan plan;
  double seconds = 0;
  for (auto [forward, backward] : allLayerPairs(step)) {
    LayerPair pair(forward, backward);
    std::vector<Policy> hull = hullOf(findPolicies(pair, pins.pinsOf(pair), times));
    int64_t layers = layersOf(pair), each = std::max<int64_t>(1, std::llround(std::sqrt(layers)));
    double layerSeconds = times.secondsOf(forward) / static_cast<double>(layers);
    Stage stage;
    if (usesSegments && layers > 2)
      stage = segmentStage(pair, each, hull.back(), layerSeconds);
    else
      stage.spans = {spanOf(layers, hull.back())}, stage.seconds = static_cast<double>(layers) * hull.back().seconds;
    seconds += stage.seconds * static_cast<double>(timesRun(forward->getBlock()));
    plan.pairs.push_back(std::move(stage.spans));
  }
  return measure(step, std::move(plan), seconds);
}
