//===- Random.cpp - code of random draws: Philox 4x32-10 ------------------===//
//
// J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
// Keys and counters: the description of `tsr.random` in ir/dialect/TsrOps.td.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/builder/VectorMath.h"
#include "codegen/cpu/kernel/OpLowering.h"

using namespace mlir;
using namespace tessera;

static constexpr uint32_t multiplier0 = 0xD2511F53, multiplier1 = 0xCD9E8D57;
static constexpr uint32_t weyl0 = 0x9E3779B9, weyl1 = 0xBB67AE85;

static Value lowWord(CodeBuilder &code, Value wide) { return code.intCast(wide, code.getI32Type()); }
static Value highWord(CodeBuilder &code, Value wide) { return lowWord(code, code.lshr(wide, 32)); }

/// High and low words of the product of each word and a constant. A 64-bit multiplication reads the words in even
/// lanes, so vectors are multiplied twice: as they are, and with odd lanes moved to even ones.
static std::pair<Value, Value> wideProduct(CodeBuilder &code, Value word, uint32_t multiplier) {
  auto times = [&](Value wide) { return code.mul(wide, static_cast<int64_t>(multiplier)); };
  unsigned lanes = CodeBuilder::lanes(word);
  if (lanes == 0) {
    Value product = times(code.make<LLVM::ZExtOp>(code.i64(), word));
    return {highWord(code, product), lowWord(code, product)};
  }
  constexpr int64_t lowBits = 0xFFFFFFFF;
  Type pairs = CodeBuilder::withLanes(code.i64(), lanes / 2), words = word.getType();
  Value both = code.make<LLVM::BitcastOp>(pairs, word);
  Value even = times(code.bitAnd(both, lowBits)), odd = times(code.lshr(both, 32));
  Value high = code.bitOr(code.lshr(even, 32), code.bitAnd(odd, ~lowBits));
  Value low = code.bitOr(code.bitAnd(even, lowBits), code.shl(odd, 32));
  return {code.make<LLVM::BitcastOp>(words, high), code.make<LLVM::BitcastOp>(words, low)};
}

/// Ten rounds on the counter; the first two words of the result.
static std::pair<Value, Value> philox(CodeBuilder &code, std::array<Value, 4> counter, std::array<Value, 2> key) {
  unsigned lanes = CodeBuilder::lanes(counter[0]);
  auto wrapped = [](uint32_t x) { return static_cast<int64_t>(static_cast<int32_t>(x)); };
  for (int round = 0; round < 10; ++round) {
    auto [high0, low0] = wideProduct(code, counter[0], multiplier0);
    auto [high1, low1] = wideProduct(code, counter[2], multiplier1);
    Value x = code.bitXor(code.bitXor(high1, counter[1]), code.splat(key[0], lanes));
    Value z = code.bitXor(code.bitXor(high0, counter[3]), code.splat(key[1], lanes));
    counter = {x, low1, z, low0};
    key = {code.add(key[0], wrapped(weyl0)), code.add(key[1], wrapped(weyl1))};
  }
  return {counter[0], counter[1]};
}

/// The upper 24 bits of a word, plus `offset`, as a fraction of 2^24.
static Value fraction(CodeBuilder &code, Value word, int64_t offset, Type element) {
  Value bits = code.add(code.lshr(word, 8), offset);
  return code.fmul(code.make<LLVM::SIToFPOp>(CodeBuilder::like(word, element), bits), 0x1p-24);
}

/// Draws for lanes. `words` are the seed (i64), the step and the site mixed with its salts (i32).
static Value drawLanes(CodeBuilder &code, Distribution distribution, Value index, ValueRange words) {
  unsigned lanes = CodeBuilder::lanes(index);
  std::array<Value, 4> counter = {lowWord(code, index), highWord(code, index), code.splat(words[1], lanes),
                                  code.splat(words[2], lanes)};
  auto [w0, w1] = philox(code, counter, {lowWord(code, words[0]), highWord(code, words[0])});
  Type single = code.getF32Type();
  if (distribution == Distribution::Uniform) return fraction(code, w0, 0, single);
  Value radius = emitSqrt(code, code.fmul(emitLog(code, fraction(code, w0, 1, single)), -2.0));
  return code.fmul(radius, emitCosTurns(code, fraction(code, w1, 0, single)));
}

/// The function of the module that draws for lanes.
static LLVM::LLVMFuncOp drawFunction(CodeBuilder &code, Distribution distribution, Type index) {
  auto module = code.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  std::string name = ("tsr_draw_" + stringifyDistribution(distribution) + "_" + Twine(CodeBuilder::lanes(index))).str();
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name)) return known;
  OpBuilder::InsertionGuard guard(code);
  code.setInsertionPointToEnd(module.getBody());
  Type result = CodeBuilder::withLanes(code.getF32Type(), CodeBuilder::lanes(index));
  auto type = LLVM::LLVMFunctionType::get(result, {index, code.i64(), code.getI32Type(), code.getI32Type()});
  auto function = code.make<LLVM::LLVMFuncOp>(name, type);
  function.setVisibility_(LLVM::Visibility::Hidden);
  function.setNoInline(true);
  Block *entry = function.addEntryBlock(code);
  code.setInsertionPointToEnd(entry);
  code.make<LLVM::ReturnOp>(drawLanes(code, distribution, entry->getArgument(0), entry->getArguments().drop_front()));
  return function;
}

Value tessera::lowerRandom(CodeBuilder &code, RandomOp op, Value index, ArrayRef<Value> operands, bool isCalled) {
  auto word = [&](Value x) { return code.intCast(x, code.getI32Type()); };
  Value seed = code.intCast(operands[0], code.i64());
  Value mixed = code.integer(code.getI32Type(), static_cast<int32_t>(op.getSite()));
  if (op.getFirst())
    index = code.add(index, code.splat(code.intCast(operands.back(), code.i64()), CodeBuilder::lanes(index)));
  for (Value salt : operands.slice(2, op.getSalts().size())) {
    mixed = code.mul(code.bitXor(mixed, word(salt)), static_cast<int64_t>(static_cast<int32_t>(0x9E3779B1u)));
    mixed = code.add(mixed, static_cast<int64_t>(0x7F4A7C15));
  }
  SmallVector<Value> words{seed, word(operands[1]), mixed};
  Type type = op.getType().getElementType();
  Value result;
  if (isCalled) {
    LLVM::LLVMFuncOp function = drawFunction(code, op.getDistribution(), index.getType());
    words.insert(words.begin(), index);
    result = code.make<LLVM::CallOp>(function, words).getResult();
  } else {
    result = drawLanes(code, op.getDistribution(), index, words);
  }
  if (type.isF32()) return result;
  return type.isF64() ? code.make<LLVM::FPExtOp>(CodeBuilder::like(result, type), result).getResult() : Value();
}
