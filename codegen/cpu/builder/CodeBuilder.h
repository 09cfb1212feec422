//===- CodeBuilder.h - builds scalar and vector code in the LLVM dialect ---===//
//
// Generated kernels consist of LLVM-dialect ops on scalars and on builtin vectors. They are translated to LLVM IR as
// they are, without conversion passes, so that forty kernels take milliseconds.
//
// Most functions take scalars as well as vectors. Where one operand is a scalar and another a vector, `unify` repeats
// the scalar.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_BUILDER_CODEBUILDER_H
#define TESSERA_CODEGEN_CPU_BUILDER_CODEBUILDER_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

namespace tessera {

/// An OpBuilder for LLVM-dialect code at one location.
/// Large because: a builder has one method for each instruction that it builds.
class CodeBuilder : public mlir::OpBuilder {
public:
  using Value = mlir::Value;
  using Type = mlir::Type;

  explicit CodeBuilder(mlir::Location loc) : OpBuilder(loc.getContext()), loc(loc) {}

  /// Whether the processor scales f32 vectors by powers of two in one instruction (AVX-512); elsewhere that is a call.
  bool hasVectorScale = false;
  bool hasBf16Casts = false; ///< whether the processor has an instruction that rounds to bf16

  mlir::Location getLoc() const { return loc; }
  template <typename OpT, typename... Args> auto make(Args &&...args) {
    return OpT::create(*this, loc, std::forward<Args>(args)...);
  }

  // Types.
  Type pointer() { return mlir::LLVM::LLVMPointerType::get(getContext()); }
  Type i64() { return getI64Type(); }
  /// The type of kernels: TsrKernel in runtime/Abi.h.
  mlir::LLVM::LLVMFunctionType kernelType() {
    return mlir::LLVM::LLVMFunctionType::get(mlir::LLVM::LLVMVoidType::get(getContext()),
                                             {pointer(), i64(), i64(), pointer()});
  }
  /// The type of a kernel's loops for a range of rows and columns: LoopNestEmitter::emitForRows.
  mlir::LLVM::LLVMFunctionType rowsType() {
    return mlir::LLVM::LLVMFunctionType::get(mlir::LLVM::LLVMVoidType::get(getContext()),
                                             {pointer(), i64(), i64(), i64(), i64()});
  }
  static unsigned lanes(Type type);
  static unsigned lanes(Value value) { return lanes(value.getType()); }
  static Type element(Type type);
  static Type element(Value value) { return element(value.getType()); }
  /// `type` with `lanes` lanes; the scalar type for zero lanes.
  static Type withLanes(Type type, unsigned lanes);
  /// The type of `value` with another element type.
  static Type like(Value value, Type element) { return withLanes(element, lanes(value)); }

  // Constants. Those of a vector type have the same value in every lane.
  Value integer(Type type, int64_t number);
  Value number(Type type, double number);
  Value index(int64_t number) { return integer(i64(), number); }
  /// `first + lane` in each lane of `type`.
  Value iota(Type type, int64_t first);
  /// True in the first `active` lanes.
  Value prefixMask(unsigned lanes, unsigned active);
  // The lowest and the highest value of a type.
  Value lowest(Type type);
  Value highest(Type type);

  /// Repeats a scalar in each of `lanes` lanes; a vector stays as it is.
  Value splat(Value value, unsigned lanes);
  /// Repeats the scalars among the values if another value is a vector.
  void unify(llvm::MutableArrayRef<Value> values);

  // Arithmetic on floats.
  Value fadd(Value a, Value b) { return make<mlir::LLVM::FAddOp>(a, b); }
  Value fsub(Value a, Value b) { return make<mlir::LLVM::FSubOp>(a, b); }
  Value fmul(Value a, Value b) { return make<mlir::LLVM::FMulOp>(a, b); }
  Value fdiv(Value a, Value b) { return make<mlir::LLVM::FDivOp>(a, b); }
  Value fma(Value a, Value b, Value c) { return make<mlir::LLVM::FMAOp>(a, b, c); }
  Value fabs(Value x) { return make<mlir::LLVM::FAbsOp>(x); }
  Value fcmp(mlir::LLVM::FCmpPredicate predicate, Value a, Value b) {
    return make<mlir::LLVM::FCmpOp>(predicate, a, b);
  }
  // With a constant of the operand's type on the right.
  Value fadd(Value a, double b) { return fadd(a, number(a.getType(), b)); }
  Value fmul(Value a, double b) { return fmul(a, number(a.getType(), b)); }
  Value fcmp(mlir::LLVM::FCmpPredicate predicate, Value a, double b) {
    return fcmp(predicate, a, number(a.getType(), b));
  }
  Value isNaN(Value x) { return fcmp(mlir::LLVM::FCmpPredicate::uno, x, x); }

