//===- MatrixFunctions.cpp - register tiles and packed panels -------------===//

#include "codegen/cpu/contraction/MatrixFunctions.h"
#include "codegen/cpu/builder/Fp8.h"

using namespace mlir;
using namespace tessera;

/// Rows of a tile for one to four vectors in a row, and 32 or 16 registers. Each number of a that is loaded meets every
/// vector, and each vector every row: two vectors need the fewest loads.
static constexpr unsigned tileRows32[] = {28, 14, 9, 6}, tileRows16[] = {12, 6, 4, 2};

/// Steps of K, about a microsecond, in which a tile of c arrives from memory.
static constexpr int64_t stepsToFetch = 128;

RegisterTile RegisterTile::of(const CpuTarget &target, int64_t columns) {
  RegisterTile tile;
  tile.lanes = target.floatLanes;
  auto padded = [&](unsigned vectors) { return llvm::alignTo(columns, vectors * tile.lanes); };
  tile.vectors = 2;
  // What is computed beside the last column is lost: it counts where there are few columns.
  for (unsigned vectors : {3u, 4u, 1u})
    if (columns <= 4 * tile.lanes && padded(vectors) < padded(tile.vectors)) tile.vectors = vectors;
  tile.rows = (target.floatLanes == 16 ? tileRows32 : tileRows16)[tile.vectors - 1];
  return tile;
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Value tessera::loadVector(CodeBuilder &code, Value address, unsigned lanes, Value mask) {
  Type type = CodeBuilder::withLanes(code.getF32Type(), lanes);
  if (!mask) return code.make<LLVM::LoadOp>(type, address, /*alignment=*/4);
  return code.make<LLVM::MaskedLoadOp>(type, address, mask, code.number(type, 0.0), /*alignment=*/4u);
}

static Type elementOf(CodeBuilder &code, ElementType type) {
  switch (type) {
  case ElementType::F32:
    return code.getF32Type();
  case ElementType::BF16:
    return code.getBF16Type();
  case ElementType::F16:
    return code.getF16Type();
  case ElementType::E4M3:
    return Float8E4M3FNType::get(code.getContext());
  case ElementType::E5M2:
    return Float8E5M2Type::get(code.getContext());
  default:
    llvm_unreachable("contractions do not take this type");
  }
}

/// In memory low numbers are integers: every processor loads and stores vectors of those under a mask.
static Type storageOf(CodeBuilder &code, ElementType type) {
  if (type == ElementType::F32) return code.getF32Type();
  return code.getIntegerType(8 * bytesOf(type));
}

Value tessera::numberAt(CodeBuilder &code, ElementType type, Value base, Value offset) {
  return code.at(base, storageOf(code, type), offset);
}

Value tessera::numberAt(CodeBuilder &code, ElementType type, Value base, int64_t offset) {
  return code.at(base, storageOf(code, type), offset);
}

static Value widen(CodeBuilder &code, ElementType type, Value stored) {
  if (type == ElementType::F32) return stored;
  if (isFp8(type)) return widenFp8(code, stored, elementOf(code, type));
  return code.floatCast(code.bitcast(stored, elementOf(code, type)), code.getF32Type());
}

/// Integers as they are stored.
static Value loadStored(CodeBuilder &code, ElementType type, Value address, unsigned lanes, Value mask) {
  Type vector = CodeBuilder::withLanes(storageOf(code, type), lanes);
  auto alignment = static_cast<unsigned>(bytesOf(type));
  if (!mask) return code.make<LLVM::LoadOp>(vector, address, alignment);
  return code.make<LLVM::MaskedLoadOp>(vector, address, mask, code.number(vector, 0.0), alignment);
}

Value tessera::loadBf16(CodeBuilder &code, ElementType type, Value address, unsigned lanes, Value mask) {
  Value stored = loadStored(code, type, address, lanes, mask);
  if (!isFp8(type)) return stored;
  return code.intCast(code.lshr(code.bitcast(widen(code, type, stored), code.getI32Type()), 16), code.getI16Type());
}

Value tessera::loadVector(CodeBuilder &code, ElementType type, Value address, unsigned lanes, Value mask) {
  return widen(code, type, loadStored(code, type, address, lanes, mask));
}

void tessera::storeVector(CodeBuilder &code, Value vector, Value address, Value mask, ElementType type) {
  if (type != ElementType::F32) {
    vector = code.bitcast(code.floatCast(vector, elementOf(code, type)), storageOf(code, type));
  }
  auto alignment = static_cast<unsigned>(bytesOf(type));
  if (mask)
    code.make<LLVM::MaskedStoreOp>(vector, address, mask, alignment);
  else
    code.make<LLVM::StoreOp>(vector, address, alignment);
}

/// Numbers of the first vector and of the second (counted on from the lanes), picked within each four lanes: `picks` for
/// each of four, with 4 and more for the second.
static Value shuffleFours(CodeBuilder &code, Value a, Value b, std::array<int, 4> picks) {
  int lanes = CodeBuilder::lanes(a);
  SmallVector<int32_t> mask;
  for (int four = 0; four < lanes; four += 4)
    for (int pick : picks) mask.push_back(pick < 4 ? four + pick : lanes + four + pick - 4);
  return code.make<LLVM::ShuffleVectorOp>(a, b, mask);
}

/// Whole fours: every second one of `a`, from `first` on, then those of `b`.
static Value everySecondFour(CodeBuilder &code, Value a, Value b, int first) {
  int lanes = CodeBuilder::lanes(a);
  SmallVector<int32_t> mask;
  for (int source : {0, lanes})
    for (int four = first * 4; four < lanes; four += 8)
      for (int i = 0; i < 4; ++i) mask.push_back(source + four + i);
  return code.make<LLVM::ShuffleVectorOp>(a, b, mask);
}

/// Within each four lanes first, four rows at a time, as instructions that stay in 128 bits do it; then fours change places.
SmallVector<Value> tessera::transpose(CodeBuilder &code, ArrayRef<Value> rows) {
  unsigned lanes = rows.size(), fours = lanes / 4;
  std::vector<SmallVector<Value>> column(4); // column[c][g]: rows 4g … 4g + 3 at columns c, 4 + c, 8 + c …
  for (unsigned g = 0; g < fours; ++g) {
    ArrayRef<Value> r = rows.slice(4 * g, 4);
    Value low0 = shuffleFours(code, r[0], r[1], {0, 4, 1, 5}), high0 = shuffleFours(code, r[0], r[1], {2, 6, 3, 7});
    Value low1 = shuffleFours(code, r[2], r[3], {0, 4, 1, 5}), high1 = shuffleFours(code, r[2], r[3], {2, 6, 3, 7});
    column[0].push_back(shuffleFours(code, low0, low1, {0, 1, 4, 5}));
    column[1].push_back(shuffleFours(code, low0, low1, {2, 3, 6, 7}));
    column[2].push_back(shuffleFours(code, high0, high1, {0, 1, 4, 5}));
    column[3].push_back(shuffleFours(code, high0, high1, {2, 3, 6, 7}));
  }
  SmallVector<Value> result(lanes);
  for (unsigned c = 0; c < 4; ++c) {
    // parts: at each level every vector holds the fours of more groups, of fewer columns; `first` is the lowest of those.
    std::vector<std::pair<unsigned, SmallVector<Value>>> parts{{0, column[c]}};
    for (unsigned step = 1; step < fours; step *= 2) {
      std::vector<std::pair<unsigned, SmallVector<Value>>> next;
      for (auto &[first, vectors] : parts)
        for (unsigned odd : {0u, 1u}) {
          SmallVector<Value> halves;
          for (unsigned i = 0; i < vectors.size(); i += 2)
            halves.push_back(everySecondFour(code, vectors[i], vectors[i + 1], odd));
          next.emplace_back(first + odd * step, halves);
        }
      parts = std::move(next);
    }
    for (auto &[first, vectors] : parts) result[4 * first + c] = vectors.front();
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

LLVM::LLVMFunctionType MatrixFunctions::productType(CodeBuilder &code) {
  Type pointer = code.pointer(), i64 = code.i64();
  return LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(code.getContext()),
                                     {i64, pointer, pointer, pointer, i64, pointer, i64});
}

LLVM::LLVMFunctionType MatrixFunctions::amxProductType(CodeBuilder &code) {
  SmallVector<Type> arguments(productType(code).getParams());
  arguments.push_back(code.i64());
  return LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(code.getContext()), arguments);
}

LLVM::LLVMFuncOp MatrixFunctions::begin(CodeBuilder &code, const std::string &name, ArrayRef<Type> arguments) {
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(code.getContext()), arguments);
  code.hasBf16Casts = hasBf16Casts;
  code.setInsertionPointToEnd(module.getBody());
  auto function = code.make<LLVM::LLVMFuncOp>(name, type);
  function.setVisibility_(LLVM::Visibility::Hidden);
  functions[name] = function;
  code.setInsertionPointToEnd(function.addEntryBlock(code));
  return function;
}

