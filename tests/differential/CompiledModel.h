//===- CompiledModel.h - a model's text as a module after some phase --------===//

#ifndef TESSERA_TESTS_DIFFERENTIAL_COMPILEDMODEL_H
#define TESSERA_TESTS_DIFFERENTIAL_COMPILEDMODEL_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tessera::test {

/// Null, with messages on standard error, where the text is wrong or a phase fails. `compute`: what `compute(…)` says;
/// empty: what the text does.
mlir::OwningOpRef<mlir::ModuleOp> compileTo(mlir::MLIRContext &context, llvm::StringRef model, llvm::StringRef phase,
                                            llvm::StringRef compute = "");

} // namespace tessera::test

#endif // TESSERA_TESTS_DIFFERENTIAL_COMPILEDMODEL_H
