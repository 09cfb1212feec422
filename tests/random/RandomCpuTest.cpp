//===- RandomCpuTest.cpp - random programs as CPU code --------------------===//
//
// Each program, in f32, goes through the whole pipeline, is compiled and run;
// `judge` compares the results with the interpreter's.
//
//===----------------------------------------------------------------------===//

#include "ir/Program.h"
#include "passes/Pipeline.h"
#include "tests/random/CpuTarget.h"
#include "tests/random/RandomGraph.h"
#include "tests/random/RandomMain.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {
/// One program and what was found wrong with it.
class CpuCheck {
public:
  explicit CpuCheck(unsigned seed) : program(makeRandomProgram(context, seed, Float32Type::get(&context))) {}
  std::string run();
  ModuleOp getProgram() { return *program; }

private:
  MLIRContext context;
  OwningOpRef<ModuleOp> program;
};
} // namespace

std::string CpuCheck::run() {
  PipelineOptions toOptimize;
  toOptimize.compileTo = "optimize";
  if (failed(runPipeline(*program, toOptimize))) return "optimize: fails";
  OwningOpRef<ModuleOp> scheduled = cast<ModuleOp>(program->getOperation()->clone());
  if (failed(runPipeline(*scheduled, {}))) return "schedule: fails";

  CpuTarget cpu(options().threads);
  FailureOr<TargetError> error = judge(cpu, *scheduled, *program);
  if (failed(error)) return "does not run";
  if (error->isAccepted()) return "";
  return llvm::formatv("{0} is off by {1:e2}, rounding {2:e2}, norm {3:e2}", error->tensor, error->error,
                       error->rounding, error->norm);
}

TEST(RandomCpu, CodeComputesWhatTheProgramSays) {
  forEachSeed([](unsigned seed) {
    CpuCheck check(seed);
    std::string wrong = check.run();
    if (wrong.empty()) return;
    ADD_FAILURE() << "seed " << seed << ": " << wrong;
    if (options().prints) check.getProgram()->print(llvm::errs());
  });
}
