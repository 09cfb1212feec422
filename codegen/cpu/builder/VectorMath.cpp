//===- VectorMath.cpp - elementary functions without libm -----------------===//
//
// The polynomials for f32 are minimax fits published by N. Juffa (exp, log, erf, sin, cos) and those of S. Moshier's
// Cephes (tanh). Those for f64 are Taylor series, cut off below half an ulp.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/builder/VectorMath.h"
#include <cmath>

using namespace mlir;
using namespace tessera;
using Pred = LLVM::FCmpPredicate;

static bool isF32(Value x) { return CodeBuilder::element(x).isF32(); }
static constexpr double infinity = std::numeric_limits<double>::infinity();
static constexpr double ln2 = 0.693147180559945309417;

/// Horner's rule, highest coefficient first.
static Value polynomial(CodeBuilder &code, Value x, ArrayRef<double> coefficients) {
  Value sum = code.number(x.getType(), coefficients.front());
  for (double c : coefficients.drop_front()) sum = code.fma(sum, x, code.number(x.getType(), c));
  return sum;
}

static Type bitsOf(CodeBuilder &code, Value x) {
  return code.getIntegerType(CodeBuilder::element(x).getIntOrFloatBitWidth());
}

/// The integer nearest to x · factor, as a float and as an integer, if that is small. For NaN it is arbitrary, not
/// poison.
static std::pair<Value, Value> nearest(CodeBuilder &code, Value x, double factor) {
  double magic = isF32(x) ? 0x1.8p23 : 0x1.8p52; // The unit in the last place of the sum is 1.
  Value shifted = code.fma(x, code.number(x.getType(), factor), code.number(x.getType(), magic));
  Value integer =
      code.sub(code.bitcast(shifted, bitsOf(code, x)), code.bitcast(code.number(x.getType(), magic), bitsOf(code, x)));
  return {code.fsub(shifted, code.number(x.getType(), magic)), integer};
}

/// x · 2^n in one rounding, for |n| up to twice the exponent range: one instruction, or two exact powers of two.
static Value scaleByPower(CodeBuilder &code, Value x, Value n) {
  if (code.hasVectorScale && isF32(x) && CodeBuilder::lanes(x)) // LLVM::LdexpOp takes a scalar n only.
    return code.make<LLVM::CallIntrinsicOp>(x.getType(), code.getStringAttr("llvm.ldexp"), ValueRange{x, n})
        .getResult(0);
  unsigned mantissa = isF32(x) ? 23 : 52, bias = isF32(x) ? 127 : 1023;
  auto power = [&](Value e) { return code.bitcast(code.shl(code.add(e, bias), mantissa), CodeBuilder::element(x)); };
  Value half = code.ashr(n, 1);
  return code.fmul(code.fmul(x, power(half)), power(code.sub(n, half)));
}

/// `values` after `rounds` iterations of `body` if the condition holds in any lane, which is rare; else `values`.
static SmallVector<Value> repeatWhereAny(CodeBuilder &code, Value condition, int64_t rounds, ValueRange values,
                                         CodeBuilder::LoopBody body) {
  Value any = condition;
  if (CodeBuilder::lanes(condition)) any = code.make<LLVM::vector_reduce_or>(code.getI1Type(), condition);
  Value upper = code.select(any, code.index(rounds), code.index(0));
  return code.loop(code.index(0), upper, 1, values, /*runsAtLeastOnce=*/false, body);
}

//===----------------------------------------------------------------------===//
// exp, log
//===----------------------------------------------------------------------===//

/// r and n with x = n ln 2 + r, n = round(x / ln 2), |r| ≤ ln 2 / 2.
static std::pair<Value, Value> reduceExponent(CodeBuilder &code, Value x) {
  bool single = isF32(x);
  auto [n, power] = nearest(code, x, 1 / ln2);
  double ln2High = single ? 6.93145752e-1 : 0x1.62e42fefa3800p-1,
         ln2Low = single ? 1.42860677e-6 : 0x1.ef35793c76730p-45;
  Value r = code.fma(n, code.number(x.getType(), -ln2High), x);
  r = code.fma(n, code.number(x.getType(), -ln2Low), r);
  return {r, power};
}

