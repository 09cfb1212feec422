//===- ObjectCode.h - from LLVM-dialect functions to an object ------------===//

#ifndef TESSERA_CODEGEN_CPU_OBJECTCODE_H
#define TESSERA_CODEGEN_CPU_OBJECTCODE_H

#include "codegen/cpu/Target.h"
#include "mlir/IR/BuiltinOps.h"

namespace tessera {

/// Times of the steps, in seconds.
struct ObjectCodeTimes {
  double translate = 0, optimize = 0, generate = 0;
};

/// Compiles a module of LLVM-dialect functions and globals to a relocatable object (ELF), which needs no library. If
/// `text` is given it receives the optimised LLVM IR. Fails with a message on the module.
llvm::FailureOr<std::string> compileToObject(mlir::ModuleOp module, const CpuTarget &target,
                                             std::string *text = nullptr, ObjectCodeTimes *times = nullptr);

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_OBJECTCODE_H
