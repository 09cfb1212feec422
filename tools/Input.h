//===- Input.h - a model file or a dumped module as input -----------------===//

#ifndef TESSERA_TOOLS_INPUT_H
#define TESSERA_TOOLS_INPUT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

class DiagnosticEngine;

/// Options that name the input and set its values.
struct InputOptions {
  std::string path;
  std::vector<std::string> sets; ///< NAME=VALUE
  std::string precision;         ///< short for `--set compute=…`; empty: none
  int64_t leaves = 0;            ///< the batch of a model file is cut into so many, as `accumulate` does; 0: none
  std::string preset;
  bool audits = false; ///< the program can compare its steps with f32
  /// Rows of a batch of `predict`, for a model that has been read before: its messages are not printed again.
  std::optional<int64_t> predictRows;
  bool jsonDiagnostics = false;
};

/// Exit statuses of the compiler.
enum CommandStatus { ExitDone = 0, ExitInput = 1, ExitUsage = 2, ExitInternal = 70 };

/// Added to them by `tessera train`, to distinguish them from the exit statuses of the training program.
inline constexpr int ExitTrainShift = 64;

/// Registers the dialects that the compiler uses.
void loadDialects(mlir::MLIRContext &context);

/// Reads a dumped module. Errors are printed; then it is null. What its phase promises is not checked.
mlir::OwningOpRef<mlir::ModuleOp> readDump(mlir::MLIRContext &context, const std::string &path);

/// The same from the text of the file.
mlir::OwningOpRef<mlir::ModuleOp> parseDump(mlir::MLIRContext &context, const std::string &path,
                                            std::unique_ptr<llvm::MemoryBuffer> text);

/// The input as a module. Without a module there were errors, which were printed to standard error.
struct Input {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  int status = ExitDone;          ///< the exit status that belongs to the errors
  std::vector<std::string> files; ///< the model or module, and the files it uses
  /// Holds the texts of a model, for messages about it that come later; null for a module.
  std::shared_ptr<DiagnosticEngine> diagnostics = nullptr;
};

/// Reads a `.tsr` model (giving a module after phase `parse`) or a dumped `.mlir` module (at the phase it names).
Input readInput(mlir::MLIRContext &context, const InputOptions &options);

/// Checks the input, also a model without training or a file of functions; prints errors.
Input checkInput(mlir::MLIRContext &context, const InputOptions &options);

} // namespace tessera

#endif // TESSERA_TOOLS_INPUT_H
