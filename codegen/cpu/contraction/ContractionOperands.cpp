//===- ContractionOperands.cpp - addresses of a contraction's elements ----===//

#include "codegen/cpu/contraction/ContractionOperands.h"

using namespace mlir;
using namespace tessera;

ContractionOperands::ContractionOperands(CodeBuilder &code, const PlannedGemm &gemm)
    : code(code), gemm(gemm), each(gemm.each), firstB(gemm.rows.gemms), firstBias(firstB + gemm.columns.gemms),
      firstC(firstBias + gemm.columns.gemms) {}

void ContractionOperands::load(Value addresses) {
  table = addresses;
  auto load = [&](int64_t entry) -> Value {
    return code.make<LLVM::LoadOp>(code.pointer(), code.at(table, code.pointer(), entry));
  };
  loaded = selected = {load(0), load(firstB), load(firstBias), load(firstC)};
}

void ContractionOperands::selectGemm(Value number) {
  selected = loaded;
  Value rest = number;
  for (size_t i = each.c.dims.size() - 2; i-- > 0;) {
    Value index = i == 0 ? rest : code.urem(rest, each.c.dims[i]);
    if (i > 0) rest = code.udiv(rest, each.c.dims[i]);
    auto advance = [&](Value &address, ElementType type, int64_t size, int64_t stride) {
      if (size > 1) address = elementAt(code, type, address, code.mul(index, stride));
    };
    advance(selected.a, each.a.type, each.a.dims[i], each.a.strides[i]);
    advance(selected.b, each.b.type, each.b.dims[i], each.b.strides[i]);
    advance(selected.c, each.c.type, each.c.dims[i], each.c.strides[i]);
  }
}

ContractionOperands::Position ContractionOperands::positionOf(const FusedAxis &axis, Value index) {
  if (!axis.isFused()) return {Value(), index};
  // Prefetches ask for what follows the last GEMM too.
  Value number = code.smin(code.udiv(index, axis.padded), axis.gemms - 1);
  return {number, code.sub(index, code.mul(number, axis.padded))};
}

IndexRange ContractionOperands::tileFrom(const FusedAxis &axis, Value from, int64_t width, IndexRange range) {
  Value end = code.smin(code.add(from, width), range.to);
  if (axis.isFused() && axis.size != axis.padded)
    end = code.smin(end, code.add(code.mul(code.udiv(from, axis.padded), axis.padded), axis.size));
  return {from, end};
}

void ContractionOperands::forEachGemm(const FusedAxis &axis, IndexRange range,
                                      llvm::function_ref<void(IndexRange)> body) {
  if (!axis.isFused()) return body(range);
  Value first = code.udiv(range.from, axis.padded), end = code.udiv(code.add(range.to, axis.padded - 1), axis.padded);
  code.loop(first, end, 1, [&](Value number) {
    Value start = code.mul(number, axis.padded);
    body({code.smax(range.from, start), code.smin(range.to, code.add(start, axis.size))});
  });
}

Value ContractionOperands::baseOf(Value base, int64_t first, Value number) {
  if (!number) return base;
  return code.make<LLVM::LoadOp>(code.pointer(), code.at(table, code.pointer(), code.add(number, first)));
}

Value ContractionOperands::aAt(Value row, Value k) {
  Position position = positionOf(gemm.rows, row);
  return elementAt(code, each.a.type, baseOf(selected.a, 0, position.gemm),
                   code.add(code.mul(position.index, gemm.aRow), code.mul(k, gemm.aK)));
}

Value ContractionOperands::bAt(Value k, Value column) {
  Position position = positionOf(gemm.columns, column);
  return elementAt(code, each.b.type, baseOf(selected.b, firstB, position.gemm),
                   code.add(code.mul(k, gemm.bK), code.mul(position.index, gemm.bColumn)));
}

Value ContractionOperands::biasAt(Value column) {
  Position position = positionOf(gemm.columns, column);
  return code.f32At(baseOf(selected.bias, firstBias, position.gemm), position.index);
}

Value ContractionOperands::cAt(Value row, Value column) {
  Position ofRow = positionOf(gemm.rows, row), ofColumn = positionOf(gemm.columns, column);
  Value base = baseOf(selected.c, firstC, ofRow.gemm ? ofRow.gemm : ofColumn.gemm);
  return elementAt(code, each.c.type, base, code.add(code.mul(ofRow.index, gemm.cRow), ofColumn.index));
}