/// The coefficients of exp(r) for |r| ≤ ln 2 / 2, highest first; the last two are 1.
static SmallVector<double> expCoefficients(Value x) {
  if (isF32(x)) return {1.37805939e-3, 8.37312452e-3, 4.16695364e-2, 1.66664720e-1, 4.99999851e-1, 1, 1};
  SmallVector<double> taylor;
  for (int k = 13; k >= 0; --k) taylor.push_back(1 / std::tgamma(k + 1.0));
  return taylor;
}

/// exp(r) and n with exp(x) = 2^n exp(r).
static std::pair<Value, Value> reducedExp(CodeBuilder &code, Value x) {
  auto [r, power] = reduceExponent(code, x);
  return {polynomial(code, r, expCoefficients(x)), power};
}

/// The smaller or larger of `x` and a bound; NaN stays.
static Value atMost(CodeBuilder &code, Value x, double high) {
  return code.select(code.fcmp(Pred::ogt, x, high), code.number(x.getType(), high), x);
}
static Value atLeast(CodeBuilder &code, Value x, double low) {
  return code.select(code.fcmp(Pred::olt, x, low), code.number(x.getType(), low), x);
}

/// From here down exp(x) is 0.
static double lowestExponent(Value x) { return isF32(x) ? -104 : -746; }

static Value emitExp(CodeBuilder &code, Value x) {
  double highest = isF32(x) ? 89 : 710; // from here on it is infinity
  auto [value, power] = reducedExp(code, atMost(code, atLeast(code, x, lowestExponent(x)), highest));
  return scaleByPower(code, value, power);
}

/// With x = n ln 2 + r: 2^n expm1(r) + 2^n - 1, computed as twice its half, so that 2^(n - 1) is normal wherever the
/// result is finite. The first term of the polynomial of expm1(r) is exact.
static Value emitExpm1(CodeBuilder &code, Value x) {
  bool single = isF32(x);
  double smallest = single ? 0x1p-24 : 0x1p-53;                    // below, the result is x
  double lowest = single ? -18 : -38, highest = single ? 89 : 710; // from there on it is -1, and infinity
  auto [r, n] = reduceExponent(code, atMost(code, atLeast(code, x, lowest), highest));
  SmallVector<double> coefficients = expCoefficients(x);
  Value tail = polynomial(code, r, ArrayRef(coefficients).drop_back(2));
  Value small = code.fma(code.fmul(r, r), tail, r);
  Value half = code.bitcast(code.shl(code.add(n, single ? 126 : 1022), single ? 23 : 52), CodeBuilder::element(x));
  Value result = code.fma(half, small, code.fadd(half, -0.5));
  return code.select(code.fcmp(Pred::olt, code.fabs(x), smallest), x, code.fadd(result, result));
}

/// exp(x) for |x| ≤ 80, f32: the exponent bits cannot overflow. For NaN it is arbitrary.
static Value emitSmallExp(CodeBuilder &code, Value x) {
  auto [value, power] = reducedExp(code, x);
  Value bits = code.add(code.bitcast(value, bitsOf(code, x)), code.shl(power, 23));
  return code.bitcast(bits, CodeBuilder::element(x));
}

/// log1p(f) for f in [-1/3, 1/3], f32.
static Value log1pSmall(CodeBuilder &code, Value f) {
  Value square = code.fmul(f, f);
  Value even = polynomial(code, square, {-0.130310059, -0.121483512, -0.166846126, -0.249996200});
  Value odd = polynomial(code, square, {0.140869141, 0.139814854, 0.200120345});
  Value r = code.fma(odd, f, even);
  r = code.fma(r, f, code.number(f.getType(), 0.333331972));
  r = code.fma(r, f, code.number(f.getType(), -0.5));
  return code.fma(r, square, f);
}

