//===- ContractionCodegen.cpp - contractions as generated functions -------===//
//
// The loops of ContractionPlan.h, from the outside inwards:
//
//   emit              GEMMs of the batch that the thread has iterations of
//   emitGemm          blocks of columns
//   emitColumnBlock   rows whose partial sums are in scratch memory, if any are
//   emitDepthBlocks   blocks of K and blocks of rows; packs and prefetches
//   emitRowBlock      panels of b and tiles of rows, in either order
//   emitTile          one call of a micro-kernel
//
// Addresses, packing and prefetches are in ContractionOperands.h, OperandPanels.h and OperandPrefetch.h.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/contraction/ContractionCodegen.h"
#include "codegen/cpu/contraction/Amx.h"
#include "codegen/cpu/contraction/OperandPrefetch.h"

using namespace mlir;
using namespace tessera;

namespace {

class ContractionEmitter {
public:
  ContractionEmitter(ModuleOp module, const ContractionPlan &plan, MatrixFunctions &functions);
  void emit(StringRef symbol);

private:
  void emitGemm(Value number, Value firstIteration, Value lastIteration);
  void emitColumnBlock(IndexRange rows, IndexRange columns);
  void emitDepthBlocks(IndexRange rows, IndexRange columns);
  void emitRowBlock(IndexRange rows, IndexRange columns, DepthBlock block, ArrayRef<PrefetchRegion> regions);
  void emitRowTilesOutside(IndexRange rows, IndexRange columns, DepthBlock block, ArrayRef<PrefetchRegion> regions);

  /// A region that is prefetched in equal shares by the micro-kernels of some rows.
  struct SharedPrefetch {
    PrefetchRegion region;
    IndexRange rows;
  };
  void emitAmxRowBlock(IndexRange rows, IndexRange columns, DepthBlock block, ArrayRef<SharedPrefetch> prefetches);
  void forEachRowTile(IndexRange rows, llvm::function_ref<void(IndexRange tile, Value number)> body);
  void emitTile(IndexRange rows, Value packedRow, Value panelOfB, IndexRange columns, DepthBlock block);

  IndexRange columnTile(Value column, IndexRange columns) {
    return operands.tileFrom(plan.gemm.columns, column, plan.tile.columns(), columns);
  }
  Value tilesIn(IndexRange range, int64_t size) { return code.udiv(code.add(range.length(code), size - 1), size); }

  /// f32 sums of a c of a low-precision type between two blocks of K, and the rows and columns of c they are for.
  struct PartialSums {
    Value address;
    IndexRange rows, columns;
  };

  ModuleOp module;
  const ContractionPlan &plan;
  CodeBuilder code;
  ContractionOperands operands;
  OperandPanels panels;
  OperandPrefetch next; ///< what the next block reads
  LLVM::LLVMFuncOp roundSums;
  std::unique_ptr<MicroKernels> microKernels;
  Value zeros; ///< address of a row of zeros
  PartialSums sums;
  Value firstRow, lastColumn; ///< where the thread's rows begin and its columns end
};

} // namespace

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

static std::unique_ptr<MicroKernels> microKernelsOf(const ContractionPlan &plan, MicroKernelStrides strides,
                                                    MatrixFunctions &functions) {
  const ContractionGemm &gemm = plan.gemm.each;
  Addend first = gemm.accumulate ? gemm.bias ? Addend::CPlusRow : Addend::C : Addend::Row;
  Addend later = plan.blocks.depth >= plan.gemm.k ? first : Addend::C; // with one block of K there is no later one
  ElementType result = plan.blocks.partialRows ? ElementType::F32 : gemm.c.type;
  if (plan.amx) return std::make_unique<AmxMicroKernels>(functions, strides, gemm.m(), gemm.n(), first, later, result);
  return std::make_unique<VectorMicroKernels>(functions, plan.tile, strides, rowCounts(plan.tile, {gemm.m()}), gemm.n(),
                                              first, later, plan.packing.formatA, result);
}

ContractionEmitter::ContractionEmitter(ModuleOp module, const ContractionPlan &plan, MatrixFunctions &functions)
    : module(module), plan(plan), code(UnknownLoc::get(module.getContext())), operands(code, plan.gemm),
      panels(code, plan, operands, functions), next(code, plan, operands) {
  if (plan.blocks.partialRows) roundSums = functions.round(plan.gemm.each.c.type);
  microKernels = microKernelsOf(plan, panels.strides(), functions);
}

