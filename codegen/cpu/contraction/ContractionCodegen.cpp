//===- ContractionCodegen.cpp - contractions as generated functions -------===//

#include "codegen/cpu/contraction/ContractionCodegen.h"
#include "codegen/cpu/contraction/Ahead.h"
#include "codegen/cpu/contraction/Amx.h"
#include <optional>

using namespace mlir;
using namespace tessera;

namespace {

class ContractionEmitter {
public:
  ContractionEmitter(ModuleOp module, const ContractionPlan &plan, MatrixFunctions &functions)
      : module(module), plan(plan), functions(functions), code(UnknownLoc::get(module.getContext())) {}
  void emit(StringRef symbol);

private:
  /// Rows or columns [from, to).
  struct Span {
    Value from, to;
  };
  void loadBases(Value arguments);
  void emitProduct(Value number, Value firstPart, Value lastPart);
  void emitColumnBlock(Span rows, Span columns);
  void emitRowBlock(Span rows, Span columns, Value k, Value steps, ArrayRef<Ahead> ahead);
  /// What is fetched, evenly spread over the products of some rows.
  struct SpreadAhead {
    Ahead ahead;
    Span rows;
  };
  void emitAmxRowBlock(Span rows, Span columns, Value k, Value steps, ArrayRef<SpreadAhead> ahead);
  Ahead blockOfBAfter(Span columns, Value k);
  void emitRows(Span rows, Span columns);
  Value panelAt(Span columns, Value column, Value k, Value steps);
  void forEachTile(Span rows, llvm::function_ref<void(Span tile, Value number)> body);
  void emitTile(Span rows, Value done, Value bPanel, Span columns, Value k, Value steps);
  void packColumns(Value column, Value count, Value k, Value steps);
  void packRows(Span rows, Value k, Value steps);

  struct Stride {
    int64_t line, step; ///< from row to row of a or column to column of b, and from k to k
  };
  /// What will be packed, or read in place: lines of a or of b, `count` of at most `mostLines`, at `steps` of K.
  Ahead willRead(bool isA, Stride stride, Value line, Value count, int64_t mostLines, Value k, Value steps);
  /// Steps of K from `k` on, at most a block's; none behind the last.
  Value stepsFrom(Value k) { return code.smax(code.smin(code.sub(code.index(plan.k), k), plan.blockSteps), 0); }
  Value length(Span span) { return code.sub(span.to, span.from); }

  /// A row or column among those of all merged products: which one has it, and as which of its own.
  struct Place {
    Value product, index;
  };
  Place placeOf(Value index, bool isMerged, int64_t ofOne);
  Place ofRow(Value row) { return placeOf(row, plan.merged.mergesRows(), plan.rowsOfOne()); }
  Place ofColumn(Value column) { return placeOf(column, plan.merged.mergesColumns(), plan.columnsOfOne()); }
  Value endOfTile(Value from, int64_t width, Value to, bool isMerged, int64_t ofOne, int64_t size);
  Span tileOfRows(Value row, Span rows) {
    return {row, endOfTile(row, plan.tile.rows, rows.to, plan.merged.mergesRows(), plan.rowsOfOne(), gemm.m())};
  }
  Span tileOfColumns(Value column, Span columns) {
    return {column, endOfTile(column, plan.tile.columns(), columns.to, plan.merged.mergesColumns(), plan.columnsOfOne(),
                              gemm.n())};
  }
  void forEachPiece(Span lines, bool isMerged, int64_t ofOne, int64_t size, llvm::function_ref<void(Span piece)> body);
  /// The address of a product's operand: `base` where there is one only, else argument `first` and those behind it.
  Value baseOf(Value base, int64_t first, Value product);
  Value aAt(Value row, Value k);
  Value bAt(Value k, Value column);
  Value biasAt(Value column);
  Value cAt(Value row, Value column);
  Value units(Value steps) { return plan.formatA.units(code, steps); }
  void call(LLVM::LLVMFuncOp function, ArrayRef<Value> arguments) { code.make<LLVM::CallOp>(function, arguments); }

