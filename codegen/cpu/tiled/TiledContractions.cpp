//===- TiledContractions.cpp - contractions inside tiled ops --------------===//

#include "codegen/cpu/tiled/TiledEmitter.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

void TiledEmitter::pack(const TiledStage &stage, Value source, TiledStrides strides, Value lines, Value depth,
                        unsigned width, Value panels) {
  bool transposing = strides.line != 1;
  Value stride = code.index(transposing ? strides.line : strides.element);
  code.make<LLVM::CallOp>(functions.pack(width, transposing, stage.format),
                          ValueRange{source, stride, depth, lines, panels});
}

void TiledEmitter::packOperand(const TiledStage &stage) {
  const TiledContraction &contraction = *stage.contraction;
  if (contraction.role == TiledRole::SumsRows) return;
  Value y = inMemory(stage.op->getOperand(contraction.y)), panels = inScratch(stage.packed);
  Value columns = code.index(plan.columns), extent = code.index(contraction.extent);
  if (contraction.role == TiledRole::MakesMatrix)
    pack(stage, y, contraction.ofY, columns, extent, stage.tile.columns(), panels);
  else // lines are elements of E, the depth is that of the columns
    pack(stage, y, {contraction.ofY.element, contraction.ofY.line}, extent, columns, stage.tile.columns(), panels);
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

Value TiledEmitter::sumsOf(const TiledStage &stage) {
  if (stage.sums < 0) return inMemory(stage.op->getResult(0));
  Value index = code.index(0); // of the position along the serial axes that the result has
  for (unsigned axis : plan.serialAxesOf(stage))
    if (positions[axis]) index = code.add(code.mul(index, plan.axes.batch[axis].getSize()), positions[axis]);
  return code.f32At(inScratch(stage.sums), code.mul(index, plan.columns * TiledPlan::sumStride(stage)));
}

/// Sets sums over rows to zero, for all positions along the serial axes.
void TiledEmitter::clearSums(const TiledStage &stage) {
  const TiledContraction &contraction = *stage.contraction;
  for (unsigned axis : plan.serial) positions[axis] = {};
  int64_t lanes = plan.lanes;
  forEachPosition(plan.serialAxesOf(stage), [&] {
    Value start = sumsOf(stage);
    code.loop(code.index(0), code.index(plan.columns), 1, [&](Value line) {
      Value row = code.f32At(start, code.mul(line, sumStride(stage)));
      int64_t whole = contraction.extent / lanes * lanes;
      if (whole > 0)
        code.loop(code.index(0), code.index(whole), lanes,
                  [&](Value i) { storeVector(code, zeroVector, code.f32At(row, i)); });
      if (whole < contraction.extent)
        storeVector(code, zeroVector, code.at(row, code.getF32Type(), whole),
                    code.prefixMask(lanes, contraction.extent - whole));
    });
  });
}

/// Rounds sums over rows, which are complete, to the result, for all positions along the serial axes.
void TiledEmitter::roundSums(const TiledStage &stage) {
  for (unsigned axis : plan.serial) positions[axis] = {};
  forEachPosition(plan.serialAxesOf(stage), [&] {
    code.make<LLVM::CallOp>(functions.round(stage.resultType),
                            ValueRange{sumsOf(stage), code.index(sumStride(stage)), inMemory(stage.op->getResult(0)),
                                       code.index(stage.contraction->ofResult.line), code.index(plan.columns),
                                       code.index(stage.contraction->extent)});
  });
}

void TiledEmitter::emitMatrix(size_t index, IndexRange rows, IndexRange columns) {
  const TiledStage &stage = plan.stages[index];
  const TiledContraction &contraction = *stage.contraction;
  Value matrix = stage.op->getResult(0), operand = stage.op->getOperand(contraction.x);
  const TiledSlot slot = plan.slots.lookup(matrix);
  auto rowOfX = [&](Value from, Value row) {
    return elementAt(code, typeOf(operand), from, code.mul(row, contraction.ofX.line));
  };
  Value x = rowOfX(inMemory(operand), rows.from);
  Value block = inScratch(plan.scratch.blockOffset), units = code.index(stage.format.units(contraction.extent)),
        count = rows.length(code);
  if (stage.packsRows) pack(stage, x, contraction.ofX, count, code.index(contraction.extent), stage.tile.rows, block);
  int64_t width = stage.tile.columns(), tileRows = stage.tile.rows;
  Value first = plan.op.getLower() ? code.mul(code.udiv(columns.from, width), width) : columns.from;
  code.loop(first, columns.to, width, [&](Value column) {
    Value panel = code.f32At(inScratch(stage.packed), code.mul(column, units));
    code.loop(code.index(0), count, tileRows, [&](Value row) {
      Value a = stage.packsRows ? code.f32At(block, code.mul(row, units)) : rowOfX(x, row);
      microKernels[index]->call(code,
                                {units, a, panel, matrixAt(matrix, row, column), code.index(slot.rowStride), scratch},
                                code.smin(code.sub(count, row), tileRows), code.index(width), {});
    });
  });
}

void TiledEmitter::emitSumOverColumns(size_t index, IndexRange rows, IndexRange columns) {
  const TiledStage &stage = plan.stages[index];
  const TiledContraction &contraction = *stage.contraction;
  PanelFormat format = stage.format;
  Value matrix = stage.op->getOperand(contraction.x), count = rows.length(code),
        allUnits = code.index(format.units(plan.columns));
  int64_t width = stage.tile.columns(), tileRows = stage.tile.rows, blockDepth = shortDepth * format.perUnit();
  if (format.pairs) {
    // Whole pairs: next to the columns in the band kernels write zeros; what follows the last column must be zero too.
    if (plan.columns % 2 != 0) clearBeside(matrix, plan.lanes, rows, {code.index(0), code.index(plan.columns)}, false);
    columns = {code.bitAnd(columns.from, -2), code.bitAnd(code.add(columns.to, 1), -2)};
  }
  Value output = stage.op->getResult(0), line = code.index(sumStride(stage));
  Value written = elementAt(code, typeOf(output), inMemory(output), code.mul(rows.from, contraction.ofResult.line));
  Value result = stage.sums >= 0 ? inScratch(stage.sums) : written;
  code.loop(columns.from, columns.to, blockDepth, [&](Value k) {
    Value units = format.units(code, code.smin(code.sub(columns.to, k), blockDepth));
    Value isFirst = code.icmp(LLVM::ICmpPredicate::eq, k, columns.from);
    if (stage.packsMatrix) // lines are rows, the depth is in columns, and nothing is read beyond the last column
      pack(stage, matrixAt(matrix, code.index(0), k), {plan.slots.lookup(matrix).rowStride, 1}, count,
           code.smin(code.sub(columns.to, k), blockDepth), tileRows, inScratch(plan.scratch.matrixOffset));
    code.loop(code.index(0), code.index(contraction.extent), width, [&](Value element) {
      Value unit = format.pairs ? code.udiv(k, 2) : k;
      Value panel = code.f32At(inScratch(stage.packed), code.add(code.mul(element, allUnits), code.mul(unit, width)));
      code.loop(code.index(0), count, tileRows, [&](Value row) {
        Value c = elementAt(code, sumType(stage), result, code.add(code.mul(row, line), element));
        Value a = stage.packsMatrix ? code.f32At(inScratch(plan.scratch.matrixOffset), code.mul(row, units))
                                    : matrixAt(matrix, row, k);
        microKernels[index]->call(code, {units, a, panel, c, line, scratch}, code.smin(code.sub(count, row), tileRows),
                                  code.smin(code.sub(code.index(contraction.extent), element), width), isFirst);
      });
    });
  });
  if (stage.sums >= 0)
    code.make<LLVM::CallOp>(functions.round(stage.resultType),
                            ValueRange{result, line, written, code.index(contraction.ofResult.line), count,
                                       code.index(contraction.extent)});
}

/// Sets `width` columns after those that kernels have computed to zero, and before them if `onBothSides`. Tiles start
/// at multiples of their rows, so they read these too.
void TiledEmitter::clearBeside(Value matrix, int64_t width, IndexRange rows, IndexRange columns, bool onBothSides) {
  Value isAfterFirst = code.icmp(LLVM::ICmpPredicate::sgt, columns.from, code.index(0));
  code.loop(code.index(0), rows.length(code), 1, [&](Value row) {
    for (int64_t j = 0; j < width; j += plan.lanes) {
      storeVector(code, zeroVector, matrixAt(matrix, row, code.add(columns.to, j)), {}, typeOf(matrix));
      if (onBothSides)
        code.when(isAfterFirst, [&] {
          Value at = matrixAt(matrix, row, code.add(columns.from, -j - int64_t(plan.lanes)));
          storeVector(code, zeroVector, at, {}, typeOf(matrix));
        });
    }
  });
}

void TiledEmitter::emitSumOverRows(size_t index, IndexRange rows, IndexRange columns, IndexRange computed) {
  const TiledStage &stage = plan.stages[index];
  const TiledContraction &contraction = *stage.contraction;
  Value matrix = stage.op->getOperand(contraction.x), y = stage.op->getOperand(contraction.y),
        count = rows.length(code);
  int64_t width = stage.tile.columns(), tileRows = stage.tile.rows;
  if (plan.isBand()) clearBeside(matrix, tileRows, rows, computed, plan.op.getLower().has_value());
  Value rowsOfY = elementAt(code, typeOf(y), inMemory(y), code.mul(rows.from, contraction.ofY.line));
  Value block = inScratch(plan.scratch.blockOffset), extent = code.index(contraction.extent),
        units = stage.format.units(code, count);
  if (stage.packsRows)
    pack(stage, rowsOfY, {contraction.ofY.element, contraction.ofY.line}, extent, count, width, block);
  Value result = sumsOf(stage), line = code.index(sumStride(stage));
  Value first = plan.op.getLower() ? code.mul(code.udiv(columns.from, tileRows), tileRows) : columns.from;
  if (stage.packsMatrix) // lines are columns
    pack(stage, matrixAt(matrix, code.index(0), first), {1, plan.slots.lookup(matrix).rowStride},
         code.sub(computed.to, first), count, tileRows, inScratch(plan.scratch.matrixOffset));
  code.loop(first, columns.to, tileRows, [&](Value column) {
    Value lines = code.smin(code.sub(code.index(plan.columns), column), tileRows);
    Value a = stage.packsMatrix
                  ? code.f32At(inScratch(plan.scratch.matrixOffset), code.mul(code.sub(column, first), units))
                  : matrixAt(matrix, code.index(0), column);
    code.loop(code.index(0), extent, width, [&](Value element) {
      Value c = code.f32At(result, code.add(code.mul(column, line), element));
      Value b = stage.packsRows ? code.f32At(block, code.mul(element, units)) : code.f32At(rowsOfY, element);
      microKernels[index]->call(code, {units, a, b, c, line, scratch}, lines,
                                code.smin(code.sub(extent, element), width), {});
    });
  });
}
