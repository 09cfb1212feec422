//===- ContractionCodegen.cpp - contractions as generated functions -------===//

#include "codegen/cpu/contraction/ContractionCodegen.h"
#include "codegen/cpu/contraction/ProductVariants.h"
#include <optional>

using namespace mlir;
using namespace tessera;

namespace {

/// Numbers in a line of the caches.
constexpr int64_t lineFloats = 16;

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
  void emitProduct(Value number, Value firstPart, Value lastPart);
  void emitColumnBlock(Span rows, Span columns);
  void emitRowBlock(Span rows, Span columns, Value k, Value steps);
  void emitPanel(Span rows, Value bPanel, Value column, Value columns, Value k, Value steps);
  void packColumns(Value column, Value count, Value k, Value steps);
  void packRows(Span rows, Value k, Value steps);
  /// Reads what the next panel will pack into the cache, a share for each tile of rows.
  void prefetchPanel(Value from, Value share, Value done);
  void call(LLVM::LLVMFuncOp function, ArrayRef<Value> arguments) { code.make<LLVM::CallOp>(function, arguments); }

  ModuleOp module;
  const ContractionPlan &plan;
  MatrixFunctions &functions;
  Code code;
  Value a, b, bias, c, zeros, panel, block; ///< addresses; a, b and c of the current product
  ProductStrides strides;
  LLVM::LLVMFuncOp packA, packB;
  std::optional<ProductVariants> products;
};

} // namespace

void ContractionEmitter::emit(StringRef symbol) {
  const RegisterTile &tile = plan.tile;
  strides = {plan.packsA ? 1 : plan.aRow, plan.packsA ? tile.rows : plan.aStep,
             plan.packsB ? tile.columns() : plan.bStep};
  if (plan.packsA) packA = functions.pack(tile.rows, plan.aRow != 1);
  if (plan.packsB) packB = functions.pack(tile.columns(), plan.bColumn != 1);
  Addend first = plan.gemm.accumulate ? plan.gemm.bias ? Addend::CPlusRow : Addend::C : Addend::Row;
  Addend later = plan.blockSteps >= plan.k ? first : Addend::C; // with one block of K no sum is taken up again
  products.emplace(functions, tile, strides, rowCounts(tile, {plan.m}), plan.n, first, later);

  code.setInsertionPointToEnd(module.getBody());
  auto function = code.make<LLVM::LLVMFuncOp>(symbol, code.kernelType());
  code.setInsertionPointToEnd(function.addEntryBlock(code));
  Value arguments = function.getBody().getArgument(0), scratch = function.getBody().getArgument(3);
  SmallVector<Value> bases;
  for (int i = 0; i < 4; ++i)
    bases.push_back(code.make<LLVM::LoadOp>(code.pointer(), code.at(arguments, code.pointer(), i)));
  bias = bases[2];
  zeros = scratch;
  for (unsigned j = 0; j < tile.vectors; ++j)
    storeVector(code, code.number(Code::withLanes(code.getF32Type(), tile.lanes), 0.0),
                code.at(zeros, code.getF32Type(), j * tile.lanes));
  panel = code.at(scratch, code.getI8Type(), plan.panelOffset());
  block = code.at(scratch, code.getI8Type(), plan.blockOffset());

  Value begin = function.getBody().getArgument(1), end = function.getBody().getArgument(2);
  Value last = plan.parts == 1 ? end : code.udiv(code.add(end, plan.parts - 1), plan.parts);
  code.loop(code.udiv(begin, plan.parts), last, 1, [&](Value number) {
    a = bases[0], b = bases[1], c = bases[3];
    Value start = code.mul(number, plan.parts);
    Value from = plan.parts == 1 ? code.index(0) : code.smax(code.sub(begin, start), 0);
    Value to = plan.parts == 1 ? code.index(1) : code.smin(code.sub(end, start), plan.parts);
    emitProduct(number, from, to);
  });
  code.make<LLVM::ReturnOp>(ValueRange{});
}

/// Product number `number` of the batch, of which the thread has the parts [firstPart, lastPart).
void ContractionEmitter::emitProduct(Value number, Value firstPart, Value lastPart) {
  const GemmDescription &gemm = plan.gemm;
  Value rest = number;
  for (size_t i = gemm.dimsC.size() - 2; i-- > 0;) {
    Value index = i == 0 ? rest : code.urem(rest, gemm.dimsC[i]);
    if (i > 0) rest = code.udiv(rest, gemm.dimsC[i]);
    if (gemm.dimsA[i] > 1) a = code.f32At(a, code.mul(index, gemm.stridesA[i]));
    if (gemm.dimsB[i] > 1) b = code.f32At(b, code.mul(index, gemm.stridesB[i]));
    if (gemm.dimsC[i] > 1) c = code.f32At(c, code.mul(index, gemm.stridesC[i]));
  }
  Value from = code.mul(firstPart, plan.partSize);
  Value to = code.smin(code.mul(lastPart, plan.partSize), plan.splitRows ? plan.m : plan.n);
  Span rows{code.index(0), code.index(plan.m)}, columns{code.index(0), code.index(plan.n)};
  (plan.splitRows ? rows : columns) = {from, to};
  code.loop(columns.from, columns.to, plan.blockColumns, [&](Value column) {
    emitColumnBlock(rows, {column, code.smin(code.add(column, plan.blockColumns), columns.to)});
  });
}

