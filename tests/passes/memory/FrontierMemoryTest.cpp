//===- FrontierMemoryTest.cpp - a frontier that is found once ---------------===//

#include "passes/rematerialize/FrontierMemory.h"
#include "ir/program/MemorySettings.h"
#include "ir/program/ModuleText.h"
#include "ir/program/Program.h"
#include "passes/Pipeline.h"
#include "tests/passes/memory/PlannedModel.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

/// The layered model after `tile`.
static OwningOpRef<ModuleOp> tiledModel(MLIRContext &context) {
  OwningOpRef<ModuleOp> tiled;
  PlanOptions options;
  options.afterPhase = [&](StringRef phase, ModuleOp module) {
    if (phase == "tile") tiled = module.clone();
  };
  planText(context, layeredModel, options);
  return tiled;
}

static func::FuncOp stepOf(ModuleOp module) { return module.lookupSymbol<func::FuncOp>("step"); }

/// The scheduled module if the arena may take so many bytes.
static std::string planWithin(ModuleOp tiled, int64_t arena, FrontierMemory *memory) {
  OwningOpRef<ModuleOp> module = tiled.clone();
  MemorySettings settings;
  settings.budget = settings.arena = arena;
  settings.record(*module);
  PipelineOptions options;
  options.frontier = memory;
  EXPECT_TRUE(succeeded(runPipeline(*module, options)));
  return moduleText(*module);
}

TEST(FrontierMemory, KnowsTheFrontierOfAnEqualStepOnly) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = tiledModel(context);
  ASSERT_TRUE(module);
  FrontierMemory memory;
  EXPECT_FALSE(memory.find(stepOf(*module)));
  memory.remember(stepOf(*module), std::vector<FrontierPoint>(3));
  OwningOpRef<ModuleOp> other = module->clone();
  other->lookupSymbol<func::FuncOp>("predict").erase();
  stepOf(*other)->setLoc(UnknownLoc::get(&context));
  ASSERT_TRUE(memory.find(stepOf(*other)));
  EXPECT_EQ(memory.find(stepOf(*other))->size(), 3u);
  // One kernel has another name.
  KernelOp last;
  stepOf(*other).walk([&](KernelOp kernel) { last = kernel; });
  last.setName("other");
  EXPECT_FALSE(memory.find(stepOf(*other)));
  EXPECT_TRUE(memory.find(stepOf(*module)));
}

TEST(FrontierMemory, ChangesNoPlan) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = tiledModel(context);
  ASSERT_TRUE(module);
  FrontierMemory memory;
  std::set<std::string> plans;
  for (int64_t arena : {int64_t(1) << 40, int64_t(1)}) {
    std::string plan = planWithin(*module, arena, &memory);
    EXPECT_EQ(plan, planWithin(*module, arena, nullptr));
    EXPECT_EQ(plan, planWithin(*module, arena, &memory)); // it is known by now
    plans.insert(plan.substr(plan.find("func.func @step")));
  }
  EXPECT_EQ(plans.size(), 2u) << "the budgets must differ in what they recompute";
}
