//===- RandomCpuTest.cpp - random programs as CPU code --------------------===//
//
// Each program, in f32, goes through the whole pipeline, is compiled and run;
// `judge` compares the results with the interpreter's.
//
//===----------------------------------------------------------------------===//

#include "passes/Pipeline.h"
#include "tests/differential/CpuCheck.h"
#include "tests/differential/RandomGraph.h"
#include "tests/differential/RandomMain.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

TEST(RandomCpu, CodeComputesWhatTheProgramSays) {
  forEachSeed([](unsigned seed) {
    MLIRContext context;
    OwningOpRef<ModuleOp> program = makeRandomProgram(context, seed, Float32Type::get(&context), options().extra);
    setCompute(*program, options().compute);
    PipelineOptions toOptimize;
    toOptimize.compileTo = "optimize";
    std::string wrong =
        failed(runPipeline(*program, toOptimize)) ? "optimize: fails" : checkOnCpu(*program, options().threads);
    if (wrong.empty()) return;
    ADD_FAILURE() << "seed " << seed << ": " << wrong;
    if (options().prints) program->print(llvm::errs());
  });
}
