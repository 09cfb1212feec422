//===- Fp8.cpp - numbers of eight bits in generated code ------------------===//

#include "codegen/cpu/builder/Fp8.h"
#include "ir/dialect/Tsr.h"

using namespace mlir;
using namespace tessera;
using FPred = LLVM::FCmpPredicate;

static constexpr int64_t bytesOfNaN = 0x7f; ///< in both formats

/// e5m2 is the upper half of f16. e4m3 has an exponent of one bit less, and another bias: shifted into place, its bits are
/// those of an f16 that is 2^8 times smaller, without normal numbers becoming subnormal ones or the other way round.
Value tessera::widenFp8(CodeBuilder &code, Value bytes, Type from) {
  Type i16 = CodeBuilder::like(bytes, code.getI16Type()), f32 = code.getF32Type();
  Value bits = code.make<LLVM::ZExtOp>(i16, bytes);
  if (isa<Float8E5M2Type>(from)) return code.floatCast(code.bitcast(code.shl(bits, 8), code.getF16Type()), f32);
  Value magnitude = code.bitAnd(bits, 0x7f), sign = code.shl(code.bitAnd(bits, 0x80), 8);
  Value half = code.bitcast(code.bitOr(code.shl(magnitude, 7), sign), code.getF16Type());
  Value number = code.fmul(code.floatCast(half, f32), 0x1p8);
  Value isNaN = code.icmp(LLVM::ICmpPredicate::eq, magnitude, code.integer(i16, bytesOfNaN));
  return code.select(isNaN, code.number(number.getType(), std::numeric_limits<double>::quiet_NaN()), number);
}

Value tessera::roundToFp8(CodeBuilder &code, Value x, Type to) {
  const llvm::fltSemantics &format = cast<FloatType>(to).getFloatSemantics();
  int mantissa = static_cast<int>(llvm::APFloat::semanticsPrecision(format)) - 1;
  int least = llvm::APFloat::semanticsMinExponent(format); // of normal numbers
  int64_t dropped = 23 - mantissa;
  Type i32 = code.getI32Type();

  Value size = code.fabs(x), largest = code.number(x.getType(), largestOf(to));
  size = code.select(code.fcmp(FPred::ogt, size, largest), largest, size);
  // Normal numbers: half a step is added to the bits, less a bit where the number below is even; a carry goes into the exponent.
  Value bits = code.bitcast(size, i32);
  Value isOdd = code.bitAnd(code.lshr(bits, dropped), 1);
  Value normal = code.lshr(code.add(code.add(bits, isOdd), (int64_t(1) << (dropped - 1)) - 1), dropped);
  normal = code.add(normal, -(int64_t(127 + least - 1) << mantissa));
  // Subnormal ones: beside a number whose last bit is their step, the addition rounds.
  double beside = std::ldexp(1.0, least - mantissa + 23);
  Value sum = code.bitcast(code.fadd(size, beside), i32);
  Value subnormal = code.sub(sum, code.bitcast(code.number(x.getType(), beside), i32));
  Value isNormal = code.fcmp(FPred::oge, size, std::ldexp(1.0, least));
  Value result = code.select(isNormal, normal, subnormal);
  result = code.select(code.isNaN(x), code.integer(result.getType(), bytesOfNaN), result);
  Value sign = code.bitAnd(code.lshr(code.bitcast(x, i32), 24), 0x80);
  return code.intCast(code.bitOr(result, sign), code.getI8Type());
}
