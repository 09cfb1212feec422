//===- Frontend.cpp - from a model file to tsr IR --------------------------===//

#include "frontend/Frontend.h"
#include "frontend/Elaborator.h"
#include "frontend/SourceRecord.h"
#include "frontend/names/Declarations.h"
#include "ir/program/Program.h"

using namespace tessera;
using llvm::StringRef;

/// Reads the model file into the sources; nothing if it cannot be read.
static std::optional<unsigned> readModel(StringRef path, DiagnosticEngine &diagnostics) {
  std::string problem;
  std::unique_ptr<llvm::MemoryBuffer> buffer = readTextFile(path, MaxFileSize + 1, problem);
  if (buffer) return diagnostics.sources().add(std::move(buffer), path);
  diagnostics.error(DiagnosticCode::E0001, "cannot read `" + path + "`: " + problem);
  return std::nullopt;
}

static mlir::OwningOpRef<mlir::ModuleOp> compile(mlir::MLIRContext &context, unsigned file, StringRef path,
                                                 const FrontendOptions &options, DiagnosticEngine &diagnostics) {
  Declarations program = loadProgram(file, path, diagnostics);
  if (!diagnostics.hasErrors() && !program.model && !program.train)
    diagnostics.error(DiagnosticCode::E0401, Span{file, 0, 0},
                      "the file has no `model` and no `train`: there is nothing to compile");
  if (diagnostics.hasErrors()) return {};
  context.loadDialect<TsrDialect, mlir::func::FuncDialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module = Elaborator(context, program, options, diagnostics).run();
  if (module) setSource(*module, recordSource(context, options, diagnostics));
  return module;
}

mlir::OwningOpRef<mlir::ModuleOp> tessera::compileModel(mlir::MLIRContext &context, StringRef path,
                                                        const FrontendOptions &options, DiagnosticEngine &diagnostics) {
  std::optional<unsigned> file = readModel(path, diagnostics);
  return file ? compile(context, *file, path, options, diagnostics) : nullptr;
}

mlir::OwningOpRef<mlir::ModuleOp> tessera::compileModelText(mlir::MLIRContext &context, StringRef text, StringRef name,
                                                            const FrontendOptions &options,
                                                            DiagnosticEngine &diagnostics) {
  return compile(context, diagnostics.sources().add(text, name), name, options, diagnostics);
}

mlir::OwningOpRef<mlir::ModuleOp> tessera::checkModel(mlir::MLIRContext &context, StringRef path,
                                                      const FrontendOptions &options, DiagnosticEngine &diagnostics) {
  std::optional<unsigned> file = readModel(path, diagnostics);
  if (!file) return {};
  Declarations program = loadProgram(*file, path, diagnostics);
  if (diagnostics.hasErrors()) return {};
  context.loadDialect<TsrDialect, mlir::func::FuncDialect>();
  FrontendOptions checking = options;
  checking.checkOnly = true;
  return Elaborator(context, program, checking, diagnostics).run();
}

std::vector<std::string> tessera::hyperNames(StringRef path) {
  DiagnosticEngine diagnostics;
  std::optional<unsigned> file = readModel(path, diagnostics);
  if (!file) return {};
  Declarations program = loadProgram(*file, path, diagnostics);
  std::vector<std::string> names;
  for (auto &entry : program.hypers) names.push_back(entry.first.str());
  return names;
}