/// log(1 + f) = 2 atanh(s) with s = f / (2 + f), as a series; f64.
static Value log1pSeries(CodeBuilder &code, Value f) {
  Value s = code.fdiv(f, code.fadd(f, 2.0));
  SmallVector<double> series;
  for (int k = 12; k >= 1; --k) series.push_back(2.0 / (2 * k + 1));
  Value square = code.fmul(s, s);
  Value tail = code.fmul(code.fmul(polynomial(code, square, series), square), s);
  return code.fadd(tail, code.fmul(s, 2.0));
}

/// log(x) = e ln 2 + log(m), m in [2/3, 4/3).
Value tessera::emitLog(CodeBuilder &code, Value x) {
  bool single = isF32(x);
  Type type = x.getType(), bits = bitsOf(code, x);
  unsigned mantissa = single ? 23 : 52;
  Value isSubnormal = code.fcmp(Pred::olt, x, single ? 0x1p-126 : 0x1p-1022);
  Value scaled = code.select(isSubnormal, code.fmul(x, std::ldexp(1.0, mantissa)), x);
  Value word = code.bitcast(scaled, bits);
  int64_t twoThirds = single ? 0x3f2aaaab : 0x3fe5555555555555;
  Value e = code.ashr(code.sub(word, code.integer(word.getType(), twoThirds)), mantissa);
  Value m = code.bitcast(code.sub(word, code.shl(e, mantissa)), CodeBuilder::element(x));
  Value exponent = code.make<LLVM::SIToFPOp>(type, e);
  exponent = code.select(isSubnormal, code.fadd(exponent, -static_cast<double>(mantissa)), exponent);
  Value f = code.fadd(m, -1.0);
  Value result;
  if (single) {
    result = code.fma(exponent, code.number(type, ln2), log1pSmall(code, f));
  } else {
    Value low = code.fma(exponent, code.number(type, 0x1.ef35793c76730p-45), log1pSeries(code, f));
    result = code.fma(exponent, code.number(type, 0x1.62e42fefa3800p-1), low);
  }
  // log(+inf) = +inf, log(NaN) = NaN; below zero the result is NaN.
  result = code.select(code.fcmp(Pred::olt, x, infinity), result, code.fadd(x, x));
  result = code.select(code.fcmp(Pred::olt, x, 0.0), code.number(type, std::nan("")), result);
  return code.select(code.fcmp(Pred::oeq, x, 0.0), code.number(type, -infinity), result);
}

/// With u = 1 + x rounded: log(u) + (x - (u - 1)) / u. The second term corrects the rounding error to first order. The
/// difference is exact below 2^mantissa; above it, and where u is 0 or less, the term is left out.
static Value emitLog1p(CodeBuilder &code, Value x) {
  double smallest = isF32(x) ? 0x1p-24 : 0x1p-53; // below, the result is x
  Value u = code.fadd(x, 1.0);
  Value lost = code.fdiv(code.fsub(x, code.fadd(u, -1.0)), u);
  Value isExact = code.bitAnd(code.fcmp(Pred::ogt, x, -1.0), code.fcmp(Pred::olt, x, 1 / smallest));
  Value result = code.fadd(emitLog(code, u), code.select(isExact, lost, code.number(x.getType(), 0.0)));
  return code.select(code.fcmp(Pred::olt, code.fabs(x), smallest), x, result);
}

//===----------------------------------------------------------------------===//
// tanh, sigmoid, erf
//===----------------------------------------------------------------------===//

static Value copySign(CodeBuilder &code, Value magnitude, Value sign) {
  return code.make<LLVM::CopySignOp>(magnitude.getType(), magnitude, sign);
}