  ModuleOp module;
  const ContractionPlan &plan;
  const ContractionGemm &gemm = plan.gemm;
  MatrixFunctions &functions;
  CodeBuilder code;
  Value a, b, bias, c, zeros, panel, block, sums; ///< addresses; a, b and c of the current product of the batch
  Value arguments;                                ///< addresses of all operands
  int64_t firstB, firstBias, firstC;              ///< among them
  Value firstRow, lastColumn;                     ///< where the thread's rows begin and its columns end
  Span sumsOf[2];                                 ///< rows and columns of c that `sums` stands for
  ProductStrides strides;
  LLVM::LLVMFuncOp packA, packB, round;
  std::optional<ProductVariants> products; ///< or those of AMX
  std::optional<AmxProducts> amxProducts;
};

} // namespace

void ContractionEmitter::emit(StringRef symbol) {
  const RegisterTile &tile = plan.tile;
  strides = {plan.packsA ? 1 : plan.aRow / plan.formatA.perUnit(), plan.packsA ? tile.rows : plan.aStep,
             plan.packsB ? tile.columns() : plan.bStep};
  if (plan.amx && plan.packsA) strides.aRow = amxUnits;
  if (plan.amx) strides.aStep = plan.packsA ? tile.rows * amxUnits : amxUnits;
  if (plan.packsA)
    packA = plan.amx ? functions.packAmxRows(plan.aStep != 1, plan.formatA)
                     : functions.pack(tile.rows, plan.aRow != 1, plan.formatA);
  if (plan.packsB) packB = functions.pack(tile.columns(), plan.bColumn != 1, plan.formatB);
  if (plan.sumRows) round = functions.round(gemm.resultType);
  Addend first = gemm.accumulate ? gemm.bias ? Addend::CPlusRow : Addend::C : Addend::Row;
  Addend later = plan.blockSteps >= plan.k ? first : Addend::C; // with one block of K no sum is taken up again
  ElementType result = plan.sumRows ? ElementType::F32 : gemm.resultType;
  if (plan.amx)
    amxProducts.emplace(functions, strides, gemm.m(), gemm.n(), first, later, result);
  else
    products.emplace(functions, tile, strides, rowCounts(tile, {gemm.m()}), gemm.n(), first, later, plan.formatA,
                     result);

  code.setInsertionPointToEnd(module.getBody());
  auto function = code.make<LLVM::LLVMFuncOp>(symbol, code.kernelType());
  code.setInsertionPointToEnd(function.addEntryBlock(code));
  Value scratch = function.getBody().getArgument(3);
  loadBases(function.getBody().getArgument(0));
  const Value bases[] = {a, b, c};
  if (plan.amx) configureTiles(code);
  zeros = scratch;
  for (unsigned j = 0; j < tile.vectors; ++j)
    storeVector(code, code.number(CodeBuilder::withLanes(code.getF32Type(), tile.lanes), 0.0),
                code.at(zeros, code.getF32Type(), j * tile.lanes));
  panel = code.at(scratch, code.getI8Type(), plan.panelOffset());
  block = code.at(scratch, code.getI8Type(), plan.blockOffset());
  sums = code.at(scratch, code.getI8Type(), plan.sumsOffset());

  Value begin = function.getBody().getArgument(1), end = function.getBody().getArgument(2);
  Value last = plan.parts == 1 ? end : code.udiv(code.add(end, plan.parts - 1), plan.parts);
  code.loop(code.udiv(begin, plan.parts), last, 1, [&](Value number) {
    a = bases[0], b = bases[1], c = bases[2];
    Value start = code.mul(number, plan.parts);
    Value from = plan.parts == 1 ? code.index(0) : code.smax(code.sub(begin, start), 0);
    Value to = plan.parts == 1 ? code.index(1) : code.smin(code.sub(end, start), plan.parts);
    emitProduct(number, from, to);
  });
  if (plan.amx) releaseTiles(code);
  code.make<LLVM::ReturnOp>(ValueRange{});
}

