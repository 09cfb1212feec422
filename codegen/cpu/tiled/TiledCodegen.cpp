//===- TiledCodegen.cpp - tiled ops as generated functions ----------------===//

#include "codegen/cpu/tiled/TiledCodegen.h"
#include "codegen/cpu/contraction/Ahead.h"
#include "codegen/cpu/contraction/ProductVariants.h"
#include "codegen/cpu/kernel/LoopNestEmitter.h"

using namespace mlir;
using namespace tessera;

namespace {

/// [from, to), of rows or columns.
struct DynamicRange {
  Value from, to;
};

class TiledEmitter {
public:
  TiledEmitter(ModuleOp module, TiledPlan &plan, MatrixFunctions &functions)
      : module(module), plan(plan), functions(functions), code(UnknownLoc::get(module.getContext())) {}
  LogicalResult emit(StringRef symbol, const CpuTarget &target);

private:
  LogicalResult emitKernels(StringRef symbol, const CpuTarget &target);
  void chooseProducts();

  void emitIteration(Value number);
  void setPosition(Value number);
  /// Operands in memory of iteration `number`.
  SmallVector<Ahead> operandsOf(Value number);
  void emitBlock(DynamicRange rows);
  DynamicRange countedColumns(DynamicRange rows);
  DynamicRange columnSteps(DynamicRange columns);
  void clear(const TiledStep &sumOverRows);
  void packWhole(const TiledStep &step);
  void emitMaker(size_t number, DynamicRange rows, DynamicRange columns);
  void emitSumOverColumns(size_t number, DynamicRange rows, DynamicRange columns);
  void emitSumOverRows(size_t number, DynamicRange rows, DynamicRange columns, DynamicRange steps);
  void clearEdges(Value matrix, int64_t width, DynamicRange rows, DynamicRange columns, bool isLowToo);
  void emitKernel(size_t number, DynamicRange rows, DynamicRange columns);

  /// For each position of the axes, outermost first.
  void forEachPosition(ArrayRef<unsigned> axes, llvm::function_ref<void()> body);
  /// Packs lines of an operand, each of `steps` numbers, into panels of `width` lines.
  void pack(const TiledStep &step, Value source, TiledStrides strides, Value lines, Value steps, unsigned width,
            Value panels);
  /// Rounds sums over rows that are complete, for the current position of the parallel axes.
  void roundSums(const TiledStep &step);
  /// Where the sums of a step's result stand at the current position: in scratch memory, or the result itself.
  Value sumsOf(const TiledStep &step);
  int64_t lineOfSums(const TiledStep &step) {
    return step.sums >= 0 ? TiledPlan::sumStride(step) : step.part->ofResult.line;
  }
  /// The type in which products write their sums.
  static ElementType typeOfSums(const TiledStep &step) { return step.sums >= 0 ? ElementType::F32 : step.resultType; }
  static ElementType typeOf(Value value) { return *elementTypeOf(tensorType(value).getElementType()); }

  bool isInMemory(Value value) const { return !plan.slots.contains(value); }
  /// The address of a value in memory at the current position of the batch.
  Value inMemory(Value value);
  /// Row `row` of a matrix in the scratch memory; `rows` is the block.
  Value matrixRow(Value matrix, Value row) {
    TiledSlot slot = plan.slots.lookup(matrix);
    return numberAt(code, typeOf(matrix), inScratch(slot.offset), code.mul(row, slot.rowStride));
  }
  Value matrixAt(Value matrix, Value row, Value column) {
    return numberAt(code, typeOf(matrix), matrixRow(matrix, row), column);
  }
  Value inScratch(int64_t offset) { return code.at(scratch, code.getI8Type(), offset); }
  Value length(DynamicRange span) { return code.sub(span.to, span.from); }

  ModuleOp module;
  TiledPlan &plan;
  MatrixFunctions &functions;
  CodeBuilder code;
  Value scratch, kernelArguments, zeroVector;
  llvm::DenseMap<Value, Value> bases;                   ///< of values in memory
  SmallVector<Value> positions;                         ///< along the batch axes
  std::vector<std::optional<ProductVariants>> products; ///< by step
  SmallVector<std::string> kernels;                     ///< by step
};

} // namespace

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