/// x + x³ P(x²) near zero, 1 - 2 / (exp(2|x|) + 1) elsewhere.
static Value emitTanh(CodeBuilder &code, Value x) {
  if (!isF32(x)) return {};
  Value square = code.fmul(x, x), size = code.fabs(x);
  Value near = polynomial(
      code, square, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1});
  near = code.fma(code.fmul(near, square), x, x);
  // From 9.1 on the result is 1.
  Value e = emitSmallExp(code, code.fmul(atMost(code, size, 10.0), 2.0));
  Value far = code.fsub(code.number(x.getType(), 1.0), code.fdiv(code.number(x.getType(), 2.0), code.fadd(e, 1.0)));
  return code.select(code.fcmp(Pred::oge, size, 0.625), copySign(code, far, x), near); // NaN stays in `near`
}

/// With e = exp(-|x|): 1 / (1 + e), and e / (1 + e) below zero, which is accurate for small results.
static Value emitSigmoid(CodeBuilder &code, Value x) {
  Value one = code.number(x.getType(), 1.0), below = code.make<LLVM::FNegOp>(code.fabs(x));
  auto [value, power] = reducedExp(code, atLeast(code, below, lowestExponent(x)));
  Value e = scaleByPower(code, value, power);
  return code.fdiv(code.select(code.fcmp(Pred::olt, x, 0.0), e, one), code.fadd(e, one));
}

/// x + x P(x²) near zero, 1 - exp(Q(|x|)) elsewhere.
static Value emitErf(CodeBuilder &code, Value x) {
  if (!isF32(x)) return {};
  Value square = code.fmul(x, x), size = code.fabs(x);
  auto step = [&](Value sum, Value by, double c) { return code.fma(sum, by, code.number(x.getType(), c)); };
  Value t = atMost(code, size, 4.0); // From there on the result is 1.
  Value tt = code.fmul(t, t);
  Value q = step(code.number(x.getType(), -1.72853470e-5), t, 3.83197126e-4);
  q = code.fma(q, tt, step(code.number(x.getType(), -3.88396438e-3), t, 2.42546219e-2));
  for (double c : {-1.06777877e-1, -6.34846687e-1, -1.28717512e-1}) q = step(q, t, c);
  q = code.fma(q, t, code.make<LLVM::FNegOp>(t));
  Value far = copySign(code, code.fsub(code.number(x.getType(), 1.0), emitSmallExp(code, q)), x);
  Value near = polynomial(
      code, square, {-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1});
  near = code.fma(near, x, x);
  return code.select(code.fcmp(Pred::ogt, size, 0.927734375), far, near); // NaN stays in `near`
}

//===----------------------------------------------------------------------===//
// sin, cos
//===----------------------------------------------------------------------===//

/// sin(r + quadrant · pi/2) for |r| ≤ pi/4; `quadrant` is an i32.
static Value sinOfQuadrant(CodeBuilder &code, Value r, Value quadrant) {
  Value square = code.fmul(r, r);
  Value sine = polynomial(code, square, {2.86567956e-6, -1.98559923e-4, 8.33338592e-3, -1.66666672e-1});
  sine = code.fma(sine, code.fmul(r, square), r);
  Value cosine = polynomial(code, square, {2.44677067e-5, -1.38877297e-3, 4.16666567e-2, -0.5, 1});
  Value zero = code.integer(quadrant.getType(), 0);
  Value swap = code.icmp(LLVM::ICmpPredicate::ne, code.bitAnd(quadrant, 1), zero);
  Value negative = code.icmp(LLVM::ICmpPredicate::ne, code.bitAnd(quadrant, 2), zero);
  Value result = code.select(swap, cosine, sine);
  return code.select(negative, code.make<LLVM::FNegOp>(result), result);
}

/// x less n · pi/2 and n, for |x| ≤ 2^30 in f64: there n · pi/2 is exact enough for every f32.
static std::pair<Value, Value> reduceSmallAngle(CodeBuilder &code, Value x) {
  auto [n, integer] = nearest(code, x, 0.63661977236758134308);
  Value r = code.fma(n, code.number(x.getType(), -1.57079632679489655800), x);
  r = code.fma(n, code.number(x.getType(), -6.12323399573676603587e-17), r);
  return {r, code.intCast(integer, code.getI32Type())};
}

