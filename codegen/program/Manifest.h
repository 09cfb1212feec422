//===- Manifest.h - writes a program's manifest ---------------------------===//

#ifndef TESSERA_CODEGEN_HOST_MANIFEST_H
#define TESSERA_CODEGEN_HOST_MANIFEST_H

#include "codegen/program/GemmTable.h"
#include "codegen/program/KernelTable.h"

namespace tessera {

/// What code generation adds to the scheduled module.
struct ProgramFacts {
  TargetDescription target;
  const KernelTable *kernels = nullptr;
  const GemmTable *gemms = nullptr;
  int64_t arenaBytes = 0;      ///< with the workspace
  int64_t workspaceOffset = 0; ///< in the arena
  int64_t scratchOffset = 0;   ///< in the arena: `threads` times `scratchBytes`
  int64_t scratchBytes = 0;
};

/// The manifest of docs/manifest.md as text, with keys in a fixed order.
std::string writeManifest(mlir::ModuleOp module, const ProgramFacts &facts);

} // namespace tessera

#endif // TESSERA_CODEGEN_HOST_MANIFEST_H
