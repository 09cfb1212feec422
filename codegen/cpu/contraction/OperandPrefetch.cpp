//===- OperandPrefetch.cpp - what the next block of a contraction reads ---===//

#include "codegen/cpu/contraction/OperandPrefetch.h"

using namespace mlir;
using namespace tessera;

PrefetchRegion OperandPrefetch::region(const Storage &storage, Value start, Value line, Value count, int64_t most,
                                       Value depth) {
  const FusedAxis &lines = storage.lines;
  if (lines.isFused()) {
    most = std::min(most, lines.size);
    count = code.smin(count, code.sub(code.index(lines.size), operands.indexInGemm(lines, line)));
  }
  auto cacheLines = [&](int64_t elements) -> int64_t {
    return llvm::divideCeil(elements * storage.elementBytes, lineBytes);
  };
  if (storage.line == 1) return {start, storage.k * storage.elementBytes, cacheLines(most), depth};
  Value isAny = code.icmp(LLVM::ICmpPredicate::sgt, depth, code.index(0));
  return {start, storage.line * storage.elementBytes, cacheLines(plan.blocks.depth),
          code.select(isAny, count, code.index(0))};
}

PrefetchRegion OperandPrefetch::rowsOfA(Value row, Value count, DepthBlock block) {
  const PlannedGemm &gemm = plan.gemm;
  return region({gemm.rows, gemm.aRow, gemm.aK, bytesOf(gemm.each.a.type)}, operands.aAt(row, block.k), row, count,
                plan.blocks.rows, block.depth);
}

PrefetchRegion OperandPrefetch::columnsOfB(Value column, Value count, int64_t most, DepthBlock block) {
  const PlannedGemm &gemm = plan.gemm;
  return region({gemm.columns, gemm.bColumn, gemm.bK, bytesOf(gemm.each.b.type)}, operands.bAt(block.k, column), column,
                count, most, block.depth);
}

PrefetchRegion OperandPrefetch::panelAfter(Value column, IndexRange columns, DepthBlock block) {
  int64_t width = plan.tile.columns();
  Value next = code.add(column, width), nextK = code.add(block.k, plan.blocks.depth);
  Value isLast = code.icmp(LLVM::ICmpPredicate::sge, next, columns.to);
  next = code.select(isLast, columns.from, next);
  Value count = code.smin(code.sub(columns.to, next), width);
  Value k = code.select(isLast, nextK, block.k);
  Value depth = code.select(isLast, depthBlockAt(code, plan, nextK).depth, block.depth);
  return columnsOfB(next, count, width, {k, depth});
}

PrefetchRegion OperandPrefetch::blockOfBAfter(IndexRange columns, Value k, Value lastColumn) {
  Value nextK = code.add(k, plan.blocks.depth);
  Value isLast = code.icmp(LLVM::ICmpPredicate::sge, nextK, code.index(plan.gemm.k));
  auto next = [&](Value afterLast, Value otherwise) { return code.select(isLast, afterLast, otherwise); };
  Value column = next(columns.to, columns.from);
  Value count = next(code.smin(code.sub(lastColumn, columns.to), plan.blocks.columns), columns.length(code));
  Value from = next(code.index(0), nextK), isAny = code.icmp(LLVM::ICmpPredicate::sgt, count, code.index(0));
  Value depth = code.select(isAny, depthBlockAt(code, plan, from).depth, code.index(0));
  return columnsOfB(column, count, plan.blocks.columns, {from, depth});
}
