//===- MemoryTimelineTest.cpp - which values are live at which moment -----===//

#include "passes/memory/MemoryTimeline.h"
#include "ir/program/Program.h"
#include "ir/program/Target.h"
#include "passes/Pipeline.h"
#include "passes/memory/BufferList.h"
#include "tests/differential/RandomGraph.h"
#include "tests/passes/memory/PlannedModel.h"
#include "gtest/gtest.h"
#include <map>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

static int64_t arenaOf(ModuleOp module) { return module->getAttrOfType<IntegerAttr>(attrs::arena).getInt(); }

/// At each moment the values have bytes of their own.
static void expectDisjoint(const MemoryTimeline &timeline, const std::string &where) {
  for (int moment = 0; moment <= timeline.lastMoment; ++moment) {
    std::vector<const MemoryValue *> live;
    for (const MemoryValue &value : timeline.values)
      if (value.first <= moment && moment <= value.last) live.push_back(&value);
    llvm::sort(live, [](const MemoryValue *a, const MemoryValue *b) { return a->offset < b->offset; });
    for (size_t i = 1; i < live.size(); ++i)
      ASSERT_LE(live[i - 1]->offset + live[i - 1]->bytes, live[i]->offset)
          << where << " at " << moment << ": " << live[i - 1]->name << " and " << live[i]->name;
  }
}

/// What holds for every plan: live bytes fit into the arena, and are the lower bound of its size where most are live.
static void expectExact(ModuleOp module, const std::string &what, bool isSplit = false) {
  int64_t most = 0;
  for (func::FuncOp function : entryFunctions(module)) {
    MemoryTimeline timeline = memoryTimeline(function);
    std::string where = what + ", " + function.getName().str();
    for (int moment = 0; moment <= timeline.lastMoment; ++moment) {
      EXPECT_LE(timeline.bytesAt(moment), arenaOf(module)) << where << " at " << moment;
      EXPECT_LE(timeline.bytesAt(moment), timeline.bytesAt(timeline.peak)) << where << " at " << moment;
    }
    expectDisjoint(timeline, where);
    most = std::max(most, timeline.bytesAt(timeline.peak));
    for (const MemoryValue &value : timeline.values) {
      EXPECT_LE(0, value.first) << where << ": " << value.name;
      EXPECT_LE(value.first, value.last) << where << ": " << value.name;
      EXPECT_LE(value.last, timeline.lastMoment) << where << ": " << value.name;
      EXPECT_LT(0, value.bytes) << where << ": " << value.name;
    }
    for (const MemoryMoment &moment : timeline.moments) EXPECT_LE(moment.number, timeline.lastMoment) << where;
  }
  if (isSplit)
    EXPECT_GE(most, arenaLowerBound(module)) << what; // kernels of a launch were taken apart after planning
  else
    EXPECT_EQ(most, arenaLowerBound(module)) << what;
}

/// The kinds of the values of `step`, by name.
static std::multimap<std::string, BufferKind> kindsOfStep(ModuleOp module) {
  std::multimap<std::string, BufferKind> kinds;
  for (const MemoryValue &value : memoryTimeline(module.lookupSymbol<func::FuncOp>("step")).values)
    kinds.insert({value.name, value.kind});
  return kinds;
}

static void expectKind(ModuleOp module, const std::string &name, BufferKind kind) {
  auto kinds = kindsOfStep(module);
  auto [first, last] = kinds.equal_range(name);
  EXPECT_NE(first, last) << name << " is missing";
  bool isThere = std::any_of(first, last, [&](const auto &entry) { return entry.second == kind; });
  EXPECT_TRUE(isThere) << name << " is not of the kind " << stringifyBufferKind(kind).str();
}

static constexpr const char *perceptron = R"(
use nn: relu
dim batch, feature = 64, hidden = 128, class = 32

model mlp(x[batch, feature]) -> [batch, class] {
  weight up [feature, hidden] = normal(0.1)
  bias shift [hidden]
  weight down [hidden, class] = normal(0.1)
  sum[hidden](relu(sum[feature](x * up) + shift) * down)
}

train mlp {
  data d = csv(train = "none", batch = 64, x = float[feature](column = 0), y = float[class](column = 64))
  loss mse = mean[batch, class]((mlp(d.x) - d.y)^2)
  optimize adamw(lr = 0.01, decay = 0.1) on **
  clip(1.0)
  stop(after = 10)
}
)";

