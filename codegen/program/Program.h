//===- Program.h - from a scheduled module to a program -------------------===//

#ifndef TESSERA_CODEGEN_PROGRAM_PROGRAM_H
#define TESSERA_CODEGEN_PROGRAM_PROGRAM_H

#include "codegen/cuda/CudaBackend.h"
#include "codegen/program/Manifest.h"
#include "runtime/machine/AvailableCores.h"

namespace tessera {

struct CodegenOptions {
  std::optional<CudaOptions> cuda;         ///< needed if the module's target is a GPU
  std::string march = "native";            ///< LLVM's name of a processor, or native
  int threads = runtime::availableCores(); ///< with which the program will run
  DumpFolder *dumps = nullptr;             ///< where code and manifest are written; may be null
  bool timing = false;                     ///< print the time of each stage to standard error
  std::string *lack = nullptr;             ///< takes a message if the machine lacks something; may be null
};

/// A compiled program before it is packed: the shared object's bytes and the manifest.
struct CompiledProgram {
  std::string object;
  std::string manifest;
  std::vector<GemmTable::Entry> gemms; ///< empty if the program comes from the cache
};

/// Generates code for a scheduled module, which does not change. Errors are reported on the module's ops.
llvm::FailureOr<CompiledProgram> generateProgram(mlir::ModuleOp module, const CodegenOptions &options);
/// The manifest of the program that `generateProgram` would make, without machine code: neither LLVM's optimiser nor
/// NVRTC runs. All that it says is equal, but that no version of CUDA has compiled the kernels.
llvm::FailureOr<std::string> describeProgram(mlir::ModuleOp module, const CodegenOptions &options);
/// The same with the caller's back end.
llvm::FailureOr<CompiledProgram> generateProgram(mlir::ModuleOp module, Backend &backend,
                                                 const CodegenOptions &options);

} // namespace tessera

#endif // TESSERA_CODEGEN_PROGRAM_PROGRAM_H
