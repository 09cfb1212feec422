//===- CodeParts.h - a module of code, cut for several threads -------------===//
//
// Functions are compiled one by one, so a module may be cut between them. How it
// is cut depends on nothing but the module: however many threads there are, the
// bytes of the program are the same.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_CODEPARTS_H
#define TESSERA_CODEGEN_CPU_CODEPARTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <vector>

namespace tessera {

/// The functions and globals of one part, in the order that they have in the module.
using CodePart = std::vector<mlir::Operation *>;

/// Divides the functions and globals of an LLVM-dialect module into parts of about the same work: one if there is
/// little to do, else at most sixteen.
std::vector<CodePart> divideCode(mlir::ModuleOp code);

/// A module that defines what is in `part` and declares what that refers to in others. A symbol that was the module's
/// own (internal, private) is visible to the linker here, but hidden: no program exports it.
mlir::OwningOpRef<mlir::ModuleOp> makePartModule(mlir::ModuleOp code, const CodePart &part);

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CODEPARTS_H
