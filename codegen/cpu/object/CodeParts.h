//===- CodeParts.h - a module of code, divided for several threads --------===//
//
// Functions are compiled independently, so a module may be divided between them. The parts depend on the module only,
// not on the number of threads, and so do the bytes of the program.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_OBJECT_CODEPARTS_H
#define TESSERA_CODEGEN_CPU_OBJECT_CODEPARTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <vector>

namespace tessera {

/// The functions and globals of one part, in the order that they have in the module.
using CodePart = std::vector<mlir::Operation *>;

/// Divides the functions and globals of an LLVM-dialect module into parts of about the same work: one for a small
/// module, at most sixteen for others.
std::vector<CodePart> divideCode(mlir::ModuleOp code);

/// A module that defines the members of `part` and declares the symbols of other parts that they use. An internal or
/// private symbol becomes visible to the linker, but hidden: the program does not export it.
mlir::OwningOpRef<mlir::ModuleOp> makePartModule(mlir::ModuleOp code, const CodePart &part);

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_OBJECT_CODEPARTS_H
