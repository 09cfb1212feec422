//===- Amx.cpp - micro-kernels on AMX's tile registers -----------------------===//

#include "codegen/cpu/contraction/Amx.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

static constexpr int64_t rowBytes = 64;

static void emit(CodeBuilder &code, const char *name, ValueRange arguments) {
  code.make<LLVM::CallIntrinsicOp>(code.getStringAttr("llvm.x86." + std::string(name)), arguments);
}

static Value registerNumber(CodeBuilder &code, int tile) { return code.integer(code.getI8Type(), tile); }

/// `isStreaming`: a non-temporal load, which evicts nothing from the L1 cache.
static void loadTile(CodeBuilder &code, int tile, Value address, int64_t strideBytes, bool isStreaming) {
  emit(code, isStreaming ? "tileloaddt164" : "tileloadd64",
       {registerNumber(code, tile), address, code.index(strideBytes)});
}

void tessera::configureTiles(CodeBuilder &code) {
  // The palette, then the bytes of a row of each tile from byte 16 on, then their rows from byte 48 on.
  constexpr int64_t words[8] = {1, 0, 0x0040004000400040, 0x0040004000400040, 0, 0, 0x1010101010101010, 0};
  Value configuration = code.make<LLVM::AllocaOp>(code.pointer(), code.i64(), code.index(8), /*alignment=*/8);
  for (auto [i, word] : llvm::enumerate(words))
    code.make<LLVM::StoreOp>(code.index(word), code.at(configuration, code.i64(), int64_t(i)));
  emit(code, "ldtilecfg", configuration);
}

void tessera::releaseTiles(CodeBuilder &code) { emit(code, "tilerelease", {}); }

//===----------------------------------------------------------------------===//
// The micro-kernel
//===----------------------------------------------------------------------===//

/// Units along K, about half a microsecond, in which c arrives from memory.
static constexpr int64_t unitsToPrefetch = 4 * amxUnits;

/// Rows of c in one iteration of the loop that stores them.
static constexpr int64_t rowsPerIteration = 4;

namespace {
/// The body of one micro-kernel.
struct AmxMicroKernel {
  CodeBuilder &code;
  unsigned rowTiles, columnTiles;
  MicroKernelStrides strides;
  ElementType result;

  /// Registers: sums, then a's, then b's.
  int sumOf(unsigned row, unsigned column) const { return int(2 * row + column); }
  int aOf(unsigned row) const { return int(4 + row); }
  int bOf(unsigned column) const { return int(6 + column); }

  SmallVector<Value> accumulate(ValueRange ab, Value from, Value to);
  void prefetch(Value c, Value ldc, Value rows);
  void storePair(Value first, Value second, Value address, Value mask);
  void addAndStore(Value sums, Addend addend, Value c, Value ldc, Value row, Value columns, Value rows);
};
} // namespace

/// The units [from, to); returns the addresses of a and b after them. A tile of a is multiplied by many panels of b,
/// and each panel is read again only for the next tile: it is streamed.
SmallVector<Value> AmxMicroKernel::accumulate(ValueRange ab, Value from, Value to) {
  Type f32 = code.getF32Type();
  return code.loop(from, to, amxUnits, ab, false, [&](Value, ValueRange now) -> SmallVector<Value> {
    for (unsigned j = 0; j < columnTiles; ++j)
      loadTile(code, bOf(j), code.at(now[1], f32, j * amxUnits), strides.bK * 4, /*isStreaming=*/true);
    for (unsigned i = 0; i < rowTiles; ++i) {
      loadTile(code, aOf(i), code.at(now[0], f32, i * amxRows * strides.aRow), strides.aRow * 4, /*isStreaming=*/false);
      for (unsigned j = 0; j < columnTiles; ++j)
        emit(code, "tdpbf16ps",
             {registerNumber(code, sumOf(i, j)), registerNumber(code, aOf(i)), registerNumber(code, bOf(j))});
    }
    return {code.at(now[0], f32, strides.aK), code.at(now[1], f32, amxUnits * strides.bK)};
  });
}

void AmxMicroKernel::prefetch(Value c, Value ldc, Value rows) {
  int64_t bytes = columnTiles * amxUnits * bytesOf(result);
  code.loop(code.index(0), rows, 1, {c}, true, [&](Value, ValueRange now) -> SmallVector<Value> {
    for (int64_t i = 0; i < bytes; i += rowBytes)
      code.make<LLVM::Prefetch>(code.at(now[0], code.getI8Type(), i), code.getI32IntegerAttr(1),
                                code.getI32IntegerAttr(3), code.getI32IntegerAttr(1));
    return {elementAt(code, result, now[0], ldc)};
  });
}

