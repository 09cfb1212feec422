//===- MeshRules.h - what the user says of axes, and what is wrong with it ===//
//
// The texts that refuse a mesh, or axes that are laid along mesh axes, because they contradict the program or each
// other. What is said of single states is judged in StateShardings.h.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_MESHRULES_H
#define TESSERA_PASSES_SHARDING_MESHRULES_H

#include "passes/sharding/Sharding.h"
#include "llvm/ADT/StringMap.h"
#include <string>

namespace tessera {

/// The axes that a program declares; a model may declare more than its values have.
llvm::SmallVector<llvm::StringRef> declaredAxes(mlir::ModuleOp module);

/// What is wrong with a mesh for a program: empty if nothing is.
std::string problemOfMesh(mlir::ModuleOp module, const ProgramMesh &mesh);

/// What is wrong with the axes that the user lays along mesh axes: empty if nothing is.
std::string problemOfRules(mlir::ModuleOp module, const Sharding &rules, const ProgramMesh &mesh);

/// What is wrong if a mesh axis divides nothing, as its ranks would all do the same: empty if each divides something.
/// `ofState`: shardings of states by their paths.
std::string problemOfUnused(mlir::ModuleOp module, const ProgramMesh &mesh, const Sharding &rules,
                            const llvm::StringMap<Sharding> &ofState);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_MESHRULES_H
