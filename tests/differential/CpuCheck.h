//===- CpuCheck.h - a program as CPU code against the interpreter ---------===//

#ifndef TESSERA_TESTS_DIFFERENTIAL_CPUCHECK_H
#define TESSERA_TESTS_DIFFERENTIAL_CPUCHECK_H

#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace tessera::test {

/// Takes a program in phase `optimize` through the others, compiles and runs it, and lets `judge` compare what it
/// computes with the interpreter. Returns what is wrong; empty if nothing is. `scheduled`, if given, receives the
/// module that was compiled.
std::string checkOnCpu(mlir::ModuleOp optimized, int threads, mlir::OwningOpRef<mlir::ModuleOp> *scheduled = nullptr);

} // namespace tessera::test

#endif // TESSERA_TESTS_DIFFERENTIAL_CPUCHECK_H