LogicalResult TiledEmitter::emit(StringRef symbol, const CpuTarget &target) {
  chooseProducts();
  if (failed(emitKernels(symbol, target))) return failure();

  code.setInsertionPointToEnd(module.getBody());
  auto function = code.make<LLVM::LLVMFuncOp>(symbol, code.kernelType());
  code.setInsertionPointToEnd(function.addEntryBlock(code));
  Value arguments = function.getBody().getArgument(0);
  scratch = function.getBody().getArgument(3);
  unsigned most = 1;
  for (const TiledStep &step : plan.steps) most = std::max(most, step.op->getNumOperands() + step.op->getNumResults());
  kernelArguments = code.make<LLVM::AllocaOp>(code.pointer(), code.pointer(), code.index(most));
  unsigned count = 0;
  auto load = [&](Value value) {
    bases[value] = code.make<LLVM::LoadOp>(code.pointer(), code.at(arguments, code.pointer(), count++));
  };
  llvm::for_each(plan.op.getBlock().getArguments(), load);
  llvm::for_each(plan.op.getBlock().getTerminator()->getOperands(), load);
  zeroVector = code.number(CodeBuilder::withLanes(code.getF32Type(), plan.lanes), 0.0);
  for (int64_t j = 0; j < plan.zeros; j += plan.lanes)
    storeVector(code, zeroVector, code.at(scratch, code.getF32Type(), j));
  positions.resize(plan.axes.batch.size());
  code.loop(function.getBody().getArgument(1), function.getBody().getArgument(2), 1,
            [&](Value number) { emitIteration(number); });
  code.make<LLVM::ReturnOp>(ValueRange{});
  return success();
}

void TiledEmitter::chooseProducts() {
  SmallVector<int64_t> ofRows = plan.blockLengths();
  for (const TiledStep &step : plan.steps) {
    products.emplace_back();
    if (!step.part) continue;
    const RegisterTile &tile = step.tile;
    int64_t rows = tile.rows, columns = tile.columns();
    Value matrix = step.op->getOperand(step.part->x);
    PanelFormat format = step.format;
    int64_t perUnit = format.perUnit(), stride = plan.slots.lookup(matrix).rowStride;
    Addend later = plan.columns > shortSteps * perUnit ? Addend::C : Addend::Row;
    switch (step.part->role) {
    case TiledRole::MakesMatrix: // rows of the matrix are long enough for whole tiles
      products.back().emplace(functions, tile,
                              step.packsRows ? ProductStrides{1, rows, columns}
                                             : ProductStrides{step.part->ofX.line / perUnit, 1, columns},
                              rowCounts(tile, ofRows), columns, Addend::Row, Addend::Row, format, step.resultType);
      break;
    case TiledRole::SumsColumns:
      products.back().emplace(functions, tile,
                              step.packsMatrix ? ProductStrides{1, rows, columns}
                                               : ProductStrides{stride / perUnit, 1, columns},
                              rowCounts(tile, ofRows), step.part->extent, Addend::Row, later, format, typeOfSums(step));
      break;
    case TiledRole::SumsRows:
      products.back().emplace(
          functions, tile,
          ProductStrides{1, step.packsMatrix ? rows : stride, step.packsRows ? columns : step.part->ofY.line},
          rowCounts(tile, {plan.columns}), step.part->extent, Addend::C, Addend::C, format, ElementType::F32);
      break;
    }
  }
}

