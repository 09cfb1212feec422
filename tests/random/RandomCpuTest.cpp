//===- RandomCpuTest.cpp - random programs as CPU code --------------------===//
//
//   random-cpu-tests [--graphs=300] [--first-seed=0] [--threads=2] [--print]
//
// Each program, in f32, goes through the whole pipeline, is compiled and run;
// `judge` compares the results with the interpreter's.
//
//===----------------------------------------------------------------------===//

#include "ir/Program.h"
#include "passes/Pipeline.h"
#include "tests/random/CpuTarget.h"
#include "tests/random/RandomGraph.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Signals.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

static int graphs = 300, firstSeed = 0, threads = 2, currentSeed = 0;
static bool printsPrograms = false;

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

  CpuTarget cpu(threads);
  FailureOr<TargetError> error = judge(cpu, *scheduled, *program);
  if (failed(error)) return "does not run";
  if (error->isAccepted()) return "";
  return llvm::formatv("{0} is off by {1:e2}, rounding {2:e2}, norm {3:e2}", error->tensor, error->error,
                       error->rounding, error->norm);
}

TEST(RandomCpu, CodeComputesWhatTheProgramSays) {
  for (currentSeed = firstSeed; currentSeed < firstSeed + graphs; ++currentSeed) {
    CpuCheck check(currentSeed);
    std::string wrong = check.run();
    if (wrong.empty()) continue;
    ADD_FAILURE() << "seed " << currentSeed << ": " << wrong;
    if (printsPrograms) check.getProgram()->print(llvm::errs());
  }
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  for (StringRef argument : llvm::ArrayRef(argv, argc).drop_front()) {
    if (argument.consume_front("--graphs="))
      (void)argument.getAsInteger(10, graphs);
    else if (argument.consume_front("--first-seed="))
      (void)argument.getAsInteger(10, firstSeed);
    else if (argument.consume_front("--threads="))
      (void)argument.getAsInteger(10, threads);
    else if (argument == "--print")
      printsPrograms = true;
    else
      return llvm::errs() << "unknown argument " << argument << "\n", 2;
  }
  // A crash names its seed.
  llvm::sys::AddSignalHandler([](void *) { llvm::errs() << "seed " << currentSeed << "\n"; }, nullptr);
  return RUN_ALL_TESTS();
}