/// Stores sums, which are in memory, to c.
void AmxMicroKernel::addAndStore(Value sums, Addend addend, Value c, Value ldc, Value row, Value columns, Value rows) {
  unsigned lanes = amxUnits;
  int64_t width = columnTiles * amxUnits;
  auto masked = [&](unsigned count, int64_t first = 0) { // which of so many columns exist
    return code.icmp(LLVM::ICmpPredicate::slt, code.iota(CodeBuilder::withLanes(code.getI32Type(), count), first),
                     code.splat(code.intCast(columns, code.getI32Type()), count));
  };
  SmallVector<Value> masks, addends;
  for (unsigned j = 0; j < columnTiles; ++j) {
    masks.push_back(masked(lanes, j * lanes));
    if (addend != Addend::C)
      addends.push_back(loadVector(code, code.at(row, code.getF32Type(), j * lanes), lanes, masks[j]));
  }
  auto forEachRow = [&](llvm::function_ref<void(Value ofSums, Value ofC)> body) {
    Value whole = code.bitAnd(rows, -rowsPerIteration);
    auto run = [&](Value from, Value to, int64_t count, ValueRange start) {
      return code.loop(from, to, count, start, false, [&](Value, ValueRange now) {
        SmallVector<Value> next(now);
        for (int64_t i = 0; i < count; ++i) {
          body(next[0], next[1]);
          next = {code.at(next[0], code.getF32Type(), width), elementAt(code, result, next[1], ldc)};
        }
        return next;
      });
    };
    SmallVector<Value> rest = run(code.index(0), whole, rowsPerIteration, {sums, c});
    run(whole, rows, 1, rest);
  };
  auto sumAt = [&](Value ofSums, unsigned j) { return code.at(ofSums, code.getF32Type(), j * lanes); };
  // All of c is read before any of it is written (see VectorMicroKernel::addAndStore).
  if (addend != Addend::Row)
    forEachRow([&](Value ofSums, Value ofC) {
      for (unsigned j = 0; j < columnTiles; ++j) {
        Value before = loadVector(code, elementAt(code, result, ofC, j * lanes), lanes, masks[j]),
              at = sumAt(ofSums, j);
        storeVector(code, code.fadd(loadVector(code, at, lanes), before), at);
      }
    });
  Value wideMask;
  if (columnTiles == 2) wideMask = masked(2 * lanes);
  forEachRow([&](Value ofSums, Value ofC) {
    SmallVector<Value> values;
    for (unsigned j = 0; j < columnTiles; ++j) {
      Value sum = loadVector(code, sumAt(ofSums, j), lanes);
      values.push_back(addend != Addend::C ? code.fadd(sum, addends[j]) : sum);
    }
    if (columnTiles == 2 && result == ElementType::BF16) return storePair(values[0], values[1], ofC, wideMask);
    for (unsigned j = 0; j < columnTiles; ++j)
      storeVector(code, values[j], elementAt(code, result, ofC, j * lanes), masks[j], result);
  });
}

/// Stores two vectors, rounded to bf16 by one instruction.
void AmxMicroKernel::storePair(Value first, Value second, Value address, Value mask) {
  Type bf16 = CodeBuilder::withLanes(code.getBF16Type(), 2 * amxUnits);
  auto intrinsic = code.getStringAttr("llvm.x86.avx512bf16.cvtne2ps2bf16.512");
  Value rounded = code.make<LLVM::CallIntrinsicOp>(bf16, intrinsic, ValueRange{second, first}).getResult(0);
  code.make<LLVM::MaskedStoreOp>(code.bitcast(rounded, code.getI16Type()), address, mask, /*alignment=*/2u);
}