TEST(MemoryTimeline, KindsOfAPerceptronWithAdamInBf16) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = planText(context, perceptron, {"x86", "bf16", {}});
  ASSERT_TRUE(module);
  expectKind(*module, "up", BufferKind::Parameter);
  expectKind(*module, "up", BufferKind::WeightCopy); // in bf16
  expectKind(*module, "down", BufferKind::WeightCopy);
  expectKind(*module, "up.m", BufferKind::Optimizer);
  expectKind(*module, "down.v", BufferKind::Optimizer);
  expectKind(*module, "step", BufferKind::Optimizer);
  expectKind(*module, "d.x", BufferKind::Input);
  expectKind(*module, "gradient of up", BufferKind::Gradient);
  expectKind(*module, "gradient of down", BufferKind::Gradient);
  expectKind(*module, "gradient of shift", BufferKind::Gradient);
  bool hasSaved = false;
  for (auto &[name, kind] : kindsOfStep(*module)) hasSaved |= kind == BufferKind::Saved;
  EXPECT_TRUE(hasSaved);
  expectExact(*module, "perceptron");
}

TEST(MemoryTimeline, KindsOfLayersInMicroBatches) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = planText(context, layeredModel, {"x86", "f32", {}});
  ASSERT_TRUE(module);
  expectKind(*module, "seen", BufferKind::ModelState);
  // The stacks of the layers' gradients, and the sums of the micro-batches.
  for (const char *name : {"gradient of h.up", "gradient of h.down", "gradient of h.shift"}) {
    auto kinds = kindsOfStep(*module);
    auto [first, last] = kinds.equal_range(name);
    EXPECT_NE(first, last) << name;
    for (auto it = first; it != last; ++it) EXPECT_EQ(it->second, BufferKind::Gradient) << name;
  }
  // Where most is live, the sums over micro-batches are.
  MemoryTimeline timeline = memoryTimeline(module->lookupSymbol<func::FuncOp>("step"));
  BytesByKind live = timeline.liveAt(timeline.peak);
  EXPECT_GE(live[static_cast<unsigned>(BufferKind::Gradient)], live[static_cast<unsigned>(BufferKind::Parameter)]);
  // Evaluation has no backward pass.
  for (const MemoryValue &value : memoryTimeline(module->lookupSymbol<func::FuncOp>("evaluate")).values)
    EXPECT_TRUE(value.kind != BufferKind::Saved && value.kind != BufferKind::Gradient) << value.name;
  expectExact(*module, "layers");
}

TEST(MemoryTimeline, MomentsOfARepeatDoNotGrowWithItsIterations) {
  std::string text = layeredModel;
  size_t at = text.find("layer = 3");
  std::string deep = text.substr(0, at) + "layer = 30" + text.substr(at + 9);
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> few = planText(context, text, {}), many = planText(context, deep, {});
  ASSERT_TRUE(few && many);
  MemoryTimeline a = memoryTimeline(few->lookupSymbol<func::FuncOp>("step")),
                 b = memoryTimeline(many->lookupSymbol<func::FuncOp>("step"));
  EXPECT_EQ(a.moments.size(), b.moments.size());
  EXPECT_EQ(a.values.size(), b.values.size());
  EXPECT_TRUE(llvm::any_of(b.moments, [](const MemoryMoment &moment) { return moment.iterations == 30; }));
}

TEST(MemoryTimeline, LiveBytesOfTheExamplesAreTheLowerBound) {
  for (const std::string &name : exampleNames())
    for (const char *device : {"x86", "h100"})
      for (const char *compute : {"f32", "bf16"}) {
        MLIRContext context(MLIRContext::Threading::DISABLED);
        OwningOpRef<ModuleOp> module = planExample(context, name, {device, compute, {}});
        ASSERT_TRUE(module) << name;
        expectExact(*module, name + " in " + compute + " for " + device, /*isSplit=*/device == StringRef("h100"));
      }
}

TEST(MemoryTimeline, LiveBytesOfRandomProgramsAreTheLowerBound) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    MLIRContext context(MLIRContext::Threading::DISABLED);
    OwningOpRef<ModuleOp> module = makeRandomProgram(context, seed, Float32Type::get(&context));
    bool isForGpu = seed % 3 == 0;
    if (isForGpu) Target::named("h100")->record(*module);
    if (seed % 2) setCompute(*module, "bf16");
    ASSERT_TRUE(succeeded(runPipeline(*module, {}))) << "seed " << seed;
    expectExact(*module, "seed " + std::to_string(seed), /*isSplit=*/isForGpu);
  }
}
