//===- TiledCodegen.cpp - tiled ops as generated functions ----------------===//

#include "codegen/cpu/tiled/TiledCodegen.h"
#include "codegen/cpu/kernel/LoopNestEmitter.h"
#include "codegen/cpu/tiled/TiledEmitter.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

LogicalResult TiledEmitter::emit(StringRef symbol, const CpuTarget &target) {
  chooseMicroKernels();
  if (failed(emitKernels(symbol, target))) return failure();

  code.setInsertionPointToEnd(module.getBody());
  auto function = code.make<LLVM::LLVMFuncOp>(symbol, code.kernelType());
  code.setInsertionPointToEnd(function.addEntryBlock(code));
  Value arguments = function.getBody().getArgument(0);
  scratch = function.getBody().getArgument(3);
  unsigned most = 1;
  for (const TiledStage &stage : plan.stages)
    most = std::max(most, stage.op->getNumOperands() + stage.op->getNumResults());
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

void TiledEmitter::chooseMicroKernels() {
  SmallVector<int64_t> blockRows = plan.blockLengths();
  for (const TiledStage &stage : plan.stages) {
    microKernels.emplace_back();
    if (!stage.contraction) continue;
    const TiledContraction &contraction = *stage.contraction;
    auto choose = [&](MicroKernelStrides strides, ArrayRef<int64_t> lengths, int64_t columns, Addend first,
                      Addend later, ElementType result) {
      microKernels.back() = std::make_unique<VectorMicroKernels>(
          functions, stage.tile, strides, rowCounts(stage.tile, lengths), columns, first, later, stage.format, result);
    };
    int64_t rows = stage.tile.rows, columns = stage.tile.columns(), perUnit = stage.format.perUnit();
    int64_t matrixStride = plan.slots.lookup(stage.op->getOperand(contraction.x)).rowStride;
    Addend later = plan.columns > shortDepth * perUnit ? Addend::C : Addend::Row;
    MicroKernelStrides packed{1, rows, columns};
    switch (contraction.role) {
    case TiledRole::MakesMatrix: // rows of the matrix are long enough for whole tiles
      choose(stage.packsRows ? packed : MicroKernelStrides{contraction.ofX.line / perUnit, 1, columns}, blockRows,
             columns, Addend::Row, Addend::Row, stage.resultType);
      break;
    case TiledRole::SumsColumns:
      choose(stage.packsMatrix ? packed : MicroKernelStrides{matrixStride / perUnit, 1, columns}, blockRows,
             contraction.extent, Addend::Row, later, sumType(stage));
      break;
    case TiledRole::SumsRows:
      choose({1, stage.packsMatrix ? rows : matrixStride, stage.packsRows ? columns : contraction.ofY.line},
             plan.columns, contraction.extent, Addend::C, Addend::C, ElementType::F32);
      break;
    }
  }
}

/// Emits the loops of each kernel as a function for a range of rows and columns.
LogicalResult TiledEmitter::emitKernels(StringRef symbol, const CpuTarget &target) {
  for (auto [i, stage] : llvm::enumerate(plan.stages)) {
    kernels.emplace_back();
    auto kernel = dyn_cast<KernelOp>(stage.op);
    if (!kernel) continue;
    RowsPlacement placement;
    auto place = [&](Value value) {
      SmallVector<int64_t> &strides = placement.strides.emplace_back();
      if (isInMemory(value)) return;
      // The slot has the rows of one block, so batch axes have no stride. After the rows, a row value has the strides
      // of its type.
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

void TiledEmitter::setPosition(Value number) {
  for (unsigned axis : llvm::reverse(plan.parallel)) {
    bool isOutermost = axis == plan.parallel.front();
    int64_t size = plan.axes.batch[axis].getSize();
    positions[axis] = isOutermost ? number : code.urem(number, size);
    if (!isOutermost) number = code.udiv(number, size);
  }
}

SmallVector<PrefetchRegion> TiledEmitter::operandRegions(Value number) {
  SmallVector<PrefetchRegion> result;
  setPosition(number);
  for (unsigned axis : plan.serial) positions[axis] = {}; // the first
  llvm::SmallPtrSet<Value, 8> seen;
  int64_t bytes = 0;
  auto add = [&](Value operand, const TiledStrides &strides, int64_t lines, int64_t extent) {
    if (!isInMemory(operand) || strides.element != 1 || !seen.insert(operand).second) return;
    int64_t each = tensorType(operand).getElementBytes();
    result.push_back({inMemory(operand), strides.line * each, int64_t(llvm::divideCeil(extent * each, lineBytes)),
                      code.index(lines)});
    bytes += lines * extent * each;
  };
  for (const TiledStage &stage : plan.stages) {
    if (!stage.contraction) continue;
    const TiledContraction &contraction = *stage.contraction;
    if (stage.is(TiledRole::MakesMatrix))
      add(stage.op->getOperand(contraction.x), contraction.ofX, plan.rows, contraction.extent);
    int64_t lines = stage.is(TiledRole::SumsRows) ? plan.rows : plan.columns;
    add(stage.op->getOperand(contraction.y), contraction.ofY, lines, contraction.extent);
  }
  // Larger operands are not prefetched: they would evict those of this iteration.
  constexpr int64_t mostBytes = 256 * 1024;
  return bytes <= mostBytes ? result : SmallVector<PrefetchRegion>();
}

void TiledEmitter::emitIteration(Value number) {
  Value group = plan.groups == 1 ? code.index(0) : code.urem(number, plan.groups);
  Value rest = plan.groups == 1 ? number : code.udiv(number, plan.groups);
  SmallVector<PrefetchRegion> next;
  if (plan.groups == 1) next = operandRegions(code.add(rest, 1));
  setPosition(rest);
  for (const TiledStage &stage : plan.stages)
    if (stage.is(TiledRole::SumsRows)) clearSums(stage);
  forEachPosition(plan.serial, [&] {
    for (const TiledStage &stage : plan.stages)
      if (stage.contraction) packOperand(stage);
    Value first = code.mul(group, plan.blockRows);
    code.loop(first, code.index(plan.rows), plan.blockRows * plan.groups, [&](Value row) {
      for (const PrefetchRegion &each : next)
        prefetch(code, shareOf(code, each, code.udiv(row, plan.blockRows), code.index(plan.blocks())));
      emitBlock({row, code.smin(code.add(row, plan.blockRows), plan.rows)});
    });
  });
  for (const TiledStage &stage : plan.stages)
    if (stage.is(TiledRole::SumsRows) && stage.sums >= 0) roundSums(stage);
}

/// The columns that are inside the band in one of the rows. At least one column, because sums over columns are always
/// written.
IndexRange TiledEmitter::columnsInBand(IndexRange rows) {
  IndexRange columns{code.index(0), code.index(plan.columns)};
  if (std::optional<int64_t> lower = plan.op.getLower())
    columns.from = code.smax(code.smin(code.add(rows.from, *lower), plan.columns - 1), 0);
  if (std::optional<int64_t> upper = plan.op.getUpper()) // exclusive, so of the row after the last
    columns.to = code.smax(code.add(columns.from, 1), code.smin(code.add(rows.to, *upper), plan.columns));
  return columns;
}

/// The same, extended to multiples of `columnStep`: kernels compute no other ranges.
IndexRange TiledEmitter::columnsOfKernels(IndexRange columns) {
  return {code.bitAnd(columns.from, -columnStep),
          code.smin(code.bitAnd(code.add(columns.to, columnStep - 1), -columnStep), plan.columns)};
}

/// The matrix is computed for all columns that kernels read. Outside the band kernels compute zeros, which need not be
/// summed.
void TiledEmitter::emitBlock(IndexRange rows) {
  IndexRange inBand = columnsInBand(rows), computed = columnsOfKernels(inBand);
  for (auto [index, stage] : llvm::enumerate(plan.stages)) {
    if (!stage.contraction)
      emitKernel(index, rows, computed);
    else if (stage.is(TiledRole::MakesMatrix))
      emitMatrix(index, rows, computed);
    else if (stage.is(TiledRole::SumsColumns))
      emitSumOverColumns(index, rows, inBand);
    else
      emitSumOverRows(index, rows, inBand, computed);
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
// Kernels
//===----------------------------------------------------------------------===//

void TiledEmitter::emitKernel(size_t index, IndexRange rows, IndexRange columns) {
  auto kernel = cast<KernelOp>(plan.stages[index].op);
  unsigned count = 0;
  auto pass = [&](Value value) {
    Value address = bases.lookup(value);
    if (!isInMemory(value)) {
      // The kernel counts rows from the first row of the matrix, the slot from the first row of the block.
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
  Value function = code.make<LLVM::AddressOfOp>(code.pointer(), kernels[index]);
  code.make<LLVM::CallOp>(code.rowsType(), ValueRange{function, kernelArguments, code.add(row, rows.from),
                                                      code.add(row, rows.to), columns.from, columns.to});
}

LogicalResult tessera::emitTiled(ModuleOp module, StringRef symbol, TiledPlan &plan, MatrixFunctions &functions,
                                 const CpuTarget &target) {
  return TiledEmitter(module, plan, functions).emit(symbol, target);
}
