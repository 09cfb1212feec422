//===- MatrixFunctions.cpp - register tiles and packed panels -------------===//

#include "codegen/cpu/contraction/MatrixFunctions.h"

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

Value tessera::loadVector(Code &code, Value address, unsigned lanes, Value mask) {
  Type type = Code::withLanes(code.getF32Type(), lanes);
  if (!mask) return code.make<LLVM::LoadOp>(type, address, /*alignment=*/4);
  return code.make<LLVM::MaskedLoadOp>(type, address, mask, code.number(type, 0.0), /*alignment=*/4u);
}

void tessera::storeVector(Code &code, Value vector, Value address, Value mask) {
  if (mask)
    code.make<LLVM::MaskedStoreOp>(vector, address, mask, /*alignment=*/4u);
  else
    code.make<LLVM::StoreOp>(vector, address, /*alignment=*/4);
}

/// Numbers of the first vector and of the second (counted on from the lanes), picked within each four lanes: `picks` for
/// each of four, with 4 and more for the second.
static Value shuffleFours(Code &code, Value a, Value b, std::array<int, 4> picks) {
  int lanes = Code::lanes(a);
  SmallVector<int32_t> mask;
  for (int four = 0; four < lanes; four += 4)
    for (int pick : picks) mask.push_back(pick < 4 ? four + pick : lanes + four + pick - 4);
  return code.make<LLVM::ShuffleVectorOp>(a, b, mask);
}

/// Whole fours: every second one of `a`, from `first` on, then those of `b`.
static Value everySecondFour(Code &code, Value a, Value b, int first) {
  int lanes = Code::lanes(a);
  SmallVector<int32_t> mask;
  for (int source : {0, lanes})
    for (int four = first * 4; four < lanes; four += 8)
      for (int i = 0; i < 4; ++i) mask.push_back(source + four + i);
  return code.make<LLVM::ShuffleVectorOp>(a, b, mask);
}

/// Within each four lanes first, four rows at a time, as instructions that stay in 128 bits do it; then fours change places.
SmallVector<Value> tessera::transpose(Code &code, ArrayRef<Value> rows) {
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

static LLVM::LLVMFunctionType functionType(Code &code, ArrayRef<Type> arguments) {
  return LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(code.getContext()), arguments);
}

LLVM::LLVMFunctionType MatrixFunctions::productType(Code &code) {
  Type pointer = code.pointer(), i64 = code.i64();
  return functionType(code, {i64, pointer, pointer, pointer, i64, pointer, i64});
}

LLVM::LLVMFuncOp MatrixFunctions::begin(Code &code, const std::string &name, LLVM::LLVMFunctionType type) {
  code.setInsertionPointToEnd(module.getBody());
  auto function = code.make<LLVM::LLVMFuncOp>(name, type);
  function.setVisibility_(LLVM::Visibility::Hidden);
  functions[name] = function;
  code.setInsertionPointToEnd(function.addEntryBlock(code));
  return function;
}

/// Addresses of `count` rows.
static SmallVector<Value> rowAddresses(Code &code, Value first, Value stride, unsigned count) {
  SmallVector<Value> addresses{first};
  while (addresses.size() < count) addresses.push_back(code.at(addresses.back(), code.getF32Type(), stride));
  return addresses;
}

LLVM::LLVMFuncOp MatrixFunctions::product(unsigned rows, unsigned vectors, bool masked, Addend addend,
                                          ProductStrides strides) {
  std::string name = "tsr_product_" + std::to_string(rows) + "x" + std::to_string(vectors) + (masked ? "_masked" : "");
  name += addend == Addend::Row ? "_row" : addend == Addend::C ? "_c" : "_both";
  for (int64_t stride : {strides.aRow, strides.aStep, strides.bStep}) name += "_" + std::to_string(stride);
  if (auto it = functions.find(name); it != functions.end()) return it->second;
  Code code(UnknownLoc::get(module.getContext()));
  Type i64 = code.i64(), f32 = code.getF32Type();
  auto function = begin(code, name, productType(code));
  auto argument = [&](unsigned i) { return function.getBody().getArgument(i); };
  Value steps = argument(0), a = argument(1), b = argument(2), c = argument(3), ldc = argument(4);

  SmallVector<Value> masks(vectors);
  if (masked)
    for (unsigned j = 0; j < vectors; ++j)
      masks[j] = code.icmp(LLVM::ICmpPredicate::slt, code.iota(Code::withLanes(i64, lanes), j * lanes),
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
        for (unsigned j = 0; j < vectors; ++j) next[i * vectors + j] = code.fma(x, columns[j], now[i * vectors + j]);
      }
      next[next.size() - 2] = code.at(aNow, f32, strides.aStep);
      next.back() = code.at(bNow, f32, strides.bStep);
      return next;
    });
  };
  SmallVector<Value> carried(rows * vectors, code.number(Code::withLanes(f32, lanes), 0.0));
  carried.push_back(a), carried.push_back(b);
  // c is on its way from memory during the last steps: what is fetched earlier may be driven out by a and b again.
  Value early = code.smax(code.add(steps, -stepsToFetch), 0);
  carried = sumUp(carried, code.index(0), early, false);
  SmallVector<Value> rowsOfC = rowAddresses(code, c, ldc, rows);
  for (Value address : rowsOfC)
    for (unsigned j = 0; j < vectors; ++j)
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
      addresses.push_back(code.at(start, f32, j * lanes));
      Value sum = carried[i * vectors + j];
      if (addend != Addend::Row) sum = code.fadd(sum, loadVector(code, addresses.back(), lanes, masks[j]));
      sums.push_back(addend != Addend::C ? code.fadd(sum, row[j]) : sum);
    }
  for (auto [i, address] : llvm::enumerate(addresses)) storeVector(code, sums[i], address, masks[i % vectors]);
  code.make<LLVM::ReturnOp>(ValueRange{});
  return function;
}