/// Each kernel's loops as a function for a range of rows and columns.
LogicalResult TiledEmitter::emitKernels(StringRef symbol, const CpuTarget &target) {
  for (auto [i, step] : llvm::enumerate(plan.steps)) {
    kernels.emplace_back();
    auto kernel = dyn_cast<KernelOp>(step.op);
    if (!kernel) continue;
    RowsPlacement placement;
    auto place = [&](Value value) {
      SmallVector<int64_t> &strides = placement.strides.emplace_back();
      if (isInMemory(value)) return;
      // A block's rows, wherever in the batch they stand; behind a row value's row lies what its type says.
      NamedTensorType type = tensorType(value);
      strides = type.getStrides();
      for (size_t axis = 0; axis < plan.axes.batch.size(); ++axis) strides[axis] = 0;
      strides[plan.axes.batch.size()] = plan.slots.lookup(value).rowStride;
    };
    llvm::for_each(kernel.getInputs(), place);
    llvm::for_each(kernel.getResults(), place);
    FailureOr<KernelPlan> kernelPlan = planKernel(kernel, &placement);
    if (failed(kernelPlan)) return failure();
    kernels.back() = (symbol + "_step_" + Twine(i)).str();
    LoopNestEmitter emitter(*kernelPlan, target, UnknownLoc::get(module.getContext()));
    if (failed(emitter.emitForRows(module, kernels.back()))) return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Positions of the batch, blocks of rows
//===----------------------------------------------------------------------===//

void TiledEmitter::forEachPosition(ArrayRef<unsigned> axes, llvm::function_ref<void()> body) {
  if (axes.empty()) return body();
  code.loop(code.index(0), code.index(plan.axes.batch[axes.front()].getSize()), 1, [&](Value position) {
    positions[axes.front()] = position;
    forEachPosition(axes.drop_front(), body);
  });
}

/// Of the parallel batch axes.
void TiledEmitter::setPosition(Value number) {
  for (unsigned axis : llvm::reverse(plan.parallel)) {
    bool isOutermost = axis == plan.parallel.front();
    int64_t size = plan.axes.batch[axis].getSize();
    positions[axis] = isOutermost ? number : code.urem(number, size);
    if (!isOutermost) number = code.udiv(number, size);
  }
}

SmallVector<Ahead> TiledEmitter::operandsOf(Value number) {
  SmallVector<Ahead> result;
  setPosition(number);
  for (unsigned axis : plan.serial) positions[axis] = {}; // the first
  llvm::SmallPtrSet<Value, 8> seen;
  int64_t bytes = 0;
  auto note = [&](Value operand, const TiledStrides &strides, int64_t lines, int64_t extent) {
    if (!isInMemory(operand) || strides.element != 1 || !seen.insert(operand).second) return;
    int64_t each = tensorType(operand).getElementBytes();
    result.push_back({inMemory(operand), strides.line * each, int64_t(llvm::divideCeil(extent * each, lineBytes)),
                      code.index(lines)});
    bytes += lines * extent * each;
  };
  for (const TiledStep &step : plan.steps) {
    if (!step.part) continue;
    const TiledContraction &part = *step.part;
    bool isMaker = part.role == TiledRole::MakesMatrix, sumsRows = part.role == TiledRole::SumsRows;
    if (isMaker) note(step.op->getOperand(part.x), part.ofX, plan.rows, part.extent);
    note(step.op->getOperand(part.y), part.ofY, sumsRows ? plan.rows : plan.columns, part.extent);
  }
  // What would drive this iteration's own operands out of the cache is left where it is.
  constexpr int64_t mostBytes = 256 * 1024;
  return bytes <= mostBytes ? result : SmallVector<Ahead>();
}

void TiledEmitter::emitIteration(Value number) {
  Value group = plan.groups == 1 ? code.index(0) : code.urem(number, plan.groups);
  Value rest = plan.groups == 1 ? number : code.udiv(number, plan.groups);
  SmallVector<Ahead> ahead = plan.groups == 1 ? operandsOf(code.add(rest, 1)) : SmallVector<Ahead>();
  setPosition(rest);
  for (const TiledStep &step : plan.steps)
    if (step.part && step.part->role == TiledRole::SumsRows) clear(step);
  forEachPosition(plan.serial, [&] {
    for (const TiledStep &step : plan.steps)
      if (step.part) packWhole(step);
    Value first = code.mul(group, plan.blockRows);
    code.loop(first, code.index(plan.rows), plan.blockRows * plan.groups, [&](Value row) {
      for (const Ahead &each : ahead)
        prefetch(code, partOf(code, each, code.udiv(row, plan.blockRows), code.index(plan.blocks())));
      emitBlock({row, code.smin(code.add(row, plan.blockRows), plan.rows)});
    });
  });
  for (const TiledStep &step : plan.steps)
    if (step.part && step.part->role == TiledRole::SumsRows && step.sums >= 0) roundSums(step);
}

/// Columns that count in one of the rows; one at least, since results that sum over columns are written in any case.
DynamicRange TiledEmitter::countedColumns(DynamicRange rows) {
  DynamicRange columns{code.index(0), code.index(plan.columns)};
  if (std::optional<int64_t> lower = plan.op.getLower())
    columns.from = code.smax(code.smin(code.add(rows.from, *lower), plan.columns - 1), 0);
  if (std::optional<int64_t> upper = plan.op.getUpper()) // the last row's column, and one
    columns.to = code.smax(code.add(columns.from, 1), code.smin(code.add(rows.to, *upper), plan.columns));
  return columns;
}

/// The same in whole steps of the kernels' loops.
DynamicRange TiledEmitter::columnSteps(DynamicRange columns) {
  return {code.bitAnd(columns.from, -columnStep),
          code.smin(code.bitAnd(code.add(columns.to, columnStep - 1), -columnStep), plan.columns)};
}

/// Kernels run in whole steps, so contractions make what they read. What kernels make outside the band is zero and need not
/// be summed.
void TiledEmitter::emitBlock(DynamicRange rows) {
  DynamicRange counted = countedColumns(rows), steps = columnSteps(counted);
  for (auto [number, step] : llvm::enumerate(plan.steps)) {
    if (!step.part)
      emitKernel(number, rows, steps);
    else if (step.part->role == TiledRole::MakesMatrix)
      emitMaker(number, rows, steps);
    else if (step.part->role == TiledRole::SumsColumns)
      emitSumOverColumns(number, rows, counted);
    else
      emitSumOverRows(number, rows, counted, steps);
  }
}

Value TiledEmitter::inMemory(Value value) {
  NamedTensorType type = tensorType(value);
  Value address = bases.lookup(value);
  for (auto [axis, position] : llvm::zip(plan.axes.batch, positions)) {
    int64_t found = type.findAxis(axis.getName());
    if (found < 0 || axis.getSize() == 1 || !position) continue;
    address = code.at(address, code.getI8Type(), code.mul(position, type.getStrides()[found] * type.getElementBytes()));
  }
  return address;
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

void TiledEmitter::pack(const TiledStep &step, Value source, TiledStrides strides, Value lines, Value steps,
                        unsigned width, Value panels) {
  bool transposing = strides.line != 1;
  Value stride = code.index(transposing ? strides.line : strides.element);
  code.make<LLVM::CallOp>(functions.pack(width, transposing, step.format),
                          ValueRange{source, stride, steps, lines, panels});
}

/// Operand y of a product that every block of rows reads.
void TiledEmitter::packWhole(const TiledStep &step) {
  const TiledContraction &part = *step.part;
  if (part.role == TiledRole::SumsRows) return;
  Value y = inMemory(step.op->getOperand(part.y)), panels = inScratch(step.packed);
  Value columns = code.index(plan.columns), extent = code.index(part.extent);
  if (part.role == TiledRole::MakesMatrix)
    pack(step, y, part.ofY, columns, extent, step.tile.columns(), panels);
  else // lines are those of E, steps those of the columns
    pack(step, y, {part.ofY.element, part.ofY.line}, extent, columns, step.tile.columns(), panels);
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

Value TiledEmitter::sumsOf(const TiledStep &step) {
  if (step.sums < 0) return inMemory(step.op->getResult(0));
  Value number = code.index(0); // of the position along the serial axes that the result has
  for (unsigned axis : plan.ownSerial(step))
    if (positions[axis]) number = code.add(code.mul(number, plan.axes.batch[axis].getSize()), positions[axis]);
  return code.f32At(inScratch(step.sums), code.mul(number, plan.columns * TiledPlan::sumStride(step)));
}

/// Sets a result that sums over rows to zero, for the current position of the parallel axes.
void TiledEmitter::clear(const TiledStep &step) {
  const TiledContraction &part = *step.part;
  for (unsigned axis : plan.serial) positions[axis] = {};
  int64_t lanes = plan.lanes;
  forEachPosition(plan.ownSerial(step), [&] {
    Value start = sumsOf(step);
    code.loop(code.index(0), code.index(plan.columns), 1, [&](Value line) {
      Value row = code.f32At(start, code.mul(line, lineOfSums(step)));
      int64_t whole = part.extent / lanes * lanes;
      if (whole > 0)
        code.loop(code.index(0), code.index(whole), lanes,
                  [&](Value i) { storeVector(code, zeroVector, code.f32At(row, i)); });
      if (whole < part.extent)
        storeVector(code, zeroVector, code.at(row, code.getF32Type(), whole),
                    code.prefixMask(lanes, part.extent - whole));
    });
  });
}

void TiledEmitter::roundSums(const TiledStep &step) {
  for (unsigned axis : plan.serial) positions[axis] = {};
  forEachPosition(plan.ownSerial(step), [&] {
    code.make<LLVM::CallOp>(functions.round(step.resultType),
                            ValueRange{sumsOf(step), code.index(lineOfSums(step)), inMemory(step.op->getResult(0)),
                                       code.index(step.part->ofResult.line), code.index(plan.columns),
                                       code.index(step.part->extent)});
  });
}

void TiledEmitter::emitMaker(size_t number, DynamicRange rows, DynamicRange columns) {
  const TiledStep &step = plan.steps[number];
  const TiledContraction &part = *step.part;
  Value matrix = step.op->getResult(0), operand = step.op->getOperand(part.x);
  const TiledSlot slot = plan.slots.lookup(matrix);
  auto rowOfX = [&](Value from, Value row) {
    return numberAt(code, typeOf(operand), from, code.mul(row, part.ofX.line));
  };
  Value x = rowOfX(inMemory(operand), rows.from);
  Value block = inScratch(plan.blockOffset), units = code.index(step.format.units(part.extent)), count = length(rows);
  if (step.packsRows) pack(step, x, part.ofX, count, code.index(part.extent), step.tile.rows, block);
  int64_t width = step.tile.columns(), tileRows = step.tile.rows;
  Value first = plan.op.getLower() ? code.mul(code.udiv(columns.from, width), width) : columns.from;
  code.loop(first, columns.to, width, [&](Value column) {
    Value panel = code.f32At(inScratch(step.packed), code.mul(column, units));
    code.loop(code.index(0), count, tileRows, [&](Value row) {
      Value a = step.packsRows ? code.f32At(block, code.mul(row, units)) : rowOfX(x, row);
      products[number]->call(code,
                             {units, a, panel, matrixAt(matrix, row, column), code.index(slot.rowStride), scratch},
                             code.smin(code.sub(count, row), tileRows), code.index(width), {});
    });
  });
}

void TiledEmitter::emitSumOverColumns(size_t number, DynamicRange rows, DynamicRange columns) {
  const TiledStep &step = plan.steps[number];
  const TiledContraction &part = *step.part;
  PanelFormat format = step.format;
  Value matrix = step.op->getOperand(part.x), count = length(rows), allUnits = code.index(format.units(plan.columns));
  int64_t width = step.tile.columns(), tileRows = step.tile.rows, blockSteps = shortSteps * format.perUnit();
  if (format.pairs) {
    // Whole pairs: what kernels make beside the columns that count is zero, and so must be what follows the last column.
    if (plan.columns % 2 != 0) clearEdges(matrix, plan.lanes, rows, {code.index(0), code.index(plan.columns)}, false);
    columns = {code.bitAnd(columns.from, -2), code.bitAnd(code.add(columns.to, 1), -2)};
  }
  Value output = step.op->getResult(0), line = code.index(lineOfSums(step));
  Value written = numberAt(code, typeOf(output), inMemory(output), code.mul(rows.from, part.ofResult.line));
  Value result = step.sums >= 0 ? inScratch(step.sums) : written;
  code.loop(columns.from, columns.to, blockSteps, [&](Value k) {
    Value units = format.units(code, code.smin(code.sub(columns.to, k), blockSteps));
    Value isFirst = code.icmp(LLVM::ICmpPredicate::eq, k, columns.from);
    if (step.packsMatrix) // lines are rows, steps columns; beyond the last column there is nothing to read
      pack(step, matrixAt(matrix, code.index(0), k), {plan.slots.lookup(matrix).rowStride, 1}, count,
           code.smin(code.sub(columns.to, k), blockSteps), tileRows, inScratch(plan.matrixOffset));
    code.loop(code.index(0), code.index(part.extent), width, [&](Value element) {
      Value unit = format.pairs ? code.udiv(k, 2) : k;
      Value panel = code.f32At(inScratch(step.packed), code.add(code.mul(element, allUnits), code.mul(unit, width)));
      code.loop(code.index(0), count, tileRows, [&](Value row) {
        Value c = numberAt(code, typeOfSums(step), result, code.add(code.mul(row, line), element));
        Value a = step.packsMatrix ? code.f32At(inScratch(plan.matrixOffset), code.mul(row, units))
                                   : matrixAt(matrix, row, k);
        products[number]->call(code, {units, a, panel, c, line, scratch}, code.smin(code.sub(count, row), tileRows),
                               code.smin(code.sub(code.index(part.extent), element), width), isFirst);
      });
    });
  });
  if (step.sums >= 0)
    code.make<LLVM::CallOp>(
        functions.round(step.resultType),
        ValueRange{result, line, written, code.index(part.ofResult.line), count, code.index(part.extent)});
}

/// Tiles start at multiples of their rows: what they read beside the columns that kernels have made must be zero.
void TiledEmitter::clearEdges(Value matrix, int64_t width, DynamicRange rows, DynamicRange columns, bool isLowToo) {
  Value isLow = code.icmp(LLVM::ICmpPredicate::sgt, columns.from, code.index(0));
  code.loop(code.index(0), length(rows), 1, [&](Value row) {
    for (int64_t j = 0; j < width; j += plan.lanes) {
      storeVector(code, zeroVector, matrixAt(matrix, row, code.add(columns.to, j)), {}, typeOf(matrix));
      if (isLowToo)
        code.when(isLow, [&] {
          Value at = matrixAt(matrix, row, code.add(columns.from, -j - int64_t(plan.lanes)));
          storeVector(code, zeroVector, at, {}, typeOf(matrix));
        });
    }
  });
}

void TiledEmitter::emitSumOverRows(size_t number, DynamicRange rows, DynamicRange columns, DynamicRange steps) {
  const TiledStep &step = plan.steps[number];
  const TiledContraction &part = *step.part;
  Value matrix = step.op->getOperand(part.x), y = step.op->getOperand(part.y), count = length(rows);
  int64_t width = step.tile.columns(), tileRows = step.tile.rows;
  if (plan.isBand()) clearEdges(matrix, tileRows, rows, steps, plan.op.getLower().has_value());
  Value rowsOfY = numberAt(code, typeOf(y), inMemory(y), code.mul(rows.from, part.ofY.line));
  Value block = inScratch(plan.blockOffset), extent = code.index(part.extent), units = step.format.units(code, count);
  if (step.packsRows) pack(step, rowsOfY, {part.ofY.element, part.ofY.line}, extent, count, width, block);
  Value result = sumsOf(step), line = code.index(lineOfSums(step));
  Value first = plan.op.getLower() ? code.mul(code.udiv(columns.from, tileRows), tileRows) : columns.from;
  if (step.packsMatrix) // lines are columns
    pack(step, matrixAt(matrix, code.index(0), first), {1, plan.slots.lookup(matrix).rowStride},
         code.sub(steps.to, first), count, tileRows, inScratch(plan.matrixOffset));
  code.loop(first, columns.to, tileRows, [&](Value column) {
    Value lines = code.smin(code.sub(code.index(plan.columns), column), tileRows);
    Value a = step.packsMatrix ? code.f32At(inScratch(plan.matrixOffset), code.mul(code.sub(column, first), units))
                               : matrixAt(matrix, code.index(0), column);
    code.loop(code.index(0), extent, width, [&](Value element) {
      Value c = code.f32At(result, code.add(code.mul(column, line), element));
      Value b = step.packsRows ? code.f32At(block, code.mul(element, units)) : code.f32At(rowsOfY, element);
      products[number]->call(code, {units, a, b, c, line, scratch}, lines, code.smin(code.sub(extent, element), width),
                             {});
    });
  });
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void TiledEmitter::emitKernel(size_t number, DynamicRange rows, DynamicRange columns) {
  auto kernel = cast<KernelOp>(plan.steps[number].op);
  unsigned count = 0;
  auto pass = [&](Value value) {
    Value address = bases.lookup(value);
    if (!isInMemory(value)) {
      // The kernel counts rows from the first of the position: the block's first row is the first in the slot.
      TiledSlot slot = plan.slots.lookup(value);
      int64_t rowBytes = slot.rowStride * tensorType(value).getElementBytes();
      address = code.at(inScratch(slot.offset), code.getI8Type(), code.mul(rows.from, -rowBytes));
    }
    code.make<LLVM::StoreOp>(address, code.at(kernelArguments, code.pointer(), count++));
  };
  llvm::for_each(kernel.getInputs(), pass);
  llvm::for_each(kernel.getResults(), pass);
  Value row = code.index(0);
  for (auto [axis, position] : llvm::zip(plan.axes.batch, positions))
    row = code.add(code.mul(row, axis.getSize()), position);
  row = code.mul(row, plan.rows);
  Value function = code.make<LLVM::AddressOfOp>(code.pointer(), kernels[number]);
  code.make<LLVM::CallOp>(code.rowsType(), ValueRange{function, kernelArguments, code.add(row, rows.from),
                                                      code.add(row, rows.to), columns.from, columns.to});
}

LogicalResult tessera::emitTiled(ModuleOp module, StringRef symbol, TiledPlan &plan, MatrixFunctions &functions,
                                 const CpuTarget &target) {
  return TiledEmitter(module, plan, functions).emit(symbol, target);
}
