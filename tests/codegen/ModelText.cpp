//===- ModelText.cpp - a model file's kernels as text ---------------------===//

#include "ModelText.h"
#include "frontend/Frontend.h"
#include "ir/Tsr.h"
#include "passes/Pipeline.h"

using namespace tessera;

std::string test::fusedModel(const std::string &path, const std::vector<std::string> &sets) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<TsrDialect, mlir::func::FuncDialect>();
  FrontendOptions options;
  options.sets = sets;
  DiagnosticEngine diagnostics;
  auto module = compileModel(context, path, options, diagnostics);
  diagnostics.printText(llvm::errs());
  PipelineOptions pipeline;
  pipeline.compileTo = "fuse";
  if (!module || failed(runPipeline(*module, pipeline))) return "";
  std::string text;
  llvm::raw_string_ostream out(text);
  module->print(out);
  return text;
}