/// Addresses of `count` rows.
static SmallVector<Value> rowAddresses(CodeBuilder &code, ElementType type, Value first, Value stride, unsigned count) {
  SmallVector<Value> addresses{first};
  while (addresses.size() < count) addresses.push_back(numberAt(code, type, addresses.back(), stride));
  return addresses;
}

/// sum + x · y, lane by lane; of pairs the sum of two products.
static Value multiplyAdd(CodeBuilder &code, PanelFormat format, Value x, Value y, Value sum) {
  if (!format.pairs) return code.fma(x, y, sum);
  Type pairs = CodeBuilder::withLanes(code.getBF16Type(), 2 * CodeBuilder::lanes(sum));
  auto asPairs = [&](Value value) -> Value { return code.make<LLVM::BitcastOp>(pairs, value); };
  auto intrinsic = code.getStringAttr("llvm.x86.avx512bf16.dpbf16ps." + std::to_string(32 * CodeBuilder::lanes(sum)));
  return code.make<LLVM::CallIntrinsicOp>(sum.getType(), intrinsic, ValueRange{sum, asPairs(x), asPairs(y)})
      .getResult(0);
}

LLVM::LLVMFuncOp MatrixFunctions::product(unsigned rows, unsigned vectors, bool masked, Addend addend,
                                          ProductStrides strides, PanelFormat format, ElementType result) {
  std::string name = "tsr_product_" + std::to_string(rows) + "x" + std::to_string(vectors) + (masked ? "_masked" : "");
  name += addend == Addend::Row ? "_row" : addend == Addend::C ? "_c" : "_both";
  if (format.pairs) name += "_pairs"; // panels of f32 are alike, whatever they were made of
  if (result != ElementType::F32) name += "_to_" + std::string(elementTypeName(result));
  for (int64_t stride : {strides.aRow, strides.aStep, strides.bStep}) name += "_" + std::to_string(stride);
  if (auto it = functions.find(name); it != functions.end()) return it->second;
  CodeBuilder code(UnknownLoc::get(module.getContext()));
  Type i64 = code.i64(), f32 = code.getF32Type();
  auto function = begin(code, name, productType(code).getParams());
  auto argument = [&](unsigned i) { return function.getBody().getArgument(i); };
  Value steps = argument(0), a = argument(1), b = argument(2), c = argument(3), ldc = argument(4);

  SmallVector<Value> masks(vectors);
  if (masked)
    for (unsigned j = 0; j < vectors; ++j)
      masks[j] = code.icmp(LLVM::ICmpPredicate::slt, code.iota(CodeBuilder::withLanes(i64, lanes), j * lanes),
                           code.splat(argument(6), lanes));
  bool direct = strides.bStep != static_cast<int64_t>(vectors * lanes);
  auto sumUp = [&](ValueRange carried, Value from, Value to, bool runsAtLeastOnce) {
    return code.loop(from, to, 1, carried, runsAtLeastOnce, [&](Value, ValueRange now) {
      SmallVector<Value> next(now.begin(), now.end());
      Value aNow = now[now.size() - 2], bNow = now.back();
      SmallVector<Value> columns;
      for (unsigned j = 0; j < vectors; ++j)
        columns.push_back(loadVector(code, code.at(bNow, f32, j * lanes), lanes, direct ? masks[j] : Value()));
      for (unsigned i = 0; i < rows; ++i) {
        Value x = code.splat(code.make<LLVM::LoadOp>(f32, code.at(aNow, f32, i * strides.aRow)), lanes);
        for (unsigned j = 0; j < vectors; ++j)
          next[i * vectors + j] = multiplyAdd(code, format, x, columns[j], now[i * vectors + j]);
      }
      next[next.size() - 2] = code.at(aNow, f32, strides.aStep);
      next.back() = code.at(bNow, f32, strides.bStep);
      return next;
    });
  };
  SmallVector<Value> carried(rows * vectors, code.number(CodeBuilder::withLanes(f32, lanes), 0.0));
  carried.push_back(a), carried.push_back(b);
  // c is on its way from memory during the last steps: what is fetched earlier may be driven out by a and b again.
  Value early = code.smax(code.add(steps, -stepsToFetch), 0);
  carried = sumUp(carried, code.index(0), early, false);
  SmallVector<Value> rowsOfC = rowAddresses(code, result, c, ldc, rows);
  for (Value address : rowsOfC)
    for (unsigned j = 0; j < llvm::divideCeil(vectors * bytesOf(result), 4);
         ++j) // a vector of f32 is a line of the cache
      code.make<LLVM::Prefetch>(code.at(address, f32, j * lanes), code.getI32IntegerAttr(1), code.getI32IntegerAttr(3),
                                code.getI32IntegerAttr(1));
  carried = sumUp(carried, early, steps, true);
  SmallVector<Value> row;
  for (unsigned j = 0; j < vectors && addend != Addend::C; ++j)
    row.push_back(loadVector(code, code.at(argument(5), f32, j * lanes), lanes, masks[j]));
  // All of c is read before any of it is written: rows that lie a multiple of a page apart would make each load wait for the
  // store before it.
  SmallVector<Value> addresses, sums;
  for (auto [i, start] : llvm::enumerate(rowsOfC))
    for (unsigned j = 0; j < vectors; ++j) {
      addresses.push_back(numberAt(code, result, start, j * lanes));
      Value sum = carried[i * vectors + j];
      if (addend != Addend::Row) sum = code.fadd(sum, loadVector(code, addresses.back(), lanes, masks[j]));
      sums.push_back(addend != Addend::C ? code.fadd(sum, row[j]) : sum);
    }
  for (auto [i, address] : llvm::enumerate(addresses)) storeVector(code, sums[i], address, masks[i % vectors], result);
  code.make<LLVM::ReturnOp>(ValueRange{});
  return function;
}