  // Arithmetic on integers.
  Value add(Value a, Value b) { return make<mlir::LLVM::AddOp>(a, b); }
  Value sub(Value a, Value b) { return make<mlir::LLVM::SubOp>(a, b); }
  Value mul(Value a, Value b) { return make<mlir::LLVM::MulOp>(a, b); }
  Value add(Value a, int64_t b) { return b == 0 ? a : add(a, integer(a.getType(), b)); }
  Value mul(Value a, int64_t b) { return b == 1 ? a : mul(a, integer(a.getType(), b)); }
  Value bitAnd(Value a, Value b) { return make<mlir::LLVM::AndOp>(a, b); }
  Value bitOr(Value a, Value b) { return make<mlir::LLVM::OrOp>(a, b); }
  Value bitXor(Value a, Value b) { return make<mlir::LLVM::XOrOp>(a, b); }
  Value bitAnd(Value a, int64_t b) { return bitAnd(a, integer(a.getType(), b)); }
  Value bitXor(Value a, int64_t b) { return bitXor(a, integer(a.getType(), b)); }
  Value shl(Value a, int64_t b) { return make<mlir::LLVM::ShlOp>(a, integer(a.getType(), b)); }
  Value lshr(Value a, int64_t b) { return make<mlir::LLVM::LShrOp>(a, integer(a.getType(), b)); }
  Value ashr(Value a, int64_t b) { return make<mlir::LLVM::AShrOp>(a, integer(a.getType(), b)); }
  // Quotient and remainder of nonnegative values.
  Value udiv(Value a, int64_t b) {
    return b == 1 ? a : make<mlir::LLVM::UDivOp>(a, integer(a.getType(), b)).getResult();
  }
  Value urem(Value a, int64_t b) { return make<mlir::LLVM::URemOp>(a, integer(a.getType(), b)); }
  Value icmp(mlir::LLVM::ICmpPredicate predicate, Value a, Value b) {
    return make<mlir::LLVM::ICmpOp>(predicate, a, b);
  }
  Value smin(Value a, Value b) { return make<mlir::LLVM::SMinOp>(a, b); }
  Value smax(Value a, Value b) { return make<mlir::LLVM::SMaxOp>(a, b); }
  Value smin(Value a, int64_t b) { return smin(a, integer(a.getType(), b)); }
  Value smax(Value a, int64_t b) { return smax(a, integer(a.getType(), b)); }

  Value select(Value condition, Value yes, Value no) { return make<mlir::LLVM::SelectOp>(condition, yes, no); }
  Value bitcast(Value x, Type element) { return make<mlir::LLVM::BitcastOp>(like(x, element), x); }
  /// A float in another float type, rounded to the nearest, ties to even.
  Value floatCast(Value x, Type to);
  /// Sign-extends or truncates an integer.
  Value intCast(Value x, Type element);

  /// `base` plus `offset` elements of `type`.
  Value at(Value base, Type type, Value offset);
  Value at(Value base, Type type, int64_t offset);
  Value f32At(Value base, Value offset) { return at(base, getF32Type(), offset); }

  // Control flow. Each of these ends the current block and continues in a new one.
  using LoopBody = llvm::function_ref<llvm::SmallVector<Value>(Value index, mlir::ValueRange carried)>;
  /// for (i = lower; i < upper; i += step) carried = body(i, carried). Unless it `runsAtLeastOnce`, a test precedes it.
  llvm::SmallVector<Value> loop(Value lower, Value upper, int64_t step, mlir::ValueRange carried, bool runsAtLeastOnce,
                                LoopBody body);
  /// for (i = lower; i < upper; i += step) body(i).
  void loop(Value lower, Value upper, int64_t step, llvm::function_ref<void(Value)> body);
  void when(Value condition, llvm::function_ref<void()> body);

private:
  mlir::Block *newBlock(mlir::TypeRange arguments = {});
  void branch(mlir::Block *to, mlir::ValueRange arguments) { make<mlir::LLVM::BrOp>(arguments, to); }

  mlir::Location loc;
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_BUILDER_CODEBUILDER_H
