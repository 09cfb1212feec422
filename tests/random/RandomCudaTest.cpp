//===- RandomCudaTest.cpp - random programs as CUDA code --------------------===//
//
// Each program goes through the whole pipeline as one for a GPU; entry functions and kernels run in this process, and `judge`
// compares the results with the interpreter's.
//
//===----------------------------------------------------------------------===//

#include "ir/Program.h"
#include "passes/Pipeline.h"
#include "tests/random/CudaTarget.h"
#include "tests/random/RandomGraph.h"
#include "tests/random/RandomMain.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

/// What is wrong; empty if nothing is.
static std::string check(ModuleOp program) {
  program->setAttr(attrs::target, StringAttr::get(program.getContext(), "cuda"));
  PipelineOptions toOptimize;
  toOptimize.compileTo = "optimize";
  if (failed(runPipeline(program, toOptimize))) return "optimize: fails";
  OwningOpRef<ModuleOp> scheduled = cast<ModuleOp>(program->clone());
  if (failed(runPipeline(*scheduled, {}))) return "schedule: fails";
  CudaTarget cuda;
  FailureOr<TargetError> error = judge(cuda, *scheduled, program);
  if (failed(error)) return "does not run";
  if (error->isAccepted()) return "";
  return llvm::formatv("{0} is off by {1:e2}, rounding {2:e2}, norm {3:e2}", error->tensor, error->error,
                       error->rounding, error->norm);
}

TEST(RandomCuda, CodeComputesWhatTheProgramSays) {
  forEachSeed([](unsigned seed) {
    MLIRContext context;
    OwningOpRef<ModuleOp> program = makeRandomProgram(context, seed, Float32Type::get(&context));
    setCompute(*program, options().compute);
    std::string wrong = check(*program);
    if (wrong.empty()) return;
    ADD_FAILURE() << "seed " << seed << ": " << wrong;
    if (options().prints) program->print(llvm::errs());
  });
}
