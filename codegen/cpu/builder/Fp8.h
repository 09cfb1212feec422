//===- Fp8.h - fp8 values in generated code -------------------------------===//
//
// Processors have no fp8 arithmetic. Values are moved as bytes (i8), and arithmetic is in f32.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_BUILDER_FP8_H
#define TESSERA_CODEGEN_CPU_BUILDER_FP8_H

#include "codegen/cpu/builder/CodeBuilder.h"

namespace tessera {

/// Converts bytes of the float type `from` (e4m3 or e5m2) to f32; scalar or vector.
mlir::Value widenFp8(CodeBuilder &code, mlir::Value bytes, mlir::Type from);

/// Rounds f32 to the nearest value of the float type `to`, ties to even, as bytes. Larger values, and infinity,
/// saturate. NaN stays NaN.
mlir::Value roundToFp8(CodeBuilder &code, mlir::Value x, mlir::Type to);

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_BUILDER_FP8_H
