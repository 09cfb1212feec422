//===- AccessEmitter.cpp - addresses, loads and stores of a kernel --------===//

#include "codegen/cpu/kernel/AccessEmitter.h"

using namespace mlir;
using namespace tessera;
using Pred = LLVM::ICmpPredicate;

/// The type in memory. Booleans are bytes. Low-precision floats are integers, since every processor moves vectors of
/// those.
static Type memoryType(Type element) {
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() <= 16)
    return IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth());
  return element.isInteger(1) ? Type(IntegerType::get(element.getContext(), 8)) : element;
}
static unsigned alignment(Type memory) { return memory.getIntOrFloatBitWidth() / 8; }

static Value fromMemory(CodeBuilder &code, Value x, Type element) {
  if (memoryType(element) == element || isFp8(element)) return x; // fp8 values are bytes in registers too
  if (isa<FloatType>(element)) return code.bitcast(x, element);
  return code.icmp(Pred::ne, x, code.integer(x.getType(), 0));
}
static Value toMemory(CodeBuilder &code, Value x) {
  Type element = CodeBuilder::element(x), memory = memoryType(element);
  if (memory == element) return x;
  if (isa<FloatType>(element)) return code.bitcast(x, memory);
  return code.make<LLVM::ZExtOp>(CodeBuilder::like(x, code.getI8Type()), x);
}

