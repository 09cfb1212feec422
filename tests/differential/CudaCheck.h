//===- CudaCheck.h - a program as emulated CUDA code against the interpreter ---===//

#ifndef TESSERA_TESTS_DIFFERENTIAL_CUDACHECK_H
#define TESSERA_TESTS_DIFFERENTIAL_CUDACHECK_H

#include "ir/program/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>

namespace tessera::test {

/// Takes a program in phase `parse` through all phases as one for a GPU, runs its code (CudaRunner.h), and lets `judge`
/// compare what it computes with the interpreter. Returns what is wrong; empty if nothing is. The program is left in
/// phase `optimize`. `scheduled`, if given, receives the module whose code was run. `target`:
/// the GPU.
std::string checkOnCuda(mlir::ModuleOp program, mlir::OwningOpRef<mlir::ModuleOp> *scheduled = nullptr,
                        const Target &target = *Target::named("h100"));

/// A GPU so small that small kernels are mapped as large ones are elsewhere. Programs for it prefer memory.
Target smallDevice();

} // namespace tessera::test

#endif // TESSERA_TESTS_DIFFERENTIAL_CUDACHECK_H