void ContractionEmitter::loadBases(Value from) {
  arguments = from;
  firstB = plan.merged.mergesRows() ? plan.merged.count : 1;
  firstBias = firstB + (plan.merged.mergesColumns() ? plan.merged.count : 1);
  firstC = firstBias + (firstBias - firstB);
  auto load = [&](int64_t number) -> Value {
    return code.make<LLVM::LoadOp>(code.pointer(), code.at(arguments, code.pointer(), number));
  };
  a = load(0), b = load(firstB), bias = load(firstBias), c = load(firstC);
}

/// Product number `number` of the batch, of which the thread has the parts [firstPart, lastPart).
void ContractionEmitter::emitProduct(Value number, Value firstPart, Value lastPart) {
  Value rest = number;
  for (size_t i = gemm.dimsC.size() - 2; i-- > 0;) {
    Value index = i == 0 ? rest : code.urem(rest, gemm.dimsC[i]);
    if (i > 0) rest = code.udiv(rest, gemm.dimsC[i]);
    if (gemm.dimsA[i] > 1) a = numberAt(code, gemm.typeA, a, code.mul(index, gemm.stridesA[i]));
    if (gemm.dimsB[i] > 1) b = numberAt(code, gemm.typeB, b, code.mul(index, gemm.stridesB[i]));
    if (gemm.dimsC[i] > 1) c = numberAt(code, gemm.resultType, c, code.mul(index, gemm.stridesC[i]));
  }
  Value from = code.mul(firstPart, plan.partSize);
  Value to = code.smin(code.mul(lastPart, plan.partSize), plan.splitRows ? plan.m : plan.n);
  Span rows{code.index(0), code.index(plan.m)}, columns{code.index(0), code.index(plan.n)};
  (plan.splitRows ? rows : columns) = {from, to};
  if (plan.packsAllOfA) packRows(rows, code.index(0), code.index(plan.k));
  firstRow = rows.from, lastColumn = columns.to;
  code.loop(columns.from, columns.to, plan.blockColumns, [&](Value column) {
    emitColumnBlock(rows, {column, code.smin(code.add(column, plan.blockColumns), columns.to)});
  });
}

void ContractionEmitter::emitColumnBlock(Span rows, Span columns) {
  if (!plan.sumRows) return emitRows(rows, columns);
  code.loop(rows.from, rows.to, plan.sumRows, [&](Value row) {
    Span part{row, code.smin(code.add(row, plan.sumRows), rows.to)};
    sumsOf[0] = part, sumsOf[1] = columns;
    emitRows(part, columns);
  });
}

/// While a block is multiplied, what the next one reads is on its way into the second level cache.
void ContractionEmitter::emitRows(Span rows, Span columns) {
  code.loop(code.index(0), code.index(plan.k), plan.blockSteps, [&](Value k) {
    Value steps = stepsFrom(k), nextK = code.add(k, plan.blockSteps), stepsThen = stepsFrom(nextK);
    if (plan.packsBlockOfB) packColumns(columns.from, length(columns), k, steps);
    code.loop(rows.from, rows.to, plan.blockRows, [&](Value row) {
      Span part{row, code.smin(code.add(row, plan.blockRows), rows.to)};
      if (plan.packsA && !plan.packsAllOfA) packRows(part, k, steps);
      // Next come the rows behind these, else all rows from the next K on.
      Value isLast = code.icmp(LLVM::ICmpPredicate::eq, part.to, rows.to);
      auto then = [&](Value last, Value other) { return code.select(isLast, last, other); };
      Value nextRow = then(rows.from, part.to), kThen = then(nextK, k), stepsOfThen = then(stepsThen, steps);
      Value rowsThen = code.smin(code.sub(rows.to, nextRow), plan.blockRows);
      Ahead ofA = willRead(true, {plan.aRow, plan.aStep}, nextRow, rowsThen, plan.blockRows, kThen, stepsOfThen);
      if (plan.amx) return emitAmxRowBlock(part, columns, k, steps, {{ofA, part}, {blockOfBAfter(columns, k), rows}});
      SmallVector<Ahead> ahead{ofA};
      if (plan.packsBlockOfB)
        ahead.push_back(willRead(false, {plan.bColumn, plan.bStep}, columns.from, length(columns), plan.blockColumns,
                                 nextK, then(stepsThen, code.index(0))));
      emitRowBlock(part, columns, k, steps, ahead);
    });
  });
}

