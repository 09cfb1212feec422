//===- MatrixFunctions.cpp - micro-kernels and rounding -------------------===//

#include "codegen/cpu/contraction/MatrixFunctions.h"

using namespace mlir;
using namespace tessera;

/// Rows of a tile with one to four vectors in a row, for 32 or 16 registers. Each loaded element of a is multiplied by
/// every vector, and each loaded vector is used in every row: two vectors need the fewest loads.
static constexpr unsigned tileRows32[] = {28, 14, 9, 6}, tileRows16[] = {12, 6, 4, 2};

/// Units of K, about a microsecond, in which a tile of c arrives from memory.
static constexpr int64_t unitsToPrefetch = 128;

RegisterTile RegisterTile::of(const CpuTarget &target, int64_t columns) {
  RegisterTile tile;
  tile.lanes = target.floatLanes;
  auto padded = [&](unsigned vectors) { return llvm::alignTo(columns, vectors * tile.lanes); };
  tile.vectors = 2;
  // Columns of padding are computed in vain, which matters if there are few columns.
  for (unsigned vectors : {3u, 4u, 1u})
    if (columns <= 4 * tile.lanes && padded(vectors) < padded(tile.vectors)) tile.vectors = vectors;
  tile.rows = (target.floatLanes == 16 ? tileRows32 : tileRows16)[tile.vectors - 1];
  return tile;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

LLVM::LLVMFunctionType MatrixFunctions::microKernelType(CodeBuilder &code) {
  Type pointer = code.pointer(), i64 = code.i64();
  return LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(code.getContext()),
                                     {i64, pointer, pointer, pointer, i64, pointer, i64});
}