/// The conjunction of two masks, each a scalar, a vector or null.
static Value both(CodeBuilder &code, Value a, Value b) {
  if (!a || !b) return a ? a : b;
  Value masks[] = {a, b};
  code.unify(masks);
  return code.bitAnd(masks[0], masks[1]);
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

bool AccessEmitter::variesAlongVector(const LinearIndex &expr) const {
  return expr.loops([&](Value position) { return plan.varies.lookup(position); }) & plan.loops.vectorMask();
}

bool AccessEmitter::variesAlongVector(const NonlinearTerm &term) const {
  return term.position ? plan.variesAlongVector(term.position) : variesAlongVector(term.inner);
}

Value AccessEmitter::emitTerm(const NonlinearTerm &term, unsigned chunk) {
  if (term.position) {
    Value position = state.lookup(term.position, chunk);
    position = code.smax(position, code.integer(position.getType(), 0));
    position = code.smin(position, code.integer(position.getType(), term.extent - 1));
    return CodeBuilder::lanes(position) ? position : code.intCast(position, code.i64());
  }
  Value inner = emitExpression(term.inner, chunk);
  int64_t largest = term.inner.constant;
  for (auto [c, size] : llvm::zip(term.inner.coefficients, plan.loops.sizes)) largest += std::abs(c) * (size - 1);
  // A quotient needs the high half of a product, for which there is no vector instruction in 64 bits.
  if (CodeBuilder::lanes(inner) && term.inner.terms.empty() && llvm::isInt<32>(largest))
    inner = code.intCast(inner, code.getI32Type());
  Value quotient = code.udiv(inner, term.divisor);
  return term.modulus ? code.urem(quotient, term.modulus) : quotient;
}

Value AccessEmitter::scalarPart(const LinearIndex &expr, unsigned chunk) {
  Value sum;
  auto addTo = [&](Value x) { sum = sum ? code.add(sum, x) : x; };
  int64_t constant = expr.constant;
  // Outer loops first, so that inner loops add to a loop-invariant sum.
  for (auto [loop, c] : llvm::enumerate(expr.coefficients)) {
    if (c == 0) continue;
    addTo(code.mul(state.indices[loop], c));
    if (plan.loops.isVector(loop)) constant += c * state.chunks[chunk].offset;
  }
  for (const LinearIndex::Term &term : expr.terms)
    if (!variesAlongVector(*term.value)) addTo(code.mul(emitTerm(*term.value, chunk), term.coefficient));
  if (!sum) return code.index(constant);
  return code.add(sum, constant);
}

Value AccessEmitter::vectorTerms(const LinearIndex &expr, unsigned chunk) {
  Value sum;
  for (const LinearIndex::Term &term : expr.terms) {
    if (!variesAlongVector(*term.value)) continue;
    Value value = emitTerm(*term.value, chunk);
    bool isSmall = term.value->position && llvm::isInt<32>(term.value->extent * std::abs(term.coefficient));
    if (!isSmall) value = code.intCast(value, code.i64());
    value = code.mul(value, term.coefficient);
    if (sum && sum.getType() != value.getType()) {
      sum = code.intCast(sum, code.i64());
      value = code.intCast(value, code.i64());
    }
    sum = sum ? code.add(sum, value) : value;
  }
  return sum;
}

Value AccessEmitter::emitExpression(const LinearIndex &expr, unsigned chunk) {
  Value scalar = scalarPart(expr, chunk);
  if (!variesAlongVector(expr)) return scalar;
  Value result = code.splat(scalar, lanes);
  if (int64_t stride = vectorStride(expr)) result = code.add(result, code.mul(code.iota(result.getType(), 0), stride));
  if (Value terms = vectorTerms(expr, chunk)) result = code.add(result, code.intCast(terms, code.i64()));
  return result;
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Value AccessEmitter::chunkMask(unsigned chunk) {
  if (lanes == 0 || state.chunks[chunk].active == lanes) return {};
  return code.prefixMask(lanes, state.chunks[chunk].active);
}

Value AccessEmitter::rangeMask(const Access &access, unsigned chunk) {
  Value mask;
  for (const IndexCondition &range : access.ranges) {
    Value at = emitExpression(range.expr, chunk);
    // Compared as unsigned: negative positions are large.
    mask = both(code, mask, code.icmp(Pred::ult, at, code.integer(at.getType(), range.extent)));
  }
  return mask;
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

void AccessEmitter::loadArguments(Value list) {
  unsigned count = plan.mayAliasResult.size() + plan.writes.size();
  for (unsigned i = 0; i < count; ++i)
    arguments.push_back(code.make<LLVM::LoadOp>(code.pointer(), code.at(list, code.pointer(), i)));
}

Value AccessEmitter::emitLoad(const Access &access, Value base, unsigned chunk, bool isVector) {
  Type memory = memoryType(access.element);
  bool isConstant = access.argument < plan.mayAliasResult.size() && !plan.mayAliasResult[access.argument];
  Value mask = rangeMask(access, chunk);
  Value offset = scalarPart(access.offset, chunk);
  auto load = [&](Type type, Value address) -> Value {
    return code.make<LLVM::LoadOp>(type, address, alignment(memory), /*isVolatile=*/false, /*isNonTemporal=*/false,
                                   isConstant);
  };
  if (!isVector) {
    if (mask) offset = code.select(mask, offset, code.index(0));
    Value x = fromMemory(code, load(memory, code.at(base, memory, offset)), access.element);
    return mask ? code.select(mask, x, code.number(x.getType(), 0.0)) : x;
  }
  mask = both(code, mask, chunkMask(chunk));
  if (mask) mask = code.splat(mask, lanes);
  Type type = CodeBuilder::withLanes(memory, lanes);
  Value address = code.at(base, memory, offset), terms = vectorTerms(access.offset, chunk);
  int64_t stride = vectorStride(access.offset);
  if (!terms && stride == 1 && !mask) return fromMemory(code, load(type, address), access.element);
  Value zero = code.number(type, 0.0);
  if (!terms && stride == 1)
    return fromMemory(code, code.make<LLVM::MaskedLoadOp>(type, address, mask, zero, alignment(memory)),
                      access.element);
  Value lanesOffset = terms;
  if (stride != 0 || !terms) {
    bool isSmall = (!terms || CodeBuilder::element(terms).isInteger(32)) && llvm::isInt<32>(stride * lanes);
    Type index = isSmall ? Type(code.getI32Type()) : code.i64();
    Value own = code.mul(code.iota(CodeBuilder::withLanes(index, lanes), 0), stride);
    lanesOffset = terms ? code.add(code.intCast(terms, index), own) : own;
  }
  if (!mask) mask = code.prefixMask(lanes, lanes);
  Value pointers = code.at(address, memory, lanesOffset);
  Value x = code.make<LLVM::masked_gather>(type, pointers, mask, ValueRange{zero}, alignment(memory));
  return fromMemory(code, x, access.element);
}

void AccessEmitter::emitStore(const Access &access, Value base, Value value, unsigned chunk, Value extraOffset) {
  Type memory = memoryType(access.element);
  Value offset = scalarPart(access.offset, chunk);
  if (extraOffset) offset = code.add(offset, extraOffset);
  Value address = code.at(base, memory, offset);
  int64_t stride = vectorStride(access.offset);
  if (stride == 0) {
    code.make<LLVM::StoreOp>(toMemory(code, value), address, alignment(memory));
    return;
  }
  value = toMemory(code, code.splat(value, lanes));
  Value mask = chunkMask(chunk);
  if (stride == 1) {
    if (mask)
      code.make<LLVM::MaskedStoreOp>(value, address, mask, alignment(memory));
    else
      code.make<LLVM::StoreOp>(value, address, alignment(memory));
    return;
  }
  Type index = llvm::isInt<32>(stride * lanes) ? Type(code.getI32Type()) : code.i64();
  Value pointers = code.at(address, memory, code.mul(code.iota(CodeBuilder::withLanes(index, lanes), 0), stride));
  code.make<LLVM::masked_scatter>(value, pointers, mask ? mask : code.prefixMask(lanes, lanes), alignment(memory));
}