void ContractionEmitter::emitColumnBlock(Span rows, Span columns) {
  code.loop(code.index(0), code.index(plan.k), plan.blockSteps, [&](Value k) {
    Value steps = code.smin(code.sub(code.index(plan.k), k), plan.blockSteps);
    if (plan.packsBlockOfB) packColumns(columns.from, code.sub(columns.to, columns.from), k, steps);
    code.loop(rows.from, rows.to, plan.blockRows, [&](Value row) {
      Span part{row, code.smin(code.add(row, plan.blockRows), rows.to)};
      if (plan.packsA) packRows(part, k, steps);
      emitRowBlock(part, columns, k, steps);
    });
  });
}

/// Panels of a's rows, one behind the other.
void ContractionEmitter::packRows(Span rows, Value k, Value steps) {
  Value source = code.f32At(a, code.add(code.mul(rows.from, plan.aRow), code.mul(k, plan.aStep)));
  Value stride = code.index(plan.aRow != 1 ? plan.aRow : plan.aStep);
  call(packA, {source, stride, steps, code.sub(rows.to, rows.from), block});
}

/// Panels of b's columns, likewise.
void ContractionEmitter::packColumns(Value column, Value count, Value k, Value steps) {
  Value source = code.f32At(b, code.add(code.mul(k, plan.bStep), code.mul(column, plan.bColumn)));
  Value stride = code.index(plan.bColumn != 1 ? plan.bColumn : plan.bStep);
  call(packB, {source, stride, steps, count, panel});
}

void ContractionEmitter::emitRowBlock(Span rows, Span columns, Value k, Value steps) {
  int64_t width = plan.tile.columns();
  code.loop(columns.from, columns.to, width, [&](Value column) {
    Value count = code.smin(code.sub(columns.to, column), width), bPanel = panel;
    if (plan.packsBlockOfB)
      bPanel = code.f32At(panel, code.mul(code.sub(column, columns.from), steps));
    else if (plan.packsB)
      packColumns(column, count, k, steps);
    else
      bPanel = code.f32At(b, code.add(code.mul(k, plan.bStep), column));
    emitPanel(rows, bPanel, column, count, k, steps);
  });
}

void ContractionEmitter::emitPanel(Span rows, Value bPanel, Value column, Value columns, Value k, Value steps) {
  int64_t tileRows = plan.tile.rows;
  Value isFirst = code.icmp(LLVM::ICmpPredicate::eq, k, code.index(0));
  Value cStride = code.index(plan.cRow);
  Value firstRow = plan.gemm.bias ? code.f32At(bias, column) : zeros;
  Value next =
      code.f32At(b, code.add(code.mul(k, plan.bStep), code.mul(code.add(column, plan.tile.columns()), plan.bColumn)));
  Value tiles = code.udiv(code.add(code.sub(rows.to, rows.from), tileRows - 1), tileRows);
  bool prefetches = plan.packsB && !plan.packsBlockOfB && plan.n > 2 * plan.tile.columns();
  Value pieces = plan.bColumn == 1 ? steps : code.udiv(steps, lineFloats);
  Value share =
      prefetches ? code.make<LLVM::UDivOp>(code.add(pieces, code.add(tiles, -1)), tiles).getResult() : Value();
  Value isLast = code.icmp(LLVM::ICmpPredicate::sgt, code.add(column, 2 * plan.tile.columns()), code.index(plan.n));
  if (prefetches) share = code.select(isLast, code.index(0), share);
  code.loop(rows.from, rows.to, tileRows, {code.index(0)}, false,
            [&](Value row, ValueRange done) -> SmallVector<Value> {
              Value count = code.smin(code.sub(rows.to, row), tileRows);
              Value aTile = plan.packsA ? code.f32At(block, code.mul(code.sub(row, rows.from), steps))
                                        : code.f32At(a, code.add(code.mul(row, plan.aRow), code.mul(k, plan.aStep)));
              Value cTile = code.f32At(c, code.add(code.mul(row, plan.cRow), column));
              if (prefetches) prefetchPanel(next, share, done[0]);
              products->call(code, {steps, aTile, bPanel, cTile, cStride, firstRow}, count, columns, isFirst);
              return {prefetches ? code.add(done[0], share) : done[0]};
            });
}

/// Lines of 64 bytes: pieces `done` … `done + share` of the rows k, each of which has the panel's columns; or, where k is
/// contiguous, of every column the same piece of k.
void ContractionEmitter::prefetchPanel(Value from, Value share, Value done) {
  auto prefetch = [&](Value address) {
    code.make<LLVM::Prefetch>(address, code.getI32IntegerAttr(0), code.getI32IntegerAttr(2), code.getI32IntegerAttr(1));
  };
  code.loop(done, code.add(done, share), 1, [&](Value piece) {
    if (plan.bColumn == 1) {
      Value row = code.f32At(from, code.mul(piece, plan.bStep));
      for (unsigned j = 0; j < plan.tile.columns(); j += lineFloats) prefetch(code.at(row, code.getF32Type(), j));
      return;
    }
    Value start = code.f32At(from, code.mul(piece, lineFloats));
    for (unsigned column = 0; column < plan.tile.columns(); ++column)
      prefetch(code.at(start, code.getF32Type(), column * plan.bColumn));
  });
}

void tessera::emitContraction(ModuleOp module, StringRef symbol, const ContractionPlan &plan,
                              MatrixFunctions &functions) {
  ContractionEmitter(module, plan, functions).emit(symbol);
}
