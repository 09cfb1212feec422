//===- Frontend.cpp - from a model file to tsr IR --------------------------===//

#include "frontend/Frontend.h"
#include "frontend/Elaborator.h"
#include "frontend/Scope.h"
#include "llvm/Support/FileSystem.h"

using namespace tessera;
using llvm::StringRef;

/// Reads the model file into the sources; nothing if it cannot be read.
static std::optional<unsigned> readModel(StringRef path, DiagnosticEngine &diagnostics) {
  if (llvm::sys::fs::is_directory(path)) {
    diagnostics.error(Code::E0001, "cannot read `" + path + "`: it is a folder");
    return std::nullopt;
  }
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    diagnostics.error(Code::E0001, "cannot read `" + path + "`: " + buffer.getError().message());
    return std::nullopt;
  }
  return diagnostics.sources().add(std::move(*buffer), path);
}

static mlir::OwningOpRef<mlir::ModuleOp> compile(mlir::MLIRContext &context, unsigned file, StringRef path,
                                                 const FrontendOptions &options, DiagnosticEngine &diagnostics) {
  SourceProgram program = loadProgram(file, path, diagnostics);
  if (diagnostics.hasErrors()) return {};
  context.loadDialect<TsrDialect, mlir::func::FuncDialect>();
  return Elaborator(context, program, options, diagnostics).run();
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

bool tessera::checkModel(mlir::MLIRContext &context, StringRef path, const FrontendOptions &options,
                         DiagnosticEngine &diagnostics) {
  std::optional<unsigned> file = readModel(path, diagnostics);
  if (!file) return false;
  SourceProgram program = loadProgram(*file, path, diagnostics);
  if (diagnostics.hasErrors()) return false;
  context.loadDialect<TsrDialect, mlir::func::FuncDialect>();
  FrontendOptions checking = options;
  checking.checkOnly = true;
  Elaborator(context, program, checking, diagnostics).run();
  return !diagnostics.hasErrors();
}