/// For each k, the numbers of all lines, which lie side by side: what is read is read in its order, and goes to one panel after
/// the other.
static void packCopying(Code &code, unsigned width, unsigned lanes, Value source, Value stride, Value steps,
                        Value lines, Value panels) {
  Type f32 = code.getF32Type();
  unsigned vectors = llvm::divideCeil(width, lanes), rest = width - (vectors - 1) * lanes;
  Value lastLine = code.mul(code.udiv(code.add(lines, -1), width), width); // the first one of the last panel
  Value wholeMask = rest < lanes ? code.prefixMask(lanes, rest) : Value();
  SmallVector<Value> lastMasks;
  for (unsigned j = 0; j < vectors; ++j)
    lastMasks.push_back(code.icmp(LLVM::ICmpPredicate::slt, code.iota(Code::withLanes(code.i64(), lanes), j * lanes),
                                  code.splat(code.sub(lines, lastLine), lanes)));
  Value panelSize = code.mul(steps, width);
  // Ascending in k: a vector that reaches beyond its row is followed by the next row. `isLast`: no row follows, but the next
  // panel, which has been written.
  auto copyRow = [&](Value from, Value to, bool isLast) {
    auto copy = [&](Value from, Value to, bool isLastPanel) {
      for (unsigned j = 0; j < vectors; ++j) {
        Value loadMask = isLastPanel ? lastMasks[j] : j + 1 == vectors ? wholeMask : Value();
        Value vector = loadVector(code, code.at(from, f32, j * lanes), lanes, loadMask);
        storeVector(code, vector, code.at(to, f32, j * lanes), isLast && j + 1 == vectors ? wholeMask : Value());
      }
    };
    SmallVector<Value> last =
        code.loop(code.index(0), lastLine, width, {from, to}, false, [&](Value, ValueRange now) -> SmallVector<Value> {
          copy(now[0], now[1], false);
          return {code.at(now[0], f32, width), code.f32At(now[1], panelSize)};
        });
    copy(last[0], last[1], true);
  };
  SmallVector<Value> end = code.loop(code.index(0), code.add(steps, -1), 1, {source, panels}, false,
                                     [&](Value, ValueRange now) -> SmallVector<Value> {
                                       copyRow(now[0], now[1], false);
                                       return {code.f32At(now[0], stride), code.at(now[1], f32, width)};
                                     });
  copyRow(end[0], end[1], true);
}

/// Squares of lines and k are transposed in registers; what is left of k goes number by number. A line that does not exist
/// is read as the last one.
static void packPanelTransposing(Code &code, unsigned width, unsigned lanes, Value source, Value stride, Value steps,
                                 Value lines, Value panel) {
  Type f32 = code.getF32Type();
  SmallVector<Value> starts;
  Value last = code.add(lines, -1);
  for (unsigned line = 0; line < llvm::alignTo(width, lanes); ++line)
    starts.push_back(code.at(source, f32, code.mul(code.smin(code.index(line), last), stride)));
  Value whole = code.bitAnd(steps, -static_cast<int64_t>(lanes));
  code.loop(code.index(0), whole, lanes, {}, false, [&](Value k, ValueRange) -> SmallVector<Value> {
    Value out = code.at(panel, f32, code.mul(k, width));
    // From the last lines to the first and in the order of k: the last vector of a row may reach into the row behind it.
    for (unsigned group = llvm::divideCeil(width, lanes); group-- > 0;) {
      unsigned first = group * lanes;
      SmallVector<Value> rows;
      for (unsigned line = 0; line < lanes; ++line)
        rows.push_back(loadVector(code, code.at(starts[first + line], f32, k), lanes));
      for (auto [row, vector] : llvm::enumerate(transpose(code, rows)))
        storeVector(code, vector, code.at(out, f32, row * width + first));
    }
    return {};
  });
  code.loop(whole, steps, 1, {}, false, [&](Value k, ValueRange) -> SmallVector<Value> {
    Value out = code.at(panel, f32, code.mul(k, width));
    for (unsigned line = 0; line < width; ++line) {
      Value number = code.make<LLVM::LoadOp>(f32, code.at(starts[line], f32, k));
      code.make<LLVM::StoreOp>(number, code.at(out, f32, line));
    }
    return {};
  });
}

static void packTransposing(Code &code, unsigned width, unsigned lanes, Value source, Value stride, Value steps,
                            Value lines, Value panels) {
  code.loop(code.index(0), lines, width, [&](Value line) {
    packPanelTransposing(code, width, lanes, code.f32At(source, code.mul(line, stride)), stride, steps,
                         code.smin(code.sub(lines, line), width), code.f32At(panels, code.mul(line, steps)));
  });
}

LLVM::LLVMFuncOp MatrixFunctions::pack(unsigned width, bool transposing) {
  std::string name = (transposing ? "tsr_pack_transposing_" : "tsr_pack_") + std::to_string(width);
  if (auto it = functions.find(name); it != functions.end()) return it->second;
  Code code(UnknownLoc::get(module.getContext()));
  Type pointer = code.pointer(), i64 = code.i64();
  auto function = begin(code, name, functionType(code, {pointer, i64, i64, i64, pointer}));
  auto argument = [&](unsigned i) { return function.getBody().getArgument(i); };
  (transposing ? packTransposing : packCopying)(code, width, lanes, argument(0), argument(1), argument(2), argument(3),
                                                argument(4));
  code.make<LLVM::ReturnOp>(ValueRange{});
  return function;
}
