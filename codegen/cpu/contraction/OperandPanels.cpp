//===- OperandPanels.cpp - packed blocks of a contraction's operands ------===//

#include "codegen/cpu/contraction/OperandPanels.h"

using namespace mlir;
using namespace tessera;

DepthBlock tessera::depthBlockAt(CodeBuilder &code, const ContractionPlan &plan, Value k) {
  return {k, code.smax(code.smin(code.sub(code.index(plan.gemm.k), k), plan.blocks.depth), 0)};
}

OperandPanels::OperandPanels(CodeBuilder &code, const ContractionPlan &plan, ContractionOperands &operands,
                             MatrixFunctions &functions)
    : code(code), plan(plan), operands(operands) {
  const OperandPacking &packing = plan.packing;
  if (packing.a)
    packA = plan.amx ? functions.packAmxRows(plan.gemm.aK != 1, packing.formatA)
                     : functions.pack(plan.tile.rows, plan.gemm.aRow != 1, packing.formatA);
  if (packing.b) packB = functions.pack(plan.tile.columns(), plan.gemm.bColumn != 1, packing.formatB);
}

void OperandPanels::setScratch(Value scratch) {
  panelsOfB = code.at(scratch, code.getI8Type(), plan.scratch.panelsOfB);
  panelsOfA = code.at(scratch, code.getI8Type(), plan.scratch.panelsOfA);
}

MicroKernelStrides OperandPanels::strides() const {
  const RegisterTile &tile = plan.tile;
  int64_t bK = packB ? tile.columns() : plan.gemm.bK, rowInPlace = plan.gemm.aRow / plan.packing.formatA.perUnit();
  if (plan.amx) return {packA ? amxUnits : rowInPlace, packA ? tile.rows * amxUnits : amxUnits, bK};
  return {packA ? 1 : rowInPlace, packA ? tile.rows : plan.gemm.aK, bK};
}

void OperandPanels::packRows(IndexRange rows, DepthBlock block) {
  Value stride = code.index(plan.gemm.aRow != 1 ? plan.gemm.aRow : plan.gemm.aK);
  operands.forEachGemm(plan.gemm.rows, rows, [&](IndexRange part) {
    Value offset = code.sub(part.from, rows.from);
    Value to = code.f32At(panelsOfA, code.mul(offset, unitsOf(block)));
    code.make<LLVM::CallOp>(packA,
                            ValueRange{operands.aAt(part.from, block.k), stride, block.depth, part.length(code), to});
  });
}

void OperandPanels::packColumns(Value column, Value count, DepthBlock block) {
  Value stride = code.index(plan.gemm.bColumn != 1 ? plan.gemm.bColumn : plan.gemm.bK);
  operands.forEachGemm(plan.gemm.columns, {column, code.add(column, count)}, [&](IndexRange part) {
    Value offset = code.sub(part.from, column);
    Value to = code.f32At(panelsOfB, code.mul(offset, unitsOf(block)));
    code.make<LLVM::CallOp>(packB,
                            ValueRange{operands.bAt(block.k, part.from), stride, block.depth, part.length(code), to});
  });
}

Value OperandPanels::tileOfA(Value row, Value offset, DepthBlock block) {
  if (!packA) return operands.aAt(row, block.k);
  return code.f32At(panelsOfA, code.mul(offset, unitsOf(block)));
}

Value OperandPanels::panelOfB(IndexRange columns, Value column, DepthBlock block) {
  if (!packB) return operands.bAt(block.k, column);
  if (!plan.packing.wholeBlocksOfB) return panelsOfB;
  Value offset = code.sub(column, columns.from);
  return code.f32At(panelsOfB, code.mul(offset, unitsOf(block)));
}
