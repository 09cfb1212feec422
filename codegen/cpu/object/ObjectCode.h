//===- ObjectCode.h - from LLVM-dialect functions to objects --------------===//

#ifndef TESSERA_CODEGEN_CPU_OBJECT_OBJECTCODE_H
#define TESSERA_CODEGEN_CPU_OBJECT_OBJECTCODE_H

#include "codegen/cpu/object/CpuTarget.h"
#include "mlir/IR/BuiltinOps.h"

namespace tessera {

/// Times of the stages in seconds, summed over threads.
struct ObjectCodeTimes {
  double translate = 0, optimize = 0, generate = 0;
};

/// Compiles a module of LLVM-dialect functions and globals to relocatable objects (ELF), which together need no
/// library. Their number and bytes depend on the module only, not on the number of `threads`. If `text` is given, it
/// receives the optimised LLVM IR of the whole module. Fails with a message on the module.
llvm::FailureOr<std::vector<std::string>> compileToObjects(mlir::ModuleOp module, const CpuTarget &target, int threads,
                                                           std::string *text = nullptr,
                                                           ObjectCodeTimes *times = nullptr);

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_OBJECT_OBJECTCODE_H
