//===- Scalars.h - element types, literals and ops as C++ expressions -------===//

#ifndef TESSERA_CODEGEN_CUDA_WRITER_SCALARS_H
#define TESSERA_CODEGEN_CUDA_WRITER_SCALARS_H

#include "ir/dialect/Tsr.h"
#include <string>

namespace tessera::cuda {

/// The C++ type of an element type, in memory and as a value.
llvm::StringRef scalarType(mlir::Type element);
/// The type in which elements are accumulated: f32 for low-precision types.
mlir::Type accumulatorType(mlir::Type element);
/// Bytes of one element in memory.
int64_t bytesOf(mlir::Type element);

/// A literal of an element type.
std::string literal(double value, mlir::Type element);
std::string literal(mlir::Attribute value, mlir::Type element);

/// `expression`, of type `from`, as a value of type `to`.
std::string castTo(llvm::StringRef expression, mlir::Type from, mlir::Type to);

/// An elementwise op on its operands' expressions.
std::string elementwise(mlir::Operation *op, llvm::ArrayRef<std::string> operands);

/// The class in threads.cuh that combines two values of a reduction, and the neutral element.
llvm::StringRef reduction(ReduceKind kind);
std::string neutral(ReduceKind kind, mlir::Type element);

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_WRITER_SCALARS_H
