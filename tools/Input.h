//===- Input.h - a model file or a dumped module as input -----------------===//

#ifndef TESSERA_TOOLS_INPUT_H
#define TESSERA_TOOLS_INPUT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>
#include <vector>

namespace tessera {

/// What names the input and shapes it.
struct InputOptions {
  std::string path;
  std::vector<std::string> sets; ///< NAME=VALUE
  std::string precision;         ///< short for a set of `compute`; empty: none
  std::string preset;
  bool audits = false; ///< the program can compare its steps with f32
  bool jsonDiagnostics = false;
};

/// Exit codes of the compiler.
enum ExitCode { ExitDone = 0, ExitInput = 1, ExitUsage = 2, ExitInternal = 70 };

/// Added to them under `tessera train`, so that the program's own stay apart from the compiler's.
inline constexpr int ExitTrainShift = 64;

/// Registers the dialects the compiler works with.
void loadDialects(mlir::MLIRContext &context);

/// Reads a dumped module. Errors are printed; then it is null. What its phase promises is not checked.
mlir::OwningOpRef<mlir::ModuleOp> readDump(mlir::MLIRContext &context, const std::string &path);

/// What was read. Without a module there were errors, which are printed to standard error.
struct Input {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  int status = ExitDone;          ///< the exit code that belongs to the errors
  std::vector<std::string> files; ///< the model or module, and the files it uses
};

/// Reads a `.tsr` model (giving a module after phase `parse`) or a dumped `.mlir` module (at the phase it names).
Input readInput(mlir::MLIRContext &context, const InputOptions &options);

/// Checks the input, be it a model without training or a file of functions; errors are printed. Returns an exit code.
int checkInput(mlir::MLIRContext &context, const InputOptions &options);

} // namespace tessera

#endif // TESSERA_TOOLS_INPUT_H
