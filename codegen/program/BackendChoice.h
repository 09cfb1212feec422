//===- BackendChoice.h - the back end of a module's target ----------------===//

#ifndef TESSERA_CODEGEN_PROGRAM_BACKENDCHOICE_H
#define TESSERA_CODEGEN_PROGRAM_BACKENDCHOICE_H

#include "codegen/cpu/object/CpuTarget.h"
#include "codegen/program/Program.h"

namespace tessera {

/// The back end for the target that `module` records. Fails with a message on the module if the options do not fit.
llvm::FailureOr<std::unique_ptr<Backend>> chooseBackend(mlir::ModuleOp module, const CpuTarget &host,
                                                        const CodegenOptions &options);

} // namespace tessera

#endif // TESSERA_CODEGEN_PROGRAM_BACKENDCHOICE_H