/// The same for every f32 in f64 (Payne and Hanek). The product of x and 29 bits of 2/pi is exact, and so is the
/// product modulo four quadrants. Whole quadrants are subtracted after each term, so that the sum stays small and
/// accurate.
static std::pair<Value, Value> reduceLargeAngle(CodeBuilder &code, Value x) {
  Type type = x.getType();
  Value sum = code.number(type, 0.0), quadrant = code.integer(CodeBuilder::like(x, code.getI32Type()), 0);
  for (double bits : {0x1.45f306dp-1, 0x1.9391054p-30, 0x1.4fe13abp-59, 0x1.d1f534dp-88, 0x1.b81b6c5p-117,
                      0x1.5993c4p-148, 0x1.c820ff2p-175}) {
    Value quadrants = code.fmul(x, bits);
    Value whole = code.make<LLVM::FFloorOp>(type, code.fmul(quadrants, 0.25));
    sum = code.fadd(sum, code.fma(whole, code.number(type, -4.0), quadrants));
    auto [n, integer] = nearest(code, sum, 1);
    sum = code.fsub(sum, n);
    quadrant = code.add(quadrant, code.intCast(integer, code.getI32Type()));
  }
  return {code.fmul(sum, 1.57079632679489655800), quadrant};
}

/// sin(x + shift · pi/2), reduced in f64.
static Value emitSinShifted(CodeBuilder &code, Value x, int64_t shift) {
  if (!isF32(x)) return {};
  Value wide = code.make<LLVM::FPExtOp>(CodeBuilder::like(x, code.getF64Type()), x);
  auto [r, quadrant] = reduceSmallAngle(code, wide);
  Value isLarge = code.fcmp(Pred::ogt, code.fabs(x), 0x1p30);
  SmallVector<Value> reduced = repeatWhereAny(code, isLarge, 1, {r, quadrant}, [&](Value, ValueRange small) {
    auto [large, itsQuadrant] = reduceLargeAngle(code, wide);
    return SmallVector<Value>{code.select(isLarge, large, small[0]), code.select(isLarge, itsQuadrant, small[1])};
  });
  Value single = code.make<LLVM::FPTruncOp>(x.getType(), reduced[0]);
  return sinOfQuadrant(code, single, code.add(reduced[1], shift));
}

static Value emitSin(CodeBuilder &code, Value x) {
  // The reduction turns -0 into +0.
  Value result = emitSinShifted(code, x, 0);
  return result ? code.select(code.fcmp(Pred::oeq, x, 0.0), x, result) : Value();
}
static Value emitCos(CodeBuilder &code, Value x) { return emitSinShifted(code, x, 1); }

