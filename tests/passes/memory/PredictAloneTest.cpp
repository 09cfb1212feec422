//===- PredictAloneTest.cpp - `predict` without other entry functions -------===//
//
// The search for a batch of `predict` plans this function alone (tools/PredictBatch.h). It takes what it takes in the
// program.
//
//===----------------------------------------------------------------------===//

#include "ir/program/Program.h"
#include "passes/Pipeline.h"
#include "passes/memory/BufferList.h"
#include "passes/memory/PlanStorage.h"
#include "tests/passes/memory/PlannedModel.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

static int64_t bytesOfPredict(ModuleOp module) { return plannedBytes(module, "predict") - stateBytes(module); }

TEST(PredictAlone, TakesWhatItTakesInTheProgram) {
  int compared = 0;
  for (const std::string &name : exampleNames())
    for (const char *device : {"x86", "h100"})
      for (const char *compute : {"", "bf16", "fp8"}) {
        MLIRContext context;
        OwningOpRef<ModuleOp> alone;
        auto afterPhase = [&](StringRef phase, ModuleOp module) {
          if (phase == "simplify") alone = module.clone();
        };
        OwningOpRef<ModuleOp> program = planExample(context, name, {device, compute, afterPhase});
        ASSERT_TRUE(program) << name;
        if (!program->lookupSymbol("predict")) continue;
        for (func::FuncOp function : entryFunctions(*alone))
          if (function.getName() != "predict") function.erase();
        ASSERT_TRUE(succeeded(runPipeline(*alone, {}))) << name;
        EXPECT_EQ(bytesOfPredict(*alone), bytesOfPredict(*program)) << name << " " << device << " " << compute;
        ++compared;
      }
  EXPECT_GT(compared, 12);
}
