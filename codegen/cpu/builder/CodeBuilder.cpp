//===- CodeBuilder.cpp - builds scalar and vector code in the LLVM dialect -===//

#include "codegen/cpu/builder/CodeBuilder.h"

using namespace mlir;
using namespace tessera;

unsigned CodeBuilder::lanes(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 0;
}

Type CodeBuilder::element(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getElementType() : type;
}

Type CodeBuilder::withLanes(Type type, unsigned lanes) {
  return lanes ? VectorType::get({static_cast<int64_t>(lanes)}, element(type)) : element(type);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static Value makeConstant(CodeBuilder &code, Type type, TypedAttr scalar) {
  if (auto vector = dyn_cast<VectorType>(type))
    return code.make<LLVM::ConstantOp>(type, DenseElementsAttr::get(vector, static_cast<Attribute>(scalar)));
  return code.make<LLVM::ConstantOp>(type, scalar);
}

Value CodeBuilder::integer(Type type, int64_t number) {
  unsigned width = element(type).getIntOrFloatBitWidth();
  return makeConstant(*this, type, getIntegerAttr(element(type), APInt(64, number).trunc(width)));
}

Value CodeBuilder::number(Type type, double number) {
  if (isa<FloatType>(element(type))) return makeConstant(*this, type, getFloatAttr(element(type), number));
  return integer(type, static_cast<int64_t>(number));
}

Value CodeBuilder::iota(Type type, int64_t first) {
  if (!lanes(type)) return integer(type, first);
  SmallVector<APInt> numbers;
  for (unsigned i = 0; i < lanes(type); ++i)
    numbers.push_back(APInt(64, first + i).trunc(element(type).getIntOrFloatBitWidth()));
  return make<LLVM::ConstantOp>(type, DenseIntElementsAttr::get(cast<VectorType>(type), numbers));
}

Value CodeBuilder::prefixMask(unsigned lanes, unsigned active) {
  SmallVector<bool> bits(lanes, false);
  std::fill_n(bits.begin(), active, true);
  auto type = cast<VectorType>(withLanes(getI1Type(), lanes));
  return make<LLVM::ConstantOp>(type, DenseElementsAttr::get(type, ArrayRef<bool>(bits)));
}

Value CodeBuilder::lowest(Type type) {
  if (isa<FloatType>(element(type))) return number(type, -std::numeric_limits<double>::infinity());
  unsigned width = element(type).getIntOrFloatBitWidth();
  return integer(type, APInt::getSignedMinValue(width).getSExtValue());
}

Value CodeBuilder::highest(Type type) {
  if (isa<FloatType>(element(type))) return number(type, std::numeric_limits<double>::infinity());
  unsigned width = element(type).getIntOrFloatBitWidth();
  return integer(type, APInt::getSignedMaxValue(width).getSExtValue());
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value CodeBuilder::splat(Value value, unsigned count) {
  if (!count || lanes(value)) return value;
  if (auto constant = value.getDefiningOp<LLVM::ConstantOp>())
    return makeConstant(*this, withLanes(value.getType(), count), cast<TypedAttr>(constant.getValue()));
  // Without bf16 instructions LLVM inserts a bf16 element by way of f32, and calls a missing function to round it.
  if (value.getType().isBF16() && !hasBf16Casts)
    return bitcast(splat(bitcast(value, getI16Type()), count), getBF16Type());
  Type type = withLanes(value.getType(), count);
  Value poison = make<LLVM::PoisonOp>(type);
  Value first = make<LLVM::InsertElementOp>(type, poison, value, integer(getI32Type(), 0));
  return make<LLVM::ShuffleVectorOp>(first, poison, SmallVector<int32_t>(count, 0));
}

void CodeBuilder::unify(MutableArrayRef<Value> values) {
  unsigned count = 0;
  for (Value value : values) count = std::max(count, lanes(value));
  for (Value &value : values) value = splat(value, count);
}

/// bf16 is the upper half of f32. Where no instruction rounds, LLVM would call a function that does not exist.
static Value roundToBf16(CodeBuilder &code, Value x) {
  Type i32 = code.getI32Type();
  Value bits = code.bitcast(x, i32);
  auto constant = [&](int64_t n) { return code.integer(bits.getType(), n); };
  auto upper = [&](Value v) -> Value { return code.make<LLVM::LShrOp>(v, constant(16)); };
  Value isOdd = code.bitAnd(upper(bits), constant(1));
  Value rounded = upper(code.add(bits, code.add(isOdd, constant(0x7fff))));
  Value quiet = code.bitOr(upper(bits), constant(0x40)); // a NaN must not become infinite
  Value result = code.select(code.isNaN(x), quiet, rounded);
  return code.bitcast(code.intCast(result, code.getI16Type()), code.getBF16Type());
}

/// The inverse. LLVM would narrow a comparison of an `fpext` to one of bf16, for which it then calls the same function.
static Value extendBf16(CodeBuilder &code, Value x) {
  Type i32 = code.getI32Type();
  Value bits = code.intCast(code.bitcast(x, code.getI16Type()), i32);
  Value upper = code.make<LLVM::ShlOp>(bits, code.integer(bits.getType(), 16));
  return code.bitcast(upper, code.getF32Type());
}

Value CodeBuilder::floatCast(Value x, Type to) {
  unsigned from = element(x).getIntOrFloatBitWidth(), width = to.getIntOrFloatBitWidth();
  if (element(x) == to) return x;
  if (from == width) return floatCast(floatCast(x, getF32Type()), to); // bf16 and f16
  if (element(x).isBF16() && !hasBf16Casts) return floatCast(extendBf16(*this, x), to);
  if (from < width) return make<LLVM::FPExtOp>(like(x, to), x);
  if (!to.isBF16() || hasBf16Casts) return make<LLVM::FPTruncOp>(like(x, to), x);
  return roundToBf16(*this, floatCast(x, getF32Type()));
}

Value CodeBuilder::intCast(Value x, Type to) {
  unsigned from = element(x).getIntOrFloatBitWidth(), width = to.getIntOrFloatBitWidth();
  if (from == width) return x;
  if (from < width) return make<LLVM::SExtOp>(like(x, to), x);
  return make<LLVM::TruncOp>(like(x, to), x);
}

Value CodeBuilder::at(Value base, Type type, Value offset) {
  Type result = withLanes(pointer(), lanes(offset));
  return make<LLVM::GEPOp>(result, type, base, ArrayRef<LLVM::GEPArg>{offset});
}

Value CodeBuilder::at(Value base, Type type, int64_t offset) {
  if (offset == 0) return base;
  if (llvm::isInt<32>(offset))
    return make<LLVM::GEPOp>(pointer(), type, base, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  return at(base, type, index(offset));
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

Block *CodeBuilder::newBlock(TypeRange arguments) {
  OpBuilder::InsertionGuard guard(*this);
  Region *region = getInsertionBlock()->getParent();
  return createBlock(region, region->end(), arguments, SmallVector<Location>(arguments.size(), loc));
}

/// Emits
///
///   before: lower < upper ? head(lower, carried) : exit(carried)
///   head(i, carried): … i + step < upper ? head(i + step, carried') : exit(carried')
SmallVector<Value> CodeBuilder::loop(Value lower, Value upper, int64_t step, ValueRange carried, bool runsAtLeastOnce,
                                     LoopBody body) {
  SmallVector<Type> types{lower.getType()};
  llvm::append_range(types, carried.getTypes());
  SmallVector<Value> first{lower};
  llvm::append_range(first, carried);

  Block *before = getInsertionBlock();
  Block *head = newBlock(types);
  setInsertionPointToEnd(head);
  SmallVector<Value> results = body(head->getArgument(0), head->getArguments().drop_front());
  SmallVector<Value> next{add(head->getArgument(0), step)};
  llvm::append_range(next, results);
  Value more = icmp(LLVM::ICmpPredicate::slt, next.front(), upper);
  Block *exit = newBlock(carried.getTypes());
  make<LLVM::CondBrOp>(more, head, ValueRange(next), exit, ValueRange(results));

  setInsertionPointToEnd(before);
  if (runsAtLeastOnce)
    branch(head, first);
  else
    make<LLVM::CondBrOp>(icmp(LLVM::ICmpPredicate::slt, lower, upper), head, ValueRange(first), exit, carried);
  setInsertionPointToEnd(exit);
  return llvm::to_vector_of<Value>(exit->getArguments());
}

void CodeBuilder::loop(Value lower, Value upper, int64_t step, llvm::function_ref<void(Value)> body) {
  loop(lower, upper, step, {}, /*runsAtLeastOnce=*/false, [&](Value index, ValueRange) -> SmallVector<Value> {
    body(index);
    return {};
  });
}

void CodeBuilder::when(Value condition, llvm::function_ref<void()> body) {
  Block *before = getInsertionBlock();
  Block *inside = newBlock();
  setInsertionPointToEnd(inside);
  body();
  Block *exit = newBlock();
  branch(exit, {});
  setInsertionPointToEnd(before);
  make<LLVM::CondBrOp>(condition, inside, exit);
  setInsertionPointToEnd(exit);
}