LLVM::LLVMFuncOp MatrixFunctions::round(ElementType result) {
  std::string name = "tsr_round_to_" + std::string(elementTypeName(result));
  if (auto it = functions.find(name); it != functions.end()) return it->second;
  CodeBuilder code(UnknownLoc::get(module.getContext()));
  Type pointer = code.pointer(), i64 = code.i64();
  auto function = begin(code, name, {pointer, i64, pointer, i64, i64, i64});
  auto argument = [&](unsigned i) { return function.getBody().getArgument(i); };
  Value columns = argument(5), whole = code.bitAnd(columns, -static_cast<int64_t>(lanes));
  code.loop(code.index(0), argument(4), 1, [&](Value row) {
    Value from = code.f32At(argument(0), code.mul(row, argument(1)));
    Value to = numberAt(code, result, argument(2), code.mul(row, argument(3)));
    auto copy = [&](Value column, Value mask) {
      storeVector(code, loadVector(code, code.f32At(from, column), lanes, mask), numberAt(code, result, to, column),
                  mask, result);
    };
    code.loop(code.index(0), whole, lanes, [&](Value column) { copy(column, {}); });
    code.when(code.icmp(LLVM::ICmpPredicate::slt, whole, columns), [&] {
      copy(whole, code.icmp(LLVM::ICmpPredicate::slt, code.iota(CodeBuilder::withLanes(i64, lanes), 0),
                            code.splat(code.sub(columns, whole), lanes)));
    });
  });
  code.make<LLVM::ReturnOp>(ValueRange{});
  return function;
}
