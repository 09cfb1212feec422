//===- Program.h - from a scheduled module to an executable ---------------===//

#ifndef TESSERA_CODEGEN_HOST_PROGRAM_H
#define TESSERA_CODEGEN_HOST_PROGRAM_H

#include "codegen/cuda/CudaKernels.h"
#include "codegen/program/Manifest.h"
#include "ir/dialect/Tsr.h"
#include "passes/OutputFile.h"
#include "runtime/base/AvailableCores.h"
#include <functional>

namespace tessera {

/// For a program that runs on a GPU.
struct CudaOptions {
  std::vector<std::string> architectures; ///< sm_90a: machine code; compute_90: PTX
  cuda::Device device;                    ///< what schedules are chosen by
  bool compiles = true;                   ///< false: kernels stay text
  /// Machine code that was made before, by a text that decides it; may be empty.
  std::function<std::optional<std::string>(llvm::StringRef)> findCode;
  std::function<void(llvm::StringRef, llvm::StringRef)> keepCode;
};

struct CodegenOptions {
  std::optional<CudaOptions> cuda;         ///< none: for a CPU
  std::string march = "native";            ///< LLVM's name of a processor, or native
  int threads = runtime::availableCores(); ///< threads the program will run with
  DumpFolder *dumps = nullptr;             ///< write code and manifest here; null: do not
  bool timing = false;                     ///< print the time each step took to standard error
};

/// A compiled program before it is packed: the shared object's bytes and the manifest.
struct CompiledProgram {
  std::string object;
  std::string manifest;
  /// For a GPU, where it was made just now: the kernels as text, in the manifest's order, and the contractions.
  std::vector<std::shared_ptr<const cuda::CudaKernel>> kernels;
  std::vector<GemmTable::Entry> gemms;
};

/// Generates code for a scheduled module. Errors are reported on the module's ops.
llvm::FailureOr<CompiledProgram> generateProgram(mlir::ModuleOp module, const CodegenOptions &options);

} // namespace tessera

#endif // TESSERA_CODEGEN_HOST_PROGRAM_H