Value tessera::emitCosTurns(CodeBuilder &code, Value x) {
  auto [n, integer] = nearest(code, x, 4.0);
  Value r = code.fma(n, code.number(x.getType(), -0.25), x); // exact
  return sinOfQuadrant(code, code.fmul(r, 6.28318530717958647693), code.add(integer, 1));
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

Value tessera::emitSqrt(CodeBuilder &code, Value x) { return code.make<LLVM::SqrtOp>(x); }
static Value emitRsqrt(CodeBuilder &code, Value x) {
  return code.fdiv(code.number(x.getType(), 1.0), emitSqrt(code, x));
}

/// |a|^b = exp(b log |a|) in f64, then the rules for signs, zeros and ones.
Value tessera::emitPow(CodeBuilder &code, Value base, Value exponent) {
  Type type = base.getType(), f64 = CodeBuilder::like(base, code.getF64Type());
  bool single = isF32(base);
  Value a = single ? code.make<LLVM::FPExtOp>(f64, base).getResult() : base;
  Value b = single ? code.make<LLVM::FPExtOp>(f64, exponent).getResult() : exponent;
  Value size = emitExp(code, code.fmul(b, emitLog(code, code.fabs(a))));
  Value one = code.number(f64, 1.0);
  // log 1 = 0 times an infinite exponent.
  size = code.select(code.fcmp(Pred::oeq, code.fabs(a), 1.0), one, size);
  Value half = code.fmul(b, 0.5);
  Value isInteger = code.fcmp(Pred::oeq, code.make<LLVM::FFloorOp>(f64, b), b);
  Value isOdd = code.bitAnd(isInteger, code.fcmp(Pred::une, code.make<LLVM::FFloorOp>(f64, half), half));
  Value result = code.select(isOdd, copySign(code, size, a), size);
  Value undefined = code.bitAnd(code.fcmp(Pred::olt, a, 0.0), code.bitXor(isInteger, 1));
  undefined = code.bitAnd(undefined, code.fcmp(Pred::ogt, a, -infinity));
  result = code.select(undefined, code.number(f64, std::nan("")), result);
  Value nan = code.bitOr(code.isNaN(a), code.isNaN(b));
  result = code.select(nan, code.number(f64, std::nan("")), result);
  Value isOne = code.bitOr(code.fcmp(Pred::oeq, a, 1.0), code.fcmp(Pred::oeq, b, 0.0));
  result = code.select(isOne, one, result);
  return single ? code.make<LLVM::FPTruncOp>(type, result).getResult() : result;
}

//===----------------------------------------------------------------------===//
// Remainders
//===----------------------------------------------------------------------===//

/// In f64 a - b trunc(a / b) is exact for quotients below 2^52, except that it may be off by one b, which the
/// correction of the sign also corrects. Each round removes the upper 52 bits of a larger quotient.
Value tessera::emitFloatMod(CodeBuilder &code, Value x, Value y) {
  Type f64 = CodeBuilder::like(x, code.getF64Type());
  Value a = code.floatCast(x, code.getF64Type()), b = code.floatCast(y, code.getF64Type());
  Value zero = code.number(f64, 0.0);
  // The remainder by an infinite divisor is that by any divisor larger than all dividends.
  double beyond = CodeBuilder::element(x).isF64() ? 0x1.fffffffffffffp1023 : 0x1p200;
  Value isInfinite = code.fcmp(Pred::oeq, code.fabs(b), infinity);
  Value divisor = code.select(isInfinite, code.number(f64, beyond), b);
  auto truncated = [&](Value dividend) -> Value {
    return code.make<LLVM::FTruncOp>(f64, code.fdiv(dividend, divisor));
  };
  auto rest = [&](Value dividend, Value quotient) {
    return code.fma(code.make<LLVM::FNegOp>(quotient), divisor, dividend);
  };
  Value quotient = truncated(a), first = rest(a, quotient);
  Value isLarge = code.fcmp(Pred::ogt, code.fabs(quotient), 0x1p52);
  int64_t rounds = CodeBuilder::element(x).isF64() ? 19 : 5; // the largest quotient of two f32 is 2^277
  Value r = repeatWhereAny(code, isLarge, rounds, first, [&](Value, ValueRange left) {
    return SmallVector<Value>{code.select(isLarge, rest(left[0], truncated(left[0])), left[0])};
  })[0];
  Value isZero = code.fcmp(Pred::oeq, r, zero);
  Value opposite = code.bitXor(code.fcmp(Pred::olt, r, zero), code.fcmp(Pred::olt, b, zero));
  Value result = code.select(opposite, code.fadd(r, b), r);
  return code.floatCast(code.select(isZero, copySign(code, zero, a), result), CodeBuilder::element(x));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

ArrayRef<ElementaryFunction> tessera::elementaryFunctions() {
  static constexpr ElementaryFunction table[] = {
      {"exp", emitExp, 18, 0.9},     {"expm1", emitExpm1, 22, 1.5},     {"log", emitLog, 24, 0.9},
      {"log1p", emitLog1p, 36, 1.5}, {"sqrt", emitSqrt, 4, 0.5},        {"rsqrt", emitRsqrt, 8, 1.5},
      {"tanh", emitTanh, 36, 1.3},   {"sigmoid", emitSigmoid, 22, 2.1}, {"erf", emitErf, 40, 1},
      {"sin", emitSin, 40, 1.5},     {"cos", emitCos, 40, 1.5},
  };
  return table;
}