void ContractionEmitter::emit(StringRef symbol) {
  code.setInsertionPointToEnd(module.getBody());
  auto function = code.make<LLVM::LLVMFuncOp>(symbol, code.kernelType());
  code.setInsertionPointToEnd(function.addEntryBlock(code));
  Value scratch = function.getBody().getArgument(3);
  operands.load(function.getBody().getArgument(0));
  if (plan.amx) configureTiles(code);
  zeros = scratch;
  for (unsigned j = 0; j < plan.tile.vectors; ++j)
    storeVector(code, code.number(CodeBuilder::withLanes(code.getF32Type(), plan.tile.lanes), 0.0),
                code.at(zeros, code.getF32Type(), j * plan.tile.lanes));
  panels.setScratch(scratch);
  sums.address = code.at(scratch, code.getI8Type(), plan.scratch.partialSums);

  Value begin = function.getBody().getArgument(1), end = function.getBody().getArgument(2);
  int64_t perGemm = plan.threads.perGemm;
  Value last = perGemm == 1 ? end : code.udiv(code.add(end, perGemm - 1), perGemm);
  code.loop(code.udiv(begin, perGemm), last, 1, [&](Value number) {
    Value start = code.mul(number, perGemm);
    Value from = perGemm == 1 ? code.index(0) : code.smax(code.sub(begin, start), 0);
    Value to = perGemm == 1 ? code.index(1) : code.smin(code.sub(end, start), perGemm);
    emitGemm(number, from, to);
  });
  if (plan.amx) releaseTiles(code);
  code.make<LLVM::ReturnOp>(ValueRange{});
}

/// GEMM `number` of the batch, of which the thread has the iterations [first, last).
void ContractionEmitter::emitGemm(Value number, Value first, Value last) {
  operands.selectGemm(number);
  int64_t m = plan.gemm.rows.total(), n = plan.gemm.columns.total();
  Value from = code.mul(first, plan.threads.extent);
  Value to = code.smin(code.mul(last, plan.threads.extent), plan.threads.splitsRows ? m : n);
  IndexRange rows{code.index(0), code.index(m)}, columns{code.index(0), code.index(n)};
  (plan.threads.splitsRows ? rows : columns) = {from, to};
  if (plan.packing.allOfA) panels.packRows(rows, {code.index(0), code.index(plan.gemm.k)});
  firstRow = rows.from, lastColumn = columns.to;
  code.loop(columns.from, columns.to, plan.blocks.columns, [&](Value column) {
    emitColumnBlock(rows, {column, code.smin(code.add(column, plan.blocks.columns), columns.to)});
  });
}

void ContractionEmitter::emitColumnBlock(IndexRange rows, IndexRange columns) {
  if (!plan.blocks.partialRows) return emitDepthBlocks(rows, columns);
  code.loop(rows.from, rows.to, plan.blocks.partialRows, [&](Value row) {
    sums.rows = {row, code.smin(code.add(row, plan.blocks.partialRows), rows.to)};
    sums.columns = columns;
    emitDepthBlocks(sums.rows, columns);
  });
}

void ContractionEmitter::emitDepthBlocks(IndexRange rows, IndexRange columns) {
  const OperandPacking &packing = plan.packing;
  code.loop(code.index(0), code.index(plan.gemm.k), plan.blocks.depth, [&](Value k) {
    DepthBlock block = depthBlockAt(code, plan, k);
    DepthBlock nextBlock = depthBlockAt(code, plan, code.add(k, plan.blocks.depth));
    if (packing.wholeBlocksOfB) panels.packColumns(columns.from, columns.length(code), block);
    code.loop(rows.from, rows.to, plan.blocks.rows, [&](Value row) {
      IndexRange part{row, code.smin(code.add(row, plan.blocks.rows), rows.to)};
      if (packing.a && !packing.allOfA) panels.packRows(part, block);
      // The next block has the rows after these; after the last rows, all rows and the next block of K.
      Value isLast = code.icmp(LLVM::ICmpPredicate::eq, part.to, rows.to);
      auto then = [&](Value afterLast, Value otherwise) { return code.select(isLast, afterLast, otherwise); };
      Value nextRow = then(rows.from, part.to), nextK = then(nextBlock.k, k);
      Value nextDepth = then(nextBlock.depth, block.depth);
      Value nextRows = code.smin(code.sub(rows.to, nextRow), plan.blocks.rows);
      PrefetchRegion ofA = next.rowsOfA(nextRow, nextRows, {nextK, nextDepth});
      if (plan.amx)
        return emitAmxRowBlock(part, columns, block, {{ofA, part}, {next.blockOfBAfter(columns, k, lastColumn), rows}});
      SmallVector<PrefetchRegion> regions{ofA};
      if (packing.wholeBlocksOfB) {
        Value count = columns.length(code), depth = then(nextBlock.depth, code.index(0));
        regions.push_back(next.columnsOfB(columns.from, count, plan.blocks.columns, {nextBlock.k, depth}));
      }
      emitRowBlock(part, columns, block, regions);
    });
  });
}

//===----------------------------------------------------------------------===//
// Blocks of rows
//===----------------------------------------------------------------------===//

