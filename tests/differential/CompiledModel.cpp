//===- CompiledModel.cpp - a model's text as a module after some phase ------===//

#include "tests/differential/CompiledModel.h"
#include "frontend/Frontend.h"
#include "ir/dialect/Tsr.h"
#include "passes/Pipeline.h"
#include "tests/differential/RandomGraph.h"

using namespace mlir;
using namespace tessera;

OwningOpRef<ModuleOp> test::compileTo(MLIRContext &context, StringRef model, StringRef phase, StringRef compute) {
  context.loadDialect<TsrDialect, func::FuncDialect>();
  tessera::DiagnosticEngine diagnostics;
  OwningOpRef<ModuleOp> module = compileModelText(context, model.str(), "<model>", {}, diagnostics);
  if (!module) {
    diagnostics.printText(llvm::errs());
    return {};
  }
  setCompute(*module, compute);
  PipelineOptions pipeline;
  pipeline.compileTo = phase.str();
  if (failed(runPipeline(*module, pipeline))) return {};
  return module;
}
