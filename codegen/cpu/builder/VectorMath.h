//===- VectorMath.h - elementary functions without libm -------------------===//
//
// The code of a training program is linked against nothing, so elementary functions are polynomials, written once for
// scalars and vectors. All are free of rounding that could differ between machines: where a multiplication and an
// addition are fused, it is said (`fma`). Branches stand only before what is rare: angles beyond 2^30, quotients beyond 2^52.
//
// Largest errors in units in the last place (f32), measured by tests/codegen/VectorMathTest.cpp over all magnitudes:
//
//   exp 0.9, expm1 1.5, log 0.9, log1p 1.5, tanh 1.3, sigmoid 2.1, erf 1, sin and cos 1.5, sqrt 0.5, rsqrt 1.5, pow 1 (through f64)
//
// Denormal arguments and results are exact to the same bound; infinities, zeros and NaN give what C's libm gives.
// f64: exp, expm1, log, log1p, sigmoid, pow (about 1e-15 relative), sqrt, rsqrt. The others return a null value.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_VECTORMATH_H
#define TESSERA_CODEGEN_CPU_VECTORMATH_H

#include "codegen/cpu/builder/CodeBuilder.h"

namespace tessera {

/// An elementary function of one number.
struct ElementaryFunction {
  llvm::StringLiteral op; ///< the elementwise op that it is, by its mnemonic
  mlir::Value (*emit)(CodeBuilder &code, mlir::Value x);
  unsigned instructions; ///< about as many, for a vector in f32
};
/// All of them; one more needs an entry here and no declaration.
llvm::ArrayRef<ElementaryFunction> elementaryFunctions();

mlir::Value emitLog(CodeBuilder &code, mlir::Value x);
mlir::Value emitSqrt(CodeBuilder &code, mlir::Value x);
/// cos(2 pi x) for |x| ≤ 2^21, f32.
mlir::Value emitCosTurns(CodeBuilder &code, mlir::Value x);
mlir::Value emitPow(CodeBuilder &code, mlir::Value base, mlir::Value exponent);
/// x - y floor(x / y) with the sign of y, exact before it is rounded; where x is a multiple of y, a zero with the sign of x. In f64
/// for quotients below 2^1023.
mlir::Value emitFloatMod(CodeBuilder &code, mlir::Value x, mlir::Value y);

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_VECTORMATH_H