void ContractionEmitter::emitRowBlock(IndexRange rows, IndexRange columns, DepthBlock block,
                                      ArrayRef<PrefetchRegion> regions) {
  if (plan.blocks.rowTilesOutside) return emitRowTilesOutside(rows, columns, block, regions);
  int64_t width = plan.tile.columns();
  bool packsPanels = plan.packing.b && !plan.packing.wholeBlocksOfB;
  Value panelCount = tilesIn(columns, width);
  code.loop(columns.from, columns.to, width, [&](Value column) {
    IndexRange part = columnTile(column, columns);
    if (packsPanels) panels.packColumns(column, part.length(code), block);
    SmallVector<PrefetchRegion> shares;
    Value number = code.udiv(code.sub(column, columns.from), width);
    for (const PrefetchRegion &region : regions) shares.push_back(shareOf(code, region, number, panelCount));
    if (packsPanels) shares.push_back(next.panelAfter(column, columns, block));
    Value panel = panels.panelOfB(columns, column, block), tiles = tilesIn(rows, plan.tile.rows);
    forEachRowTile(rows, [&](IndexRange tile, Value number) {
      for (const PrefetchRegion &share : shares) prefetch(code, shareOf(code, share, number, tiles));
      emitTile(tile, code.sub(tile.from, rows.from), panel, part, block);
    });
  });
}

void ContractionEmitter::emitRowTilesOutside(IndexRange rows, IndexRange columns, DepthBlock block,
                                             ArrayRef<PrefetchRegion> regions) {
  Value tiles = tilesIn(rows, plan.tile.rows);
  forEachRowTile(rows, [&](IndexRange tile, Value number) {
    for (const PrefetchRegion &region : regions) prefetch(code, shareOf(code, region, number, tiles));
    code.loop(columns.from, columns.to, plan.tile.columns(), [&](Value column) {
      Value packedRow = code.sub(tile.from, rows.from), panel = panels.panelOfB(columns, column, block);
      emitTile(tile, packedRow, panel, columnTile(column, columns), block);
    });
  });
}

/// Prefetches are spread over all calls of micro-kernels: more at once would stall.
void ContractionEmitter::emitAmxRowBlock(IndexRange rows, IndexRange columns, DepthBlock block,
                                         ArrayRef<SharedPrefetch> prefetches) {
  int64_t width = plan.tile.columns(), height = plan.tile.rows;
  Value panelCount = tilesIn(columns, width);
  forEachRowTile(rows, [&](IndexRange tile, Value) {
    code.loop(columns.from, columns.to, width, [&](Value column) {
      Value number = code.udiv(code.sub(column, columns.from), width);
      for (const SharedPrefetch &each : prefetches) {
        Value tilesBefore = code.udiv(code.sub(tile.from, each.rows.from), height);
        Value calls = code.mul(tilesIn(each.rows, height), panelCount);
        Value before = code.add(code.mul(tilesBefore, panelCount), number);
        prefetch(code, shareOf(code, each.region, before, calls));
      }
      Value packedRow = code.sub(tile.from, plan.packing.allOfA ? firstRow : rows.from);
      Value panel = panels.panelOfB(columns, column, block);
      emitTile(tile, packedRow, panel, columnTile(column, columns), block);
    });
  });
}

void ContractionEmitter::forEachRowTile(IndexRange rows, llvm::function_ref<void(IndexRange tile, Value number)> body) {
  code.loop(rows.from, rows.to, plan.tile.rows, [&](Value row) {
    IndexRange tile = operands.tileFrom(plan.gemm.rows, row, plan.tile.rows, rows);
    body(tile, code.udiv(code.sub(row, rows.from), plan.tile.rows));
  });
}

/// One call of a micro-kernel. If a is packed, the tile starts at its row `packedRow`. After the last block of K,
/// partial sums are rounded to c.
void ContractionEmitter::emitTile(IndexRange rows, Value packedRow, Value panelOfB, IndexRange columns,
                                  DepthBlock block) {
  Value isFirst = code.icmp(LLVM::ICmpPredicate::eq, block.k, code.index(0));
  Value addedRow = plan.gemm.each.bias ? operands.biasAt(columns.from) : zeros;
  Value tileOfA = panels.tileOfA(rows.from, packedRow, block);
  Value tileOfC = operands.cAt(rows.from, columns.from), output = tileOfC;
  Value rowStride = code.index(plan.gemm.cRow), sumStride = code.index(plan.blocks.columns);
  bool hasPartialSums = plan.blocks.partialRows != 0;
  if (hasPartialSums) {
    Value row = code.sub(rows.from, sums.rows.from), column = code.sub(columns.from, sums.columns.from);
    output = code.f32At(sums.address, code.add(code.mul(row, plan.blocks.columns), column));
    rowStride = sumStride;
  }
  MicroKernels::Operands arguments{panels.unitsOf(block), tileOfA, panelOfB, output, rowStride, addedRow};
  microKernels->call(code, arguments, rows.length(code), columns.length(code), isFirst);
  if (!hasPartialSums) return;
  Value isLast = code.icmp(LLVM::ICmpPredicate::sge, code.add(block.k, plan.blocks.depth), code.index(plan.gemm.k));
  code.when(isLast, [&] {
    code.make<LLVM::CallOp>(roundSums, ValueRange{output, sumStride, tileOfC, code.index(plan.gemm.cRow),
                                                  rows.length(code), columns.length(code)});
  });
}

void tessera::emitContraction(ModuleOp module, StringRef symbol, const ContractionPlan &plan,
                              MatrixFunctions &functions) {
  ContractionEmitter(module, plan, functions).emit(symbol);
}
