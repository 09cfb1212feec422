//===- Program.h - from a scheduled module to an executable ---------------===//

#ifndef TESSERA_CODEGEN_HOST_PROGRAM_H
#define TESSERA_CODEGEN_HOST_PROGRAM_H

#include "codegen/host/Manifest.h"
#include "ir/Tsr.h"
#include "runtime/AvailableCores.h"

namespace tessera {

struct CodegenOptions {
  std::string march = "native";            ///< LLVM's name of a processor, or native
  int threads = runtime::availableCores(); ///< threads the program will run with
  std::string dumpDir;                     ///< write code and manifest here; empty: do not
  bool timing = false;                     ///< print the time each step took to standard error
};

/// A compiled program before it is packed: the shared object's bytes and the manifest.
struct CompiledProgram {
  std::string object;
  std::string manifest;
};

/// Generates code for a scheduled module. Errors are reported on the module's ops.
llvm::FailureOr<CompiledProgram> generateProgram(mlir::ModuleOp module, const CodegenOptions &options);

} // namespace tessera

#endif // TESSERA_CODEGEN_HOST_PROGRAM_H
