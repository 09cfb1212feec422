//===- Fp8.h - numbers of eight bits in generated code --------------------===//
//
// No processor has arithmetic in them: they are moved as bytes (i8) and computed with in f32.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_FP8_H
#define TESSERA_CODEGEN_CPU_FP8_H

#include "codegen/cpu/builder/CodeBuilder.h"

namespace tessera {

/// The f32 numbers that bytes of the float type `from` (e4m3 or e5m2) stand for; scalar or vector.
mlir::Value widenFp8(CodeBuilder &code, mlir::Value bytes, mlir::Type from);

/// f32 rounded to the nearest number of the float type `to`, ties to even, as bytes. What is too large becomes the largest number,
/// infinity too; NaN stays NaN.
mlir::Value roundToFp8(CodeBuilder &code, mlir::Value x, mlir::Type to);

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_FP8_H