/// Panels of a's rows, one behind the other.
void ContractionEmitter::packRows(Span rows, Value k, Value steps) {
  Value stride = code.index(plan.aRow != 1 ? plan.aRow : plan.aStep);
  forEachPiece(rows, plan.merged.mergesRows(), plan.rowsOfOne(), gemm.m(), [&](Span piece) {
    Value to = code.f32At(block, code.mul(code.sub(piece.from, rows.from), units(steps)));
    call(packA, {aAt(piece.from, k), stride, steps, length(piece), to});
  });
}

/// Panels of b's columns, likewise.
void ContractionEmitter::packColumns(Value column, Value count, Value k, Value steps) {
  Value stride = code.index(plan.bColumn != 1 ? plan.bColumn : plan.bStep);
  Span columns{column, code.add(column, count)};
  forEachPiece(columns, plan.merged.mergesColumns(), plan.columnsOfOne(), gemm.n(), [&](Span piece) {
    Value to = code.f32At(panel, code.mul(code.sub(piece.from, column), units(steps)));
    call(packB, {bAt(k, piece.from), stride, steps, length(piece), to});
  });
}

void ContractionEmitter::emitRowBlock(Span rows, Span columns, Value k, Value steps, ArrayRef<Ahead> ahead) {
  int64_t width = plan.tile.columns();
  if (plan.rowsFirst) {
    Value tiles = code.udiv(code.add(length(rows), plan.tile.rows - 1), plan.tile.rows);
    return forEachTile(rows, [&](Span tile, Value number) {
      for (const Ahead &each : ahead) prefetch(code, partOf(code, each, number, tiles));
      code.loop(columns.from, columns.to, width, [&](Value column) {
        emitTile(tile, code.sub(tile.from, rows.from), panelAt(columns, column, k, steps),
                 tileOfColumns(column, columns), k, steps);
      });
    });
  }
  Value panels = code.udiv(code.add(length(columns), width - 1), width);
  code.loop(columns.from, columns.to, width, [&](Value column) {
    Span part = tileOfColumns(column, columns);
    if (plan.packsB && !plan.packsBlockOfB) packColumns(column, length(part), k, steps);
    SmallVector<Ahead> parts;
    Value number = code.udiv(code.sub(column, columns.from), width);
    for (const Ahead &each : ahead) parts.push_back(partOf(code, each, number, panels));
    if (plan.packsB && !plan.packsBlockOfB) {
      // The panel beside this one, else the first from the next K on.
      Value next = code.add(column, width), nextK = code.add(k, plan.blockSteps);
      Value isLast = code.icmp(LLVM::ICmpPredicate::sge, next, columns.to);
      next = code.select(isLast, columns.from, next);
      parts.push_back(willRead(false, {plan.bColumn, plan.bStep}, next, code.smin(code.sub(columns.to, next), width),
                               width, code.select(isLast, nextK, k), code.select(isLast, stepsFrom(nextK), steps)));
    }
    Value bPanel = panelAt(columns, column, k, steps);
    Value tiles = code.udiv(code.add(length(rows), plan.tile.rows - 1), plan.tile.rows);
    forEachTile(rows, [&](Span tile, Value number) {
      for (const Ahead &each : parts) prefetch(code, partOf(code, each, number, tiles));
      emitTile(tile, code.sub(tile.from, rows.from), bPanel, part, k, steps);
    });
  });
}