LLVM::LLVMFuncOp MatrixFunctions::amxMicroKernel(unsigned rowTiles, unsigned columnTiles, Addend addend,
                                                 MicroKernelStrides strides, ElementType result) {
  std::string name = "tsr_amx_product_" + std::to_string(rowTiles) + "x" + std::to_string(columnTiles);
  name += addend == Addend::Row ? "_row" : addend == Addend::C ? "_c" : "_both";
  if (result != ElementType::F32) name += "_to_" + std::string(elementTypeName(result));
  for (int64_t stride : {strides.aRow, strides.aK, strides.bK}) name += "_" + std::to_string(stride);
  if (auto it = functions.find(name); it != functions.end()) return it->second;
  hasAmxMicroKernels = true;
  CodeBuilder code(UnknownLoc::get(module.getContext()));
  auto function = begin(code, name, amxMicroKernelType(code).getParams());
  auto argument = [&](unsigned i) { return function.getBody().getArgument(i); };
  Value units = argument(0), c = argument(3), ldc = argument(4), rows = argument(7);
  AmxMicroKernel kernel{code, rowTiles, columnTiles, strides, result};
  int64_t width = columnTiles * amxUnits;
  Value sums = code.make<LLVM::AllocaOp>(code.pointer(), code.getF32Type(), code.index(rowTiles * amxRows * width),
                                         /*alignment=*/rowBytes);
  auto forEachTile = [&](llvm::function_ref<void(unsigned row, unsigned column)> body) {
    for (unsigned i = 0; i < rowTiles; ++i)
      for (unsigned j = 0; j < columnTiles; ++j) body(i, j);
  };
  forEachTile([&](unsigned i, unsigned j) { emit(code, "tilezero", registerNumber(code, kernel.sumOf(i, j))); });
  Value early = code.smax(code.add(units, -unitsToPrefetch), 0);
  SmallVector<Value> ab = kernel.accumulate({argument(1), argument(2)}, code.index(0), early);
  kernel.prefetch(c, ldc, rows);
  kernel.accumulate(ab, early, units);
  forEachTile([&](unsigned i, unsigned j) {
    Value to = code.at(sums, code.getF32Type(), i * amxRows * width + j * amxUnits);
    emit(code, "tilestored64", {registerNumber(code, kernel.sumOf(i, j)), to, code.index(width * 4)});
  });
  kernel.addAndStore(sums, addend, c, ldc, argument(5), argument(6), rows);
  code.make<LLVM::ReturnOp>(ValueRange{});
  return function;
}

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

AmxMicroKernels::AmxMicroKernels(MatrixFunctions &matrixFunctions, MicroKernelStrides strides, int64_t rows,
                                 int64_t columns, Addend first, Addend later, ElementType result)
    : hasLater(first != later) {
  // All tiles but the last have 32 rows or columns. The last may fit into one register.
  auto occurs = [](int64_t size, unsigned tiles) {
    int64_t rest = size % (2 * amxRows);
    bool isShort = rest > 0 && rest <= amxRows;
    return tiles == 1 ? isShort : size > amxRows;
  };
  for (unsigned rowTiles : {1u, 2u})
    for (unsigned columnTiles : {1u, 2u})
      for (bool isLater : {false, true})
        if (occurs(rows, rowTiles) && occurs(columns, columnTiles) && (!isLater || hasLater))
          functions[rowTiles - 1][columnTiles - 1][isLater] =
              matrixFunctions.amxMicroKernel(rowTiles, columnTiles, isLater ? later : first, strides, result);
}

void AmxMicroKernels::call(CodeBuilder &code, const Operands &operands, Value rows, Value columns,
                           Value isFirst) const {
  Value chosen;
  // A function that no tile needs is null, and its condition is never true.
  auto choose = [&](Value condition, LLVM::LLVMFuncOp function) {
    if (!function) return;
    Value address = code.make<LLVM::AddressOfOp>(code.pointer(), function.getSymName());
    chosen = chosen ? code.select(condition, address, chosen) : address;
  };
  Value isShort = code.icmp(LLVM::ICmpPredicate::sle, rows, code.index(amxRows));
  Value isNarrow = code.icmp(LLVM::ICmpPredicate::sle, columns, code.index(amxRows));
  auto not_ = [&](Value condition) { return code.bitXor(condition, 1); };
  for (unsigned rowTiles : {1u, 2u})
    for (unsigned columnTiles : {1u, 2u})
      for (bool isLater : {false, true}) {
        Value fits = code.bitAnd(rowTiles == 1 ? isShort : not_(isShort), columnTiles == 1 ? isNarrow : not_(isNarrow));
        if (hasLater) fits = code.bitAnd(fits, isLater ? not_(isFirst) : isFirst);
        choose(fits, functions[rowTiles - 1][columnTiles - 1][isLater]);
      }
  code.make<LLVM::CallOp>(MatrixFunctions::amxMicroKernelType(code),
                          ValueRange{chosen, operands.units, operands.a, operands.b, operands.c, operands.cStride,
                                     operands.row, columns, rows});
}
