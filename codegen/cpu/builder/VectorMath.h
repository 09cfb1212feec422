//===- VectorMath.h - elementary functions without libm -------------------===//
//
// The code of a training program is linked against nothing, so elementary functions are polynomials, written once for
// scalars and vectors. Their rounding is the same on all machines: a multiplication and an addition are fused only by
// an explicit `fma`. Branches guard rare cases only: angles beyond 2^30, quotients beyond 2^52.
//
// `maxUlps` is the largest error over all magnitudes. Subnormal arguments and results have the same bound; infinities,
// zeros and NaN give what C's libm gives. The error of pow, which is computed in f64, is at most 1 ulp. In f64 there
// are exp, expm1, log, log1p, sigmoid, pow (about 1e-15 relative), sqrt and rsqrt; the others return a null value.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_VECTORMATH_H
#define TESSERA_CODEGEN_CPU_VECTORMATH_H

#include "codegen/cpu/builder/CodeBuilder.h"

namespace tessera {

/// An elementary function of one element.
struct ElementaryFunction {
  llvm::StringLiteral op; ///< the elementwise op that it is, by its mnemonic
  mlir::Value (*emit)(CodeBuilder &code, mlir::Value x);
  unsigned instructions; ///< for a vector in f32, approximately
  double maxUlps; ///< largest error in f32, in units in the last place; tests/codegen/VectorMathTest.cpp checks it
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
