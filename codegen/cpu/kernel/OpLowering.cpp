//===- OpLowering.cpp - code of each elementwise op -----------------------===//
//
// The table below has one entry for each op, except for elementary functions, whose table is in VectorMath.cpp. Numeric
// conventions (NaN in max and min, rounding of quotients, comparisons) are those of the interpreter.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/kernel/OpLowering.h"
#include "codegen/cpu/builder/Fp8.h"
#include "codegen/cpu/builder/VectorMath.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;
using FPred = LLVM::FCmpPredicate;
using IPred = LLVM::ICmpPredicate;

namespace {
using Values = ArrayRef<Value>;
struct Entry {
  std::function<Value(CodeBuilder &, Operation *, Values)> lower;
  unsigned instructions;
};
using Table = llvm::DenseMap<TypeID, Entry>;
} // namespace

static bool isFloat(Value x) { return isa<FloatType>(CodeBuilder::element(x)); }

//===----------------------------------------------------------------------===//
// Helpers of single ops
//===----------------------------------------------------------------------===//

static Value emitLarger(CodeBuilder &code, Value a, Value b) {
  if (!isFloat(a)) return code.smax(a, b);
  Value chosen = code.select(code.fcmp(FPred::ogt, a, b), a, b); // b if either is NaN
  return code.select(code.isNaN(a), a, chosen);
}

static Value emitSmaller(CodeBuilder &code, Value a, Value b) {
  if (!isFloat(a)) return code.smin(a, b);
  Value chosen = code.select(code.fcmp(FPred::olt, a, b), a, b);
  return code.select(code.isNaN(a), a, chosen);
}

static Value floor(CodeBuilder &code, Value x) { return code.make<LLVM::FFloorOp>(x.getType(), x); }

/// The divisor, with 1 in place of 0, which would trap.
static Value safeDivisor(CodeBuilder &code, Value b) {
  Value zero = code.icmp(IPred::eq, b, code.integer(b.getType(), 0));
  return code.select(zero, code.integer(b.getType(), 1), b);
}

/// A quotient, rounded down. For i32 by way of f64, which represents every i32 and is precise enough; i64 is divided
/// lane by lane.
static Value floorQuotient(CodeBuilder &code, Value a, Value b) {
  b = safeDivisor(code, b);
  if (CodeBuilder::element(a).isInteger(32) && !b.getDefiningOp<LLVM::ConstantOp>()) {
    Type f64 = CodeBuilder::like(a, code.getF64Type());
    Value quotient = code.fdiv(code.make<LLVM::SIToFPOp>(f64, a), code.make<LLVM::SIToFPOp>(f64, b));
    Value wide = code.make<LLVM::FPToSIOp>(CodeBuilder::like(a, code.getI64Type()), floor(code, quotient));
    return code.intCast(wide, code.getI32Type());
  }
  // One quotient overflows: that of the lowest value and -1. Negation wraps around instead.
  Value minusOne = code.integer(b.getType(), -1);
  Value isMinusOne = code.icmp(IPred::eq, b, minusOne);
  Value divisor = code.select(isMinusOne, code.integer(b.getType(), 1), b);
  Value quotient = code.make<LLVM::SDivOp>(a, divisor);
  Value remainder = code.sub(a, code.mul(quotient, divisor));
  Value zero = code.integer(a.getType(), 0);
  Value inexact = code.icmp(IPred::ne, remainder, zero);
  Value opposite = code.icmp(IPred::slt, code.bitXor(remainder, divisor), zero);
  Value rounded = code.select(code.bitAnd(inexact, opposite), code.add(quotient, minusOne), quotient);
  return code.select(isMinusOne, code.sub(zero, a), rounded);
}

static Value emitFloorDiv(CodeBuilder &code, Value a, Value b) {
  if (isFloat(a)) return floor(code, code.fdiv(a, b));
  return floorQuotient(code, a, b);
}

/// a - b floor(a / b)
static Value emitMod(CodeBuilder &code, Value a, Value b) {
  if (isFloat(a)) return emitFloatMod(code, a, b);
  return code.sub(a, code.mul(floorQuotient(code, a, b), safeDivisor(code, b)));
}

static Value emitSign(CodeBuilder &code, Value x) {
  Value one = code.number(x.getType(), 1.0), zero = code.number(x.getType(), 0.0),
        minus = code.number(x.getType(), -1.0);
  Value result = code.select(code.fcmp(FPred::ogt, x, zero), one, zero);
  result = code.select(code.fcmp(FPred::olt, x, zero), minus, result);
  return code.select(code.isNaN(x), x, result);
}

static Value emitCompare(CodeBuilder &code, Predicate predicate, Value a, Value b) {
  static constexpr FPred ofFloats[] = {FPred::oeq, FPred::une, FPred::olt, FPred::ole, FPred::ogt, FPred::oge};
  static constexpr IPred ofIntegers[] = {IPred::eq, IPred::ne, IPred::slt, IPred::sle, IPred::sgt, IPred::sge};
  static constexpr IPred ofBooleans[] = {IPred::eq, IPred::ne, IPred::ult, IPred::ule, IPred::ugt, IPred::uge};
  auto i = static_cast<unsigned>(predicate);
  if (isFloat(a)) return code.fcmp(ofFloats[i], a, b);
  return code.icmp(CodeBuilder::element(a).isInteger(1) ? ofBooleans[i] : ofIntegers[i], a, b);
}

