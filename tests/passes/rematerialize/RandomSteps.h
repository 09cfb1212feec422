//===- RandomSteps.h - small training steps after `tile` ------------------===//

#ifndef TESSERA_TESTS_PASSES_REMATERIALIZE_RANDOMSTEPS_H
#define TESSERA_TESTS_PASSES_REMATERIALIZE_RANDOMSTEPS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tests/differential/RandomGraph.h"

namespace tessera::test {

/// A module whose `step` consists of kernels: a forward pass of `forward` values of four sizes, each a function of one
/// or two before it, and a backward pass of `backward` values that read them. Some kernels have two results, and some
/// may write in place.
mlir::OwningOpRef<mlir::ModuleOp> makeRandomStep(mlir::MLIRContext &context, unsigned seed, int forward, int backward);

} // namespace tessera::test

#endif // TESSERA_TESTS_PASSES_REMATERIALIZE_RANDOMSTEPS_H
