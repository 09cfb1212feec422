//===- Manifest.h - writes a program's manifest ---------------------------===//

#ifndef TESSERA_CODEGEN_HOST_MANIFEST_H
#define TESSERA_CODEGEN_HOST_MANIFEST_H

#include "codegen/KernelArgument.h"
#include "codegen/program/GemmTable.h"
#include "codegen/program/KernelWork.h"
#include "llvm/ADT/MapVector.h"

namespace tessera {

/// The machine that a program's code is for.
struct TargetDescription {
  std::vector<std::string> architectures; ///< of GPUs: sm_90a; empty for a program that runs on the CPU
  std::string march;                      ///< LLVM's name of the processor
  std::vector<std::string> features;      ///< instruction sets that the code may use, in LLVM's names
  int threads = 1;
};

/// What code generation adds to the scheduled module.
struct ProgramFacts {
  TargetDescription target;
  const GemmTable *gemms = nullptr;
  int64_t arenaBytes = 0;      ///< with the workspace
  int64_t workspaceOffset = 0; ///< in the arena
  int64_t scratchOffset = 0;   ///< in the arena: `threads` times `scratchBytes`
  int64_t scratchBytes = 0;
  /// A distinct kernel, its work in one call, and how often each entry function calls it.
  struct Kernel {
    std::string symbol;
    KernelWork work;
    llvm::MapVector<llvm::StringRef, int64_t> calls;
    /// On a device: blocks of the grid, threads of a block, and arguments.
    int64_t blocks = 0, threads = 0;
    std::vector<KernelArgument> arguments;
    bool isPart = false; ///< the op that it belongs to is done behind a later launch
    std::string line;    ///< of the model
  };
  std::vector<Kernel> kernels; ///< in the order of the code's table
};

/// The manifest of docs/manifest.md as text, with keys in a fixed order.
std::string writeManifest(mlir::ModuleOp module, const ProgramFacts &facts);

} // namespace tessera

#endif // TESSERA_CODEGEN_HOST_MANIFEST_H