static Value emitCast(CodeBuilder &code, Value x, Type from, Type to) {
  if (from == to) return x;
  if (isFp8(from)) return emitCast(code, widenFp8(code, x, from), code.getF32Type(), to);
  if (isFp8(to)) return roundToFp8(code, emitCast(code, x, from, code.getF32Type()), to);
  auto isLowPrecision = [](Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32; };
  if (isLowPrecision(from) && !isa<FloatType>(to))
    return emitCast(code, code.floatCast(x, code.getF32Type()), code.getF32Type(), to);
  if (isLowPrecision(to) && !isa<FloatType>(from))
    return code.floatCast(emitCast(code, x, from, code.getF32Type()), to);
  Type type = CodeBuilder::like(x, to);
  Value zero = code.number(x.getType(), 0.0);
  if (isa<FloatType>(from)) {
    if (to.isInteger(1)) return code.fcmp(FPred::une, x, zero);
    if (!isa<FloatType>(to)) // saturates, so that every cast is defined
      return code.make<LLVM::CallIntrinsicOp>(type, code.getStringAttr("llvm.fptosi.sat"), ValueRange{x}).getResult(0);
    return code.floatCast(x, to);
  }
  if (to.isInteger(1)) return code.icmp(IPred::ne, x, zero);
  if (from.isInteger(1)) {
    if (isa<FloatType>(to)) return code.make<LLVM::UIToFPOp>(type, x);
    return code.make<LLVM::ZExtOp>(type, x);
  }
  if (isa<FloatType>(to)) return code.make<LLVM::SIToFPOp>(type, x);
  return code.intCast(x, to);
}

