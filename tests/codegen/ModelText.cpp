//===- ModelText.cpp - a model file's kernels as text ---------------------===//

#include "ModelText.h"
#include "frontend/Frontend.h"
#include "ir/program/Target.h"
#include "passes/Pipeline.h"

using namespace tessera;

static std::string modelAfter(const std::string &phase, const std::string &path, const std::vector<std::string> &sets,
                              bool forGpu) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<TsrDialect, mlir::func::FuncDialect>();
  FrontendOptions options;
  options.sets = sets;
  DiagnosticEngine diagnostics;
  auto module = compileModel(context, path, options, diagnostics);
  diagnostics.printText(llvm::errs());
  PipelineOptions pipeline;
  pipeline.compileTo = phase;
  if (module && forGpu) Target::named("h100")->record(*module);
  if (!module || failed(runPipeline(*module, pipeline))) return "";
  std::string text;
  llvm::raw_string_ostream out(text);
  module->print(out);
  return text;
}

std::string test::fusedModel(const std::string &path, const std::vector<std::string> &sets) {
  return modelAfter("fuse", path, sets, false);
}

std::string test::gpuModel(const std::string &path, const std::vector<std::string> &sets) {
  return modelAfter("schedule", path, sets, true);
}
