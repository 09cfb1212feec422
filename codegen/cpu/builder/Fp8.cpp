//===- Fp8.cpp - fp8 values in generated code -----------------------------===//

#include "codegen/cpu/builder/Fp8.h"
#include "ir/dialect/Tsr.h"

using namespace mlir;
using namespace tessera;
using FPred = LLVM::FCmpPredicate;

static constexpr int64_t nanByte = 0x7f; ///< in both formats

/// e5m2 is the upper half of f16. The exponent of e4m3 has one bit less, and another bias. Its bits, shifted into
/// place, are those of an f16 that is 2^8 times smaller; normal values stay normal and subnormal ones stay subnormal.
Value tessera::widenFp8(CodeBuilder &code, Value bytes, Type from) {
  Type i16 = CodeBuilder::like(bytes, code.getI16Type()), f32 = code.getF32Type();
  Value bits = code.make<LLVM::ZExtOp>(i16, bytes);
  if (isa<Float8E5M2Type>(from)) return code.floatCast(code.bitcast(code.shl(bits, 8), code.getF16Type()), f32);
  Value magnitude = code.bitAnd(bits, 0x7f), sign = code.shl(code.bitAnd(bits, 0x80), 8);
  Value scaled = code.bitcast(code.bitOr(code.shl(magnitude, 7), sign), code.getF16Type());
  Value result = code.fmul(code.floatCast(scaled, f32), 0x1p8);
  Value isNaN = code.icmp(LLVM::ICmpPredicate::eq, magnitude, code.integer(i16, nanByte));
  return code.select(isNaN, code.number(result.getType(), std::numeric_limits<double>::quiet_NaN()), result);
}

Value tessera::roundToFp8(CodeBuilder &code, Value x, Type to) {
  const llvm::fltSemantics &format = cast<FloatType>(to).getFloatSemantics();
  int mantissa = static_cast<int>(llvm::APFloat::semanticsPrecision(format)) - 1;
  int least = llvm::APFloat::semanticsMinExponent(format); // of normal values
  int64_t dropped = 23 - mantissa;
  Type i32 = code.getI32Type();

  Value size = code.fabs(x), largest = code.number(x.getType(), largestOf(to));
  size = code.select(code.fcmp(FPred::ogt, size, largest), largest, size);
  // Normal results: add half a unit of the last place, less one bit if the lower neighbour is even. A carry increments
  // the exponent.
  Value bits = code.bitcast(size, i32);
  Value isOdd = code.bitAnd(code.lshr(bits, dropped), 1);
  Value normal = code.lshr(code.add(code.add(bits, isOdd), (int64_t(1) << (dropped - 1)) - 1), dropped);
  normal = code.add(normal, -(int64_t(127 + least - 1) << mantissa));
  // Subnormal results: the sum with a value whose last bit is their unit is rounded to that unit.
  double magic = std::ldexp(1.0, least - mantissa + 23);
  Value sum = code.bitcast(code.fadd(size, magic), i32);
  Value subnormal = code.sub(sum, code.bitcast(code.number(x.getType(), magic), i32));
  Value isNormal = code.fcmp(FPred::oge, size, std::ldexp(1.0, least));
  Value result = code.select(isNormal, normal, subnormal);
  result = code.select(code.isNaN(x), code.integer(result.getType(), nanByte), result);
  Value sign = code.bitAnd(code.lshr(code.bitcast(x, i32), 24), 0x80);
  return code.intCast(code.bitOr(result, sign), code.getI8Type());
}
