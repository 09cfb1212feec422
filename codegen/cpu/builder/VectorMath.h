//===- VectorMath.h - elementary functions without libm -------------------===//
//
// The code of a training program links against no library, so elementary functions are polynomials, the same for
// scalars and vectors. Their rounding does not depend on the machine: a multiplication and an addition are fused only
// where the code says so (`fma`). Only rare cases have branches: angles beyond 2^30, quotients beyond 2^52.
//
// `maxUlps` of the table is the largest error over all magnitudes, subnormal arguments and results included; that of
// pow, which is computed through f64, is 1. Infinities, zeros and NaN give the results of C's libm.
// f64: exp, expm1, log, log1p, sigmoid, pow (about 1e-15 relative), sqrt, rsqrt. The others return a null value.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_BUILDER_VECTORMATH_H
#define TESSERA_CODEGEN_CPU_BUILDER_VECTORMATH_H

#include "codegen/cpu/builder/CodeBuilder.h"

namespace tessera {

/// An elementary function of one argument.
struct ElementaryFunction {
  llvm::StringLiteral op; ///< the mnemonic of the elementwise op
  mlir::Value (*emit)(CodeBuilder &code, mlir::Value x);
  unsigned instructions; ///< for a vector in f32, approximately
  double maxUlps; ///< largest error in f32, in units in the last place; tests/codegen/VectorMathTest.cpp checks it
};
/// All elementary functions. A new one needs an entry and no declaration.
llvm::ArrayRef<ElementaryFunction> elementaryFunctions();

mlir::Value emitLog(CodeBuilder &code, mlir::Value x);
mlir::Value emitSqrt(CodeBuilder &code, mlir::Value x);
/// cos(2 pi x) for |x| ≤ 2^21, f32.
mlir::Value emitCosTurns(CodeBuilder &code, mlir::Value x);
mlir::Value emitPow(CodeBuilder &code, mlir::Value base, mlir::Value exponent);
/// x - y floor(x / y) with the sign of y, exact before it is rounded. Where x is a multiple of y it is a zero with the
/// sign of x. Arguments in f64 need quotients below 2^1023.
mlir::Value emitFloatMod(CodeBuilder &code, mlir::Value x, mlir::Value y);

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_BUILDER_VECTORMATH_H
