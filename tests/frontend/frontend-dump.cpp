//===- frontend-dump.cpp - a model's IR or messages, for tests -------------===//
//
// frontend-dump [--json] [--set NAME=VALUE]... [--preset NAME]... MODEL.tsr
//
//===----------------------------------------------------------------------===//

#include "frontend/Frontend.h"

int main(int argc, char **argv) {
  tessera::FrontendOptions options;
  llvm::StringRef path;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef arg = argv[i];
    if (arg == "--json")
      json = true;
    else if (arg == "--set" && i + 1 < argc)
      options.sets.push_back(argv[++i]);
    else if (arg == "--preset" && i + 1 < argc)
      options.presets.push_back(argv[++i]);
    else
      path = arg;
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  tessera::DiagnosticEngine diagnostics;
  auto module = tessera::compileModel(context, path, options, diagnostics);
  json ? diagnostics.printJson(llvm::outs()) : diagnostics.printText(llvm::outs());
  if (module) module->print(llvm::outs(), mlir::OpPrintingFlags().useLocalScope());
  return module ? 0 : 1;
}
