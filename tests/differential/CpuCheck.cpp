//===- CpuCheck.cpp - a program as CPU code against the interpreter -------===//

#include "tests/differential/CpuCheck.h"
#include "passes/Pipeline.h"
#include "tests/differential/CpuRunner.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

std::string tessera::test::checkOnCpu(ModuleOp optimized, int threads, OwningOpRef<ModuleOp> *scheduled) {
  OwningOpRef<ModuleOp> module = cast<ModuleOp>(optimized->clone());
  if (failed(runPipeline(*module, {}))) return "schedule: fails";
  CpuRunner cpu(threads);
  FailureOr<RunnerError> error = judge(cpu, *module, optimized);
  if (scheduled) *scheduled = std::move(module);
  if (failed(error)) return "does not run";
  if (error->isAccepted()) return "";
  return llvm::formatv("{0} is off by {1:e2}, rounding {2:e2}, norm {3:e2}", error->tensor, error->error,
                       error->rounding, error->norm);
}