/// Powers with the exponents 1, 2 and -1 are at most one operation, which is as accurate.
static Value emitPowOp(CodeBuilder &code, PowOp op, Values v) {
  if (auto exponent = op.getRhs().getDefiningOp<ConstantOp>()) {
    if (exponent.getNumber() == 1) return v[0];
    if (exponent.getNumber() == 2) return code.fmul(v[0], v[0]);
    if (exponent.getNumber() == -1) return code.fdiv(code.number(v[0].getType(), 1.0), v[0]);
  }
  return emitPow(code, v[0], v[1]);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

template <typename OpT, typename Fn> static void add(Table &table, unsigned instructions, Fn lower) {
  table[TypeID::get<OpT>()] = {
      [lower](CodeBuilder &code, Operation *op, Values v) -> Value { return lower(code, cast<OpT>(op), v); },
      instructions};
}

/// A float instruction for floats, an integer instruction for integers.
template <typename OpT, typename FloatOp, typename IntOp> static void addPair(Table &table) {
  add<OpT>(table, 1, [](CodeBuilder &code, OpT, Values v) -> Value {
    if (isFloat(v[0])) return code.make<FloatOp>(v[0], v[1]);
    return code.make<IntOp>(v[0], v[1]);
  });
}

/// A function of one or two values.
template <typename OpT, auto function> static void addFunction(Table &table, unsigned instructions) {
  add<OpT>(table, instructions, [](CodeBuilder &code, OpT, Values v) -> Value {
    if constexpr (std::is_invocable_v<decltype(function), CodeBuilder &, Value, Value>)
      return function(code, v[0], v[1]);
    else
      return function(code, v[0]);
  });
}

/// Adds 16 random bits to the lower end of the f32's bits. A carry rounds away from zero.
static Value emitStochasticRound(CodeBuilder &code, Value x, Value noise) {
  Type i32 = CodeBuilder::like(x, code.getI32Type());
  Value drawn = code.make<LLVM::FPToSIOp>(i32, code.fmul(noise, code.number(noise.getType(), 65536.0)));
  Value bits = code.bitcast(x, code.getI32Type()), exponent = code.integer(i32, 0x7f800000);
  Value isFinite = code.icmp(IPred::ne, code.bitAnd(bits, exponent), exponent);
  bits = code.select(isFinite, code.add(bits, drawn), bits);
  Value upper = code.make<LLVM::LShrOp>(bits, code.integer(i32, 16));
  return code.bitcast(code.intCast(upper, code.getI16Type()), code.getBF16Type());
}

static void addUnary(Table &table) {
  addFunction<SignOp, emitSign>(table, 4);
  add<NegOp>(table, 1, [](CodeBuilder &code, NegOp, Values v) -> Value {
    if (isFloat(v[0])) return code.make<LLVM::FNegOp>(v[0]);
    return code.sub(code.integer(v[0].getType(), 0), v[0]);
  });
  add<AbsOp>(table, 1, [](CodeBuilder &code, AbsOp, Values v) -> Value {
    if (isFloat(v[0])) return code.fabs(v[0]);
    return code.smax(v[0], code.sub(code.integer(v[0].getType(), 0), v[0]));
  });
  add<FloorOp>(table, 1, [](CodeBuilder &code, FloorOp, Values v) -> Value { return floor(code, v[0]); });
  add<CeilOp>(table, 1, [](CodeBuilder &code, CeilOp, Values v) -> Value {
    return code.make<LLVM::FCeilOp>(v[0].getType(), v[0]);
  });
  add<RoundOp>(table, 1, [](CodeBuilder &code, RoundOp, Values v) -> Value {
    return code.make<LLVM::RoundEvenOp>(v[0].getType(), v[0]);
  });
  add<NotOp>(table, 1, [](CodeBuilder &code, NotOp, Values v) -> Value { return code.bitXor(v[0], 1); });
  addFunction<StochasticRoundOp, emitStochasticRound>(table, 6);
  add<CastOp>(table, 2, [](CodeBuilder &code, CastOp op, Values v) -> Value {
    return emitCast(code, v[0], op.getX().getType().getElementType(), op.getType().getElementType());
  });
}

static void addBinary(Table &table) {
  addPair<AddOp, LLVM::FAddOp, LLVM::AddOp>(table);
  addPair<SubOp, LLVM::FSubOp, LLVM::SubOp>(table);
  addPair<MulOp, LLVM::FMulOp, LLVM::MulOp>(table);
  addFunction<MaxOp, emitLarger>(table, 3);
  addFunction<MinOp, emitSmaller>(table, 3);
  addFunction<FloorDivOp, emitFloorDiv>(table, 16);
  addFunction<ModOp, emitMod>(table, 20);
  add<DivOp>(table, 4, [](CodeBuilder &code, DivOp, Values v) -> Value { return code.fdiv(v[0], v[1]); });
  add<PowOp>(table, 120, [](CodeBuilder &code, PowOp op, Values v) -> Value { return emitPowOp(code, op, v); });
  add<AndOp>(table, 1, [](CodeBuilder &code, AndOp, Values v) -> Value { return code.bitAnd(v[0], v[1]); });
  add<OrOp>(table, 1, [](CodeBuilder &code, OrOp, Values v) -> Value { return code.bitOr(v[0], v[1]); });
  add<CompareOp>(table, 1, [](CodeBuilder &code, CompareOp op, Values v) -> Value {
    return emitCompare(code, op.getPredicate(), v[0], v[1]);
  });
  add<SelectOp>(table, 1, [](CodeBuilder &code, SelectOp, Values v) -> Value { return code.select(v[0], v[1], v[2]); });
}

static const Table &lowerings() {
  static const Table table = [] {
    Table result;
    addUnary(result);
    addBinary(result);
    return result;
  }();
  return table;
}

/// The elementary function of an op; null if it has none.
static const ElementaryFunction *findElementary(Operation *op) {
  StringRef mnemonic = op->getName().stripDialect();
  for (const ElementaryFunction &function : elementaryFunctions())
    if (function.op == mnemonic) return &function;
  return nullptr;
}

Value tessera::lowerElementwise(CodeBuilder &code, Operation *op, Values operands) {
  if (op->hasTrait<traits::PointwiseIdentity>()) return operands[0];
  auto it = lowerings().find(op->getName().getTypeID());
  if (it != lowerings().end()) return it->second.lower(code, op, operands);
  const ElementaryFunction *function = findElementary(op);
  return function ? function->emit(code, operands[0]) : Value();
}

unsigned tessera::instructionEstimate(Operation *op) {
  if (op->hasTrait<traits::PointwiseIdentity>()) return 0;
  if (isa<RandomOp>(op)) return 120;
  if (auto cast = dyn_cast<CastOp>(op))
    if (isFp8(cast.getType().getElementType()) || isFp8(cast.getX().getType().getElementType())) return 20;
  auto it = lowerings().find(op->getName().getTypeID());
  if (it != lowerings().end()) return it->second.instructions;
  const ElementaryFunction *function = findElementary(op);
  return function ? function->instructions : 2;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value tessera::combine(CodeBuilder &code, ReduceKind kind, Value a, Value b) {
  switch (kind) {
  case ReduceKind::Sum:
    return isFloat(a) ? code.fadd(a, b) : code.add(a, b);
  case ReduceKind::Max:
    return emitLarger(code, a, b);
  case ReduceKind::Min:
    return emitSmaller(code, a, b);
  case ReduceKind::MaxNum: // the accumulator is never NaN, so one instruction suffices
    return isFloat(a) ? code.select(code.fcmp(LLVM::FCmpPredicate::ogt, b, a), b, a) : emitLarger(code, a, b);
  }
  llvm_unreachable("all kinds are handled");
}

Value tessera::neutral(CodeBuilder &code, ReduceKind kind, Type type) {
  switch (kind) {
  case ReduceKind::Sum:
    return code.number(type, 0.0);
  case ReduceKind::Max:
  case ReduceKind::MaxNum:
    return code.lowest(type);
  case ReduceKind::Min:
    return code.highest(type);
  }
  llvm_unreachable("all kinds are handled");
}