/// Whatever is fetched comes in small parts, one with each product: more at once would have to be waited for.
void ContractionEmitter::emitAmxRowBlock(Span rows, Span columns, Value k, Value steps, ArrayRef<SpreadAhead> ahead) {
  int64_t width = plan.tile.columns();
  auto count = [&](Value length, int64_t size) { return code.udiv(code.add(length, size - 1), size); };
  Value panels = count(length(columns), width);
  forEachTile(rows, [&](Span tile, Value) {
    code.loop(columns.from, columns.to, width, [&](Value column) {
      Value number = code.udiv(code.sub(column, columns.from), width);
      for (const SpreadAhead &each : ahead) {
        Value tilesBefore = code.udiv(code.sub(tile.from, each.rows.from), plan.tile.rows);
        Value parts = code.mul(count(length(each.rows), plan.tile.rows), panels);
        prefetch(code, partOf(code, each.ahead, code.add(code.mul(tilesBefore, panels), number), parts));
      }
      emitTile(tile, code.sub(tile.from, plan.packsAllOfA ? firstRow : rows.from), panelAt(columns, column, k, steps),
               tileOfColumns(column, columns), k, steps);
    });
  });
}

/// Of the same columns from the next K on, else of the next columns.
Ahead ContractionEmitter::blockOfBAfter(Span columns, Value k) {
  Value nextK = code.add(k, plan.blockSteps);
  Value isLast = code.icmp(LLVM::ICmpPredicate::sge, nextK, code.index(plan.k));
  auto then = [&](Value last, Value other) { return code.select(isLast, last, other); };
  Value column = then(columns.to, columns.from);
  Value count = then(code.smin(code.sub(lastColumn, columns.to), plan.blockColumns), length(columns));
  Value from = then(code.index(0), nextK), isAny = code.icmp(LLVM::ICmpPredicate::sgt, count, code.index(0));
  return willRead(false, {plan.bColumn, plan.bStep}, column, count, plan.blockColumns, from,
                  code.select(isAny, stepsFrom(from), code.index(0)));
}

/// The panel of b at `column`, once it is packed if it is.
Value ContractionEmitter::panelAt(Span columns, Value column, Value k, Value steps) {
  if (plan.packsBlockOfB) return code.f32At(panel, code.mul(code.sub(column, columns.from), units(steps)));
  if (plan.packsB) return panel;
  return bAt(k, column);
}

void ContractionEmitter::forEachTile(Span rows, llvm::function_ref<void(Span tile, Value number)> body) {
  code.loop(rows.from, rows.to, plan.tile.rows,
            [&](Value row) { body(tileOfRows(row, rows), code.udiv(code.sub(row, rows.from), plan.tile.rows)); });
}

