//===- Program.h - from a scheduled module to a program -------------------===//

#ifndef TESSERA_CODEGEN_PROGRAM_PROGRAM_H
#define TESSERA_CODEGEN_PROGRAM_PROGRAM_H

#include "codegen/cuda/CudaBackend.h"
#include "codegen/program/Manifest.h"
#include "runtime/machine/AvailableCores.h"

namespace tessera {

struct CodegenOptions {
  std::optional<CudaOptions> cuda;         ///< for a module whose target is a GPU
  std::string march = "native";            ///< LLVM's name of a processor, or native
  int threads = runtime::availableCores(); ///< threads the program will run with
  DumpFolder *dumps = nullptr;             ///< write code and manifest here; null: do not
  bool timing = false;                     ///< print the time of each stage to standard error
};

/// A compiled program before it is packed: the shared object's bytes and the manifest.
struct CompiledProgram {
  std::string object;
  std::string manifest;
  std::vector<GemmTable::Entry> gemms; ///< where it was made just now
};

/// Generates code for a scheduled module, which stays as it is. Errors are reported on the module's ops.
llvm::FailureOr<CompiledProgram> generateProgram(mlir::ModuleOp module, const CodegenOptions &options);
/// The same with a back end of one's own.
llvm::FailureOr<CompiledProgram> generateProgram(mlir::ModuleOp module, Backend &backend,
                                                 const CodegenOptions &options);

} // namespace tessera

#endif // TESSERA_CODEGEN_PROGRAM_PROGRAM_H
