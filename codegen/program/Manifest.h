//===- Manifest.h - writes a program's manifest ---------------------------===//

#ifndef TESSERA_CODEGEN_PROGRAM_MANIFEST_H
#define TESSERA_CODEGEN_PROGRAM_MANIFEST_H

#include "codegen/program/ExchangeTable.h"
#include "codegen/program/GemmTable.h"
#include "codegen/program/KernelTable.h"
#include "passes/cost/ProgramCosts.h"

namespace tessera {

/// What the manifest says of a program besides the scheduled module.
struct CodegenSummary {
  TargetDescription target;
  const KernelTable *kernels = nullptr;
  const GemmTable *gemms = nullptr;
  const ExchangeTable *exchanges = nullptr;
  const ProgramCosts *costs = nullptr;
  int64_t arenaBytes = 0;            ///< with the workspace and the scratch memory
  std::optional<int64_t> arenaBound; ///< what it has at least, whatever the places of values; none: not known
  int64_t workspaceOffset = 0;       ///< in the arena
  int64_t mostBehind = 0;   ///< bytes of the workspace and the scratch memory, if both are on top of all values
  int64_t scratchBytes = 0; ///< the most of any kernel, for each of the `threads`
};

/// The manifest of docs/manifest.md as text, with keys in a fixed order.
std::string writeManifest(mlir::ModuleOp module, const CodegenSummary &summary);

} // namespace tessera

#endif // TESSERA_CODEGEN_PROGRAM_MANIFEST_H