/// One product; `done`: rows of the block before it.
void ContractionEmitter::emitTile(Span rows, Value done, Value bPanel, Span columns, Value k, Value steps) {
  Value isFirst = code.icmp(LLVM::ICmpPredicate::eq, k, code.index(0));
  Value addedRow = gemm.bias ? biasAt(columns.from) : zeros;
  Value aTile = plan.packsA ? code.f32At(block, code.mul(done, units(steps))) : aAt(rows.from, k);
  Value cTile = cAt(rows.from, columns.from), taken = cTile;
  Value stride = code.index(plan.cRow), ownStride = code.index(plan.blockColumns);
  if (plan.sumRows) {
    Value row = code.sub(rows.from, sumsOf[0].from), column = code.sub(columns.from, sumsOf[1].from);
    taken = code.f32At(sums, code.add(code.mul(row, plan.blockColumns), column));
    stride = ownStride;
  }
  ProductVariants::Operands operands{units(steps), aTile, bPanel, taken, stride, addedRow};
  if (plan.amx)
    amxProducts->call(code, operands, length(rows), length(columns), isFirst);
  else
    products->call(code, operands, length(rows), length(columns), isFirst);
  if (!plan.sumRows) return;
  Value isLast = code.icmp(LLVM::ICmpPredicate::sge, code.add(k, plan.blockSteps), code.index(plan.k));
  code.when(isLast,
            [&] { call(round, {taken, ownStride, cTile, code.index(plan.cRow), length(rows), length(columns)}); });
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

ContractionEmitter::Place ContractionEmitter::placeOf(Value index, bool isMerged, int64_t ofOne) {
  if (!isMerged) return {Value(), index};
  // Fetching ahead asks for what lies behind the last one too.
  Value product = code.smin(code.udiv(index, ofOne), plan.merged.count - 1);
  return {product, code.sub(index, code.mul(product, ofOne))};
}

/// Tiles do not reach from one of the merged products, of `size` rows or columns, into the next.
Value ContractionEmitter::endOfTile(Value from, int64_t width, Value to, bool isMerged, int64_t ofOne, int64_t size) {
  Value end = code.smin(code.add(from, width), to);
  if (!isMerged || size == ofOne) return end;
  return code.smin(end, code.add(code.mul(code.udiv(from, ofOne), ofOne), size));
}

/// What lies in one operand.
void ContractionEmitter::forEachPiece(Span lines, bool isMerged, int64_t ofOne, int64_t size,
                                      llvm::function_ref<void(Span piece)> body) {
  if (!isMerged) return body(lines);
  code.loop(code.udiv(lines.from, ofOne), code.udiv(code.add(lines.to, ofOne - 1), ofOne), 1, [&](Value product) {
    Value begin = code.mul(product, ofOne);
    body({code.smax(lines.from, begin), code.smin(lines.to, code.add(begin, size))});
  });
}

Value ContractionEmitter::baseOf(Value base, int64_t first, Value product) {
  if (!product) return base;
  Value slot = code.at(arguments, code.pointer(), code.add(product, first));
  return code.make<LLVM::LoadOp>(code.pointer(), slot);
}

Value ContractionEmitter::aAt(Value row, Value k) {
  Place place = ofRow(row);
  return numberAt(code, gemm.typeA, baseOf(a, 0, place.product),
                  code.add(code.mul(place.index, plan.aRow), code.mul(k, plan.aStep)));
}

Value ContractionEmitter::bAt(Value k, Value column) {
  Place place = ofColumn(column);
  return numberAt(code, gemm.typeB, baseOf(b, firstB, place.product),
                  code.add(code.mul(k, plan.bStep), code.mul(place.index, plan.bColumn)));
}

Value ContractionEmitter::biasAt(Value column) {
  Place place = ofColumn(column);
  return code.f32At(baseOf(bias, firstBias, place.product), place.index);
}

Value ContractionEmitter::cAt(Value row, Value column) {
  Place ofTheRow = ofRow(row), ofTheColumn = ofColumn(column);
  Value base = baseOf(c, firstC, ofTheRow.product ? ofTheRow.product : ofTheColumn.product);
  return numberAt(code, gemm.resultType, base, code.add(code.mul(ofTheRow.index, plan.cRow), ofTheColumn.index));
}

//===----------------------------------------------------------------------===//
// Reading ahead
//===----------------------------------------------------------------------===//

Ahead ContractionEmitter::willRead(bool isA, Stride stride, Value line, Value count, int64_t mostLines, Value k,
                                   Value steps) {
  int64_t bytes = bytesOf(isA ? gemm.typeA : gemm.typeB);
  Value start = isA ? aAt(line, k) : bAt(k, line);
  if (isA ? plan.merged.mergesRows() : plan.merged.mergesColumns()) { // of the first of several operands
    int64_t lines = isA ? gemm.m() : gemm.n();
    mostLines = std::min(mostLines, lines);
    count = code.smin(count, code.sub(code.index(lines), (isA ? ofRow(line) : ofColumn(line)).index));
  }
  auto cacheLines = [&](int64_t numbers) -> int64_t { return llvm::divideCeil(numbers * bytes, lineBytes); };
  if (stride.line == 1) return {start, stride.step * bytes, cacheLines(mostLines), steps};
  Value isAny = code.icmp(LLVM::ICmpPredicate::sgt, steps, code.index(0));
  return {start, stride.line * bytes, cacheLines(plan.blockSteps), code.select(isAny, count, code.index(0))};
}

void tessera::emitContraction(ModuleOp module, StringRef symbol, const ContractionPlan &plan,
                              MatrixFunctions &functions) {
  ContractionEmitter(module, plan, functions).emit(symbol);
}
