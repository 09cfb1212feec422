//===- ElementVectors.h - vectors of elements of any type -----------------===//
//
// Loads, stores and transposes of vectors whose elements are f32 in registers and have any supported type in memory.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_CONTRACTION_ELEMENTVECTORS_H
#define TESSERA_CODEGEN_CPU_CONTRACTION_ELEMENTVECTORS_H

#include "codegen/cpu/builder/CodeBuilder.h"
#include "runtime/base/ElementType.h"

namespace tessera {

/// Loads `lanes` f32 elements from an address of any alignment. If `mask` is given, the lanes that it excludes are not
/// read and are zero.
mlir::Value loadVector(CodeBuilder &code, mlir::Value address, unsigned lanes, mlir::Value mask = {});
/// The same for elements of any type, converted to f32.
mlir::Value loadVector(CodeBuilder &code, ElementType type, mlir::Value address, unsigned lanes, mlir::Value mask = {});
/// The bits of bf16 elements. fp8 elements are converted to bf16, which is exact.
mlir::Value loadBf16(CodeBuilder &code, ElementType type, mlir::Value address, unsigned lanes, mlir::Value mask);
/// Stores f32 elements, rounded to the type.
void storeVector(CodeBuilder &code, mlir::Value vector, mlir::Value address, mlir::Value mask = {},
                 ElementType type = ElementType::F32);

/// `base` plus `offset` elements of a type.
mlir::Value elementAt(CodeBuilder &code, ElementType type, mlir::Value base, mlir::Value offset);
mlir::Value elementAt(CodeBuilder &code, ElementType type, mlir::Value base, int64_t offset);

/// The transpose of a square of f32 vectors.
llvm::SmallVector<mlir::Value> transpose(CodeBuilder &code, llvm::ArrayRef<mlir::Value> rows);

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CONTRACTION_ELEMENTVECTORS_H
