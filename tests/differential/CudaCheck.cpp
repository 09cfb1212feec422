//===- CudaCheck.cpp - a program as emulated CUDA code against the interpreter ---===//

#include "tests/differential/CudaCheck.h"
#include "ir/program/Program.h"
#include "passes/Pipeline.h"
#include "tests/differential/CudaRunner.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

Target tessera::test::smallDevice() {
  Target target = *Target::named("h100");
  target.gpu = {.multiprocessors = 1, .threadsPerMultiprocessor = 32, .cacheBytes = 0};
  return target.preferring(Preference::Memory); // the large one prefers speed
}

std::string tessera::test::checkOnCuda(ModuleOp program, OwningOpRef<ModuleOp> *result, const Target &target) {
  target.record(program);
  PipelineOptions toOptimize;
  toOptimize.compileTo = "optimize";
  if (failed(runPipeline(program, toOptimize))) return "optimize: fails";
  OwningOpRef<ModuleOp> scheduled = cast<ModuleOp>(program->clone());
  if (failed(runPipeline(*scheduled, {}))) return "schedule: fails";
  CudaRunner cuda;
  FailureOr<RunnerError> error = judge(cuda, *scheduled, program);
  if (result) *result = std::move(scheduled);
  if (failed(error)) return "does not run";
  if (error->isAccepted()) return "";
  return llvm::formatv("{0} is off by {1:e2}, rounding {2:e2}, norm {3:e2}", error->tensor, error->error,
                       error->rounding, error->norm);
}