LLVM::LLVMFunctionType MatrixFunctions::amxMicroKernelType(CodeBuilder &code) {
  SmallVector<Type> arguments(microKernelType(code).getParams());
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

//===----------------------------------------------------------------------===//
// Micro-kernels in vector registers
//===----------------------------------------------------------------------===//

namespace {
/// The body of one micro-kernel.
struct VectorMicroKernel {
  CodeBuilder &code;
  unsigned rows, vectors, lanes;
  MicroKernelStrides strides;
  PanelFormat format;
  ElementType result;
  SmallVector<Value> masks; ///< the columns that exist in each vector; null: all

  Value multiplyAdd(Value x, Value y, Value sum);
  SmallVector<Value> accumulate(ValueRange carried, Value from, Value to, bool runsAtLeastOnce);
  SmallVector<Value> rowsOfC(Value c, Value ldc);
  void prefetch(ArrayRef<Value> rowsOfC);
  void addAndStore(ValueRange sums, ArrayRef<Value> rowsOfC, Addend addend, Value row);
};
} // namespace

/// sum + x · y, lane by lane; for pairs the sum of both products.
Value VectorMicroKernel::multiplyAdd(Value x, Value y, Value sum) {
  if (!format.pairs) return code.fma(x, y, sum);
  Type pairs = CodeBuilder::withLanes(code.getBF16Type(), 2 * CodeBuilder::lanes(sum));
  auto asPairs = [&](Value value) -> Value { return code.make<LLVM::BitcastOp>(pairs, value); };
  auto intrinsic = code.getStringAttr("llvm.x86.avx512bf16.dpbf16ps." + std::to_string(32 * CodeBuilder::lanes(sum)));
  return code.make<LLVM::CallIntrinsicOp>(sum.getType(), intrinsic, ValueRange{sum, asPairs(x), asPairs(y)})
      .getResult(0);
}

/// The units [from, to). `carried`: the sums, then the addresses of a and b at the current unit.
SmallVector<Value> VectorMicroKernel::accumulate(ValueRange carried, Value from, Value to, bool runsAtLeastOnce) {
  Type f32 = code.getF32Type();
  bool isInPlace = strides.bK != static_cast<int64_t>(vectors * lanes); // a panel has all columns
  return code.loop(from, to, 1, carried, runsAtLeastOnce, [&](Value, ValueRange now) {
    SmallVector<Value> next(now.begin(), now.end());
    Value a = now[now.size() - 2], b = now.back();
    SmallVector<Value> columns;
    for (unsigned j = 0; j < vectors; ++j)
      columns.push_back(loadVector(code, code.at(b, f32, j * lanes), lanes, isInPlace ? masks[j] : Value()));
    for (unsigned i = 0; i < rows; ++i) {
      Value x = code.splat(code.make<LLVM::LoadOp>(f32, code.at(a, f32, i * strides.aRow)), lanes);
      for (unsigned j = 0; j < vectors; ++j) next[i * vectors + j] = multiplyAdd(x, columns[j], now[i * vectors + j]);
    }
    next[next.size() - 2] = code.at(a, f32, strides.aK);
    next.back() = code.at(b, f32, strides.bK);
    return next;
  });
}

SmallVector<Value> VectorMicroKernel::rowsOfC(Value c, Value ldc) {
  SmallVector<Value> addresses{c};
  while (addresses.size() < rows) addresses.push_back(elementAt(code, result, addresses.back(), ldc));
  return addresses;
}

void VectorMicroKernel::prefetch(ArrayRef<Value> rowsOfC) {
  // A vector of f32 is a cache line.
  auto lines = static_cast<unsigned>(llvm::divideCeil(vectors * bytesOf(result), 4));
  for (Value address : rowsOfC)
    for (unsigned j = 0; j < lines; ++j)
      code.make<LLVM::Prefetch>(code.at(address, code.getF32Type(), j * lanes), code.getI32IntegerAttr(1),
                                code.getI32IntegerAttr(3), code.getI32IntegerAttr(1));
}

/// All of c is read before any of it is written: if rows are a multiple of a page apart, each load would wait for the
/// store before it.
void VectorMicroKernel::addAndStore(ValueRange sums, ArrayRef<Value> rowsOfC, Addend addend, Value row) {
  SmallVector<Value> rowVectors;
  for (unsigned j = 0; j < vectors && addend != Addend::C; ++j)
    rowVectors.push_back(loadVector(code, code.at(row, code.getF32Type(), j * lanes), lanes, masks[j]));
  SmallVector<Value> addresses, values;
  for (auto [i, start] : llvm::enumerate(rowsOfC))
    for (unsigned j = 0; j < vectors; ++j) {
      addresses.push_back(elementAt(code, result, start, j * lanes));
      Value sum = sums[i * vectors + j];
      if (addend != Addend::Row) sum = code.fadd(sum, loadVector(code, addresses.back(), lanes, masks[j]));
      values.push_back(addend != Addend::C ? code.fadd(sum, rowVectors[j]) : sum);
    }
  for (auto [i, address] : llvm::enumerate(addresses))
    storeVector(code, values[i], address, masks[i % vectors], result);
}

LLVM::LLVMFuncOp MatrixFunctions::microKernel(unsigned rows, unsigned vectors, bool masked, Addend addend,
                                              MicroKernelStrides strides, PanelFormat format, ElementType result) {
  std::string name = "tsr_product_" + std::to_string(rows) + "x" + std::to_string(vectors) + (masked ? "_masked" : "");
  name += addend == Addend::Row ? "_row" : addend == Addend::C ? "_c" : "_both";
  if (format.pairs) name += "_pairs"; // panels of f32 are the same for operands of any type
  if (result != ElementType::F32) name += "_to_" + std::string(elementTypeName(result));
  for (int64_t stride : {strides.aRow, strides.aK, strides.bK}) name += "_" + std::to_string(stride);
  if (auto it = functions.find(name); it != functions.end()) return it->second;
  CodeBuilder code(UnknownLoc::get(module.getContext()));
  auto function = begin(code, name, microKernelType(code).getParams());
  auto argument = [&](unsigned i) { return function.getBody().getArgument(i); };
  Value units = argument(0), a = argument(1), b = argument(2), c = argument(3), ldc = argument(4);

  SmallVector<Value> masks(vectors);
  if (masked)
    for (unsigned j = 0; j < vectors; ++j)
      masks[j] = code.icmp(LLVM::ICmpPredicate::slt, code.iota(CodeBuilder::withLanes(code.i64(), lanes), j * lanes),
                           code.splat(argument(6), lanes));
  VectorMicroKernel kernel{code, rows, vectors, lanes, strides, format, result, masks};
  SmallVector<Value> carried(rows * vectors, code.number(CodeBuilder::withLanes(code.getF32Type(), lanes), 0.0));
  carried.push_back(a), carried.push_back(b);
  // c is prefetched when the last units begin. If it came earlier, a and b could evict it again.
  Value early = code.smax(code.add(units, -unitsToPrefetch), 0);
  carried = kernel.accumulate(carried, code.index(0), early, false);
  SmallVector<Value> rowsOfC = kernel.rowsOfC(c, ldc);
  kernel.prefetch(rowsOfC);
  carried = kernel.accumulate(carried, early, units, true);
  kernel.addAndStore(carried, rowsOfC, addend, argument(5));
  code.make<LLVM::ReturnOp>(ValueRange{});
  return function;
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

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
    Value to = elementAt(code, result, argument(2), code.mul(row, argument(3)));
    auto copy = [&](Value column, Value mask) {
      storeVector(code, loadVector(code, code.f32At(from, column), lanes, mask), elementAt(code, result, to, column),
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
