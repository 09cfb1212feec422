//===- ElementVectors.cpp - vectors of elements of any type ---------------===//

#include "codegen/cpu/contraction/ElementVectors.h"
#include "codegen/cpu/builder/Fp8.h"

using namespace mlir;
using namespace tessera;

Value tessera::loadVector(CodeBuilder &code, Value address, unsigned lanes, Value mask) {
  Type type = CodeBuilder::withLanes(code.getF32Type(), lanes);
  if (!mask) return code.make<LLVM::LoadOp>(type, address, /*alignment=*/4);
  return code.make<LLVM::MaskedLoadOp>(type, address, mask, code.number(type, 0.0), /*alignment=*/4u);
}

/// The float type of an element.
static Type floatTypeOf(CodeBuilder &code, ElementType type) {
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
  case ElementType::F64:
  case ElementType::I32:
  case ElementType::I64:
  case ElementType::I1:
  case ElementType::U8:
    break;
  }
  llvm_unreachable("no GEMM has elements of this type");
}

/// Low-precision elements are integers in memory, because every processor has masked loads and stores of integers.
static Type storageOf(CodeBuilder &code, ElementType type) {
  if (type == ElementType::F32) return code.getF32Type();
  return code.getIntegerType(8 * bytesOf(type));
}

Value tessera::elementAt(CodeBuilder &code, ElementType type, Value base, Value offset) {
  return code.at(base, storageOf(code, type), offset);
}

Value tessera::elementAt(CodeBuilder &code, ElementType type, Value base, int64_t offset) {
  return code.at(base, storageOf(code, type), offset);
}

static Value widen(CodeBuilder &code, ElementType type, Value stored) {
  if (type == ElementType::F32) return stored;
  if (isFp8(type)) return widenFp8(code, stored, floatTypeOf(code, type));
  return code.floatCast(code.bitcast(stored, floatTypeOf(code, type)), code.getF32Type());
}

/// Elements as they are stored, of `storageOf`.
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
  if (type != ElementType::F32)
    vector = code.bitcast(code.floatCast(vector, floatTypeOf(code, type)), storageOf(code, type));
  auto alignment = static_cast<unsigned>(bytesOf(type));
  if (mask)
    code.make<LLVM::MaskedStoreOp>(vector, address, mask, alignment);
  else
    code.make<LLVM::StoreOp>(vector, address, alignment);
}

/// Shuffles two vectors within each quad of lanes (128 bits). `picks` has the lane for each of the four: from 0 on in
/// `a`, from 4 on in `b`.
static Value shuffleQuads(CodeBuilder &code, Value a, Value b, std::array<int, 4> picks) {
  int lanes = CodeBuilder::lanes(a);
  SmallVector<int32_t> mask;
  for (int quad = 0; quad < lanes; quad += 4)
    for (int pick : picks) mask.push_back(pick < 4 ? quad + pick : lanes + quad + pick - 4);
  return code.make<LLVM::ShuffleVectorOp>(a, b, mask);
}

/// Whole quads: every second one of `a`, from quad `first` on, then of `b`.
static Value everySecondQuad(CodeBuilder &code, Value a, Value b, int first) {
  int lanes = CodeBuilder::lanes(a);
  SmallVector<int32_t> mask;
  for (int source : {0, lanes})
    for (int quad = first * 4; quad < lanes; quad += 8)
      for (int i = 0; i < 4; ++i) mask.push_back(source + quad + i);
  return code.make<LLVM::ShuffleVectorOp>(a, b, mask);
}

/// First within each quad of lanes, four rows at a time, with instructions that stay within 128 bits. Then quads are
/// permuted.
SmallVector<Value> tessera::transpose(CodeBuilder &code, ArrayRef<Value> rows) {
  unsigned lanes = rows.size(), quads = lanes / 4;
  std::vector<SmallVector<Value>> column(4); // column[c][g]: rows 4g … 4g + 3 at columns c, 4 + c, 8 + c …
  for (unsigned g = 0; g < quads; ++g) {
    ArrayRef<Value> r = rows.slice(4 * g, 4);
    Value low0 = shuffleQuads(code, r[0], r[1], {0, 4, 1, 5}), high0 = shuffleQuads(code, r[0], r[1], {2, 6, 3, 7});
    Value low1 = shuffleQuads(code, r[2], r[3], {0, 4, 1, 5}), high1 = shuffleQuads(code, r[2], r[3], {2, 6, 3, 7});
    column[0].push_back(shuffleQuads(code, low0, low1, {0, 1, 4, 5}));
    column[1].push_back(shuffleQuads(code, low0, low1, {2, 3, 6, 7}));
    column[2].push_back(shuffleQuads(code, high0, high1, {0, 1, 4, 5}));
    column[3].push_back(shuffleQuads(code, high0, high1, {2, 3, 6, 7}));
  }
  SmallVector<Value> result(lanes);
  for (unsigned c = 0; c < 4; ++c) {
    // At each level a vector has the quads of twice as many groups, for half as many columns. `first` is the lowest of
    // these columns.
    std::vector<std::pair<unsigned, SmallVector<Value>>> parts{{0, column[c]}};
    for (unsigned distance = 1; distance < quads; distance *= 2) {
      std::vector<std::pair<unsigned, SmallVector<Value>>> next;
      for (auto &[first, vectors] : parts)
        for (unsigned odd : {0u, 1u}) {
          SmallVector<Value> halves;
          for (unsigned i = 0; i < vectors.size(); i += 2)
            halves.push_back(everySecondQuad(code, vectors[i], vectors[i + 1], odd));
          next.emplace_back(first + odd * distance, halves);
        }
      parts = std::move(next);
    }
    for (auto &[first, vectors] : parts) result[4 * first + c] = vectors.front();
  }
  return result;
}
