//===- Frontend.h - from a model file to tsr IR ----------------------------===//

#ifndef TESSERA_FRONTEND_FRONTEND_H
#define TESSERA_FRONTEND_FRONTEND_H

#include "frontend/diagnostics/Diagnostics.h"
#include "frontend/elaborate/FrontendOptions.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace tessera {

/// Compiles the model file at `path` to the module after phase `parse`; null after errors, which are in `diagnostics`.
/// The context must have the tsr and func dialects loaded.
mlir::OwningOpRef<mlir::ModuleOp> compileModel(mlir::MLIRContext &context, llvm::StringRef path,
                                               const FrontendOptions &options, DiagnosticEngine &diagnostics);

/// The same for a text. `name` is what messages call it; a name like `<stdin>` means that there is no file.
mlir::OwningOpRef<mlir::ModuleOp> compileModelText(mlir::MLIRContext &context, llvm::StringRef text,
                                                   llvm::StringRef name, const FrontendOptions &options,
                                                   DiagnosticEngine &diagnostics);

/// Parses and type-checks. A file of functions only, for others to use, is checked as far as that goes without calls.
/// Returns the module as `compileModel` does, null without a training description.
mlir::OwningOpRef<mlir::ModuleOp> checkModel(mlir::MLIRContext &context, llvm::StringRef path,
                                             const FrontendOptions &options, DiagnosticEngine &diagnostics);

/// The hypers that a model file and the files that it uses declare.
std::vector<std::string> hyperNames(llvm::StringRef path);

} // namespace tessera

#endif // TESSERA_FRONTEND_FRONTEND_H
