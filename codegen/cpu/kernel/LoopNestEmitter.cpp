//===- LoopNestEmitter.cpp - the parallel loops of a kernel ---------------===//

#include "codegen/cpu/kernel/LoopNestEmitter.h"
#include "codegen/cpu/kernel/OpLowering.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Work at a point, in instructions.
static unsigned estimateWork(const KernelPlan &plan) {
  unsigned work = 0;
  for (Value item : plan.items) work += item.getDefiningOp() ? instructionEstimate(item.getDefiningOp()) : 1;
  return work;
}

static int64_t countRows(const LoopNest &loops) {
  int64_t rows = 1;
  for (unsigned loop = 0; loop < loops.parallelCount; ++loop)
    if (!loops.isVector(loop)) rows *= loops.sizes[loop];
  return rows;
}

/// Along a serial loop a tile has `sumLanes` points. Along a parallel loop it has up to four vectors. It has fewer
/// where the work at a point is long, and so keeps the processor busy by itself, or where there would be too few tiles
/// for all threads.
static VectorTile chooseTile(const KernelPlan &plan, unsigned lanes) {
  const LoopNest &loops = plan.loops;
  if (loops.vector < 0) return {0, 1};
  int64_t size = loops.sizes[loops.vector], power = llvm::PowerOf2Ceil(size);
  VectorTile tile{static_cast<unsigned>(std::min<int64_t>(lanes, power)), 1};
  if (loops.isVectorSerial()) {
    tile.chunks = std::min(plan.sumLanes(), power) / tile.lanes;
    return tile;
  }
  unsigned work = estimateWork(plan);
  tile.chunks = work <= 16 ? 4 : work <= 48 ? 2 : 1;
  if (plan.runsByRows) tile.chunks = std::min<int64_t>(tile.chunks, std::max<int64_t>(columnStep / tile.lanes, 1));
  constexpr int64_t enoughTiles = 8;
  while (tile.chunks > 1 && countRows(loops) * (size / tile.width()) < enoughTiles) tile.chunks /= 2;
  return tile;
}

/// Two where the loop over a row is so short that its end counts, and where registers hold the sums of both.
static unsigned chooseRowsAtOnce(const KernelPlan &plan, const VectorTile &tile) {
  constexpr int64_t shortRow = 1024;
  constexpr unsigned mostSums = 12;
  const LoopNest &loops = plan.loops;
  if (!loops.isVectorSerial() || plan.scatter || plan.sweeps == 0 || loops.sizes[loops.vector] > shortRow) return 1;
  for (unsigned number = 1; number <= plan.sweeps; ++number) {
    unsigned sums = 0;
    for (Value item : plan.items)
      sums += isa_and_present<ReduceOp>(item.getDefiningOp()) && plan.stages.lookup(item) == number;
    if (2 * sums * tile.chunks > mostSums) return 1;
  }
  return 2;
}

LoopNestEmitter::LoopNestEmitter(const KernelPlan &plan, const CpuTarget &target, Location loc)
    : plan(plan), code(loc), tile(chooseTile(plan, target.floatLanes)), rowsAtOnce(chooseRowsAtOnce(plan, tile)),
      memory(plan, code, tile.lanes, state) {
  code.hasVectorScale = target.hasVectorScale;
  code.hasBf16Casts = target.hasBf16Dot;
  state.indices.resize(plan.loops.sizes.size());
}

SmallVector<TileChunk> LoopNestEmitter::chunksFor(int64_t count) const {
  SmallVector<TileChunk> result;
  for (int64_t offset = 0; offset < count; offset += tile.lanes)
    result.push_back({offset, static_cast<unsigned>(std::min<int64_t>(tile.lanes, count - offset))});
  return result;
}

WorkSharing LoopNestEmitter::sharing() const {
  WorkSharing result{1, 1, 1};
  int64_t points = 1;
  for (auto [loop, size] : llvm::enumerate(plan.loops.sizes)) {
    bool isTiled = plan.loops.isVectorParallel() && plan.loops.isVector(loop);
    if (loop < plan.loops.parallelCount) result.iterations *= isTiled ? llvm::divideCeil(size, tile.width()) : size;
    points *= size;
  }
  int64_t work = 1 + estimateWork(plan);
  // Waking a thread pays for some microseconds of work.
  constexpr int64_t leastWork = 1 << 16;
  int64_t each = std::max<int64_t>(1, points / result.iterations * work);
  result.grain = result.stealGrain = std::clamp<int64_t>(leastWork / each, 1, result.iterations);
  return result;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

FailureOr<WorkSharing> LoopNestEmitter::emit(ModuleOp module, StringRef symbol) {
  emitFunction(module, symbol, code.kernelType());
  if (failed) return failure();
  return sharing();
}

LogicalResult LoopNestEmitter::emitForRows(ModuleOp module, StringRef symbol) {
  emitFunction(module, symbol, code.rowsType()).setVisibility_(LLVM::Visibility::Hidden);
  return failure(failed);
}

LLVM::LLVMFuncOp LoopNestEmitter::emitFunction(ModuleOp module, StringRef symbol, LLVM::LLVMFunctionType type) {
  code.setInsertionPointToEnd(module.getBody());
  auto function = code.make<LLVM::LLVMFuncOp>(symbol, type);
  Block *entry = function.addEntryBlock(code);
  code.setInsertionPointToEnd(entry);
  memory.loadArguments(entry->getArgument(0));
  if (type == code.rowsType()) firstColumn = entry->getArgument(3), lastColumn = entry->getArgument(4);
  state.frames.emplace_back();
  emitKnown(0, nullptr);
  emitBody(entry->getArgument(1), entry->getArgument(2));
  code.make<LLVM::ReturnOp>(ValueRange{});
  return function;
}

void LoopNestEmitter::emitBody(Value begin, Value end) {
  const LoopNest &loops = plan.loops;
  int64_t width = tile.width(),
          tiles = loops.isVectorParallel() ? llvm::divideCeil(loops.sizes[loops.vector], width) : 1;
  if (firstColumn) {
    Value from = loops.isVectorParallel() ? code.udiv(firstColumn, width) : Value();
    Value to = loops.isVectorParallel() ? code.udiv(code.add(lastColumn, width - 1), width) : Value();
    return emitRows(begin, end, [&](Value) { emitRow(from, to); });
  }
  if (loops.isVectorParallel() && countRows(loops) == 1) return emitRow(begin, end);
  Value first = code.udiv(begin, tiles), last = tiles == 1 ? end : code.udiv(code.add(end, tiles - 1), tiles);
  emitRows(first, last, [&](Value row) {
    Value start = code.mul(row, tiles);
    Value from = tiles == 1 ? code.index(0) : code.smax(code.sub(begin, start), 0);
    Value to = tiles == 1 ? code.index(1) : code.smin(code.sub(end, start), code.index(tiles));
    emitRow(from, to);
  });
}

void LoopNestEmitter::emitRow(Value from, Value to) {
  if (plan.scatter) return emitScatterRows(from, to);
  if (plan.loops.isVectorParallel()) return emitTiles(from, to, [&] { emitPoint(); });
  emitPoint();
}

/// Runs `body` for the rows in [first, last): as many at once as possible, then the others.
void LoopNestEmitter::emitRows(Value first, Value last, llvm::function_ref<void(Value)> body) {
  auto emitLoop = [&](Value from, Value to, unsigned count) {
    code.loop(from, to, count, [&](Value row) {
      state.rows.assign(count > 1 ? count : 0, LoopState::Row{state.indices, state.frames});
      uint64_t openBefore = state.openLoops;
      state.forEachRow([&](unsigned i) {
        state.frames.emplace_back();
        state.openLoops = openBefore;
        openRow(code.add(row, i));
        emitKnown(0, nullptr);
      });
      body(row);
      state.rows.clear();
      state.openLoops = openBefore;
      if (count == 1) state.frames.pop_back();
    });
  };
  Value whole = first;
  if (rowsAtOnce > 1) {
    whole = code.sub(last, code.urem(code.sub(last, first), rowsAtOnce));
    emitLoop(first, whole, rowsAtOnce);
  }
  emitLoop(whole, last, 1);
}

/// Sets the indices of the parallel loops, except the vector loop, in row number `row`.
void LoopNestEmitter::openRow(Value row) {
  SmallVector<unsigned> loops;
  for (unsigned loop = 0; loop < plan.loops.parallelCount; ++loop)
    if (!plan.loops.isVector(loop)) loops.push_back(loop);
  Value rest = row;
  for (unsigned loop : llvm::reverse(loops)) {
    bool isOutermost = loop == loops.front();
    state.indices[loop] = isOutermost ? rest : code.urem(rest, plan.loops.sizes[loop]);
    if (!isOutermost) rest = code.udiv(rest, plan.loops.sizes[loop]);
    state.openLoops |= uint64_t(1) << loop;
  }
}

/// Runs `body` for each tile in [from, to) of the vector loop: full ones in a loop, then the rest of the row.
void LoopNestEmitter::emitTiles(Value from, Value to, TileBody body) {
  int64_t size = plan.loops.sizes[plan.loops.vector], width = tile.width(), whole = size / width;
  state.openLoops |= plan.loops.vectorMask();
  if (whole > 0) {
    state.chunks = chunksFor(width);
    Value end = size % width ? code.smin(to, code.index(whole)) : to;
    code.loop(from, end, 1, {}, false, [&](Value index, ValueRange) -> SmallVector<Value> {
      state.indices[plan.loops.vector] = code.mul(index, width);
      body();
      return {};
    });
  }
  if (size % width) {
    state.chunks = chunksFor(size % width);
    code.when(code.icmp(LLVM::ICmpPredicate::sgt, to, code.index(whole)), [&] {
      state.indices[plan.loops.vector] = code.index(whole * width);
      body();
    });
  }
  state.openLoops &= ~plan.loops.vectorMask();
}

/// What is done at a point of P, or a tile of points.
void LoopNestEmitter::emitPoint() {
  if (!plan.loops.isVectorParallel()) state.chunks = {{0, 1}};
  if (plan.sweeps == 0) {
    state.frames.emplace_back();
    for (Value item : knownItems(0, nullptr, false)) state.frames.back()[item] = {emitItem(item, 0)};
    SmallVector<Value> vectors = knownItems(0, nullptr, true);
    for (unsigned chunk = 0; chunk < state.chunks.size(); ++chunk) {
      for (Value item : vectors) state.frames.back()[item].push_back(emitItem(item, chunk));
      for (unsigned result = 0; result < plan.writes.size(); ++result) emitResult(result, chunk);
    }
    state.frames.pop_back();
    return;
  }
  SmallVector<TileChunk> ofPoint = state.chunks;
  state.forEachRow([&](unsigned) { state.frames.emplace_back(), emitKnown(0, nullptr); });
  for (unsigned number = 1; number <= plan.sweeps; ++number) {
    emitSweep(number);
    state.chunks = ofPoint;
    state.forEachRow([&](unsigned) { emitKnown(number, nullptr); });
  }
  state.forEachRow([&](unsigned) {
    for (unsigned result = 0; result < plan.writes.size(); ++result)
      for (unsigned chunk = 0; chunk < state.chunks.size() && !plan.isElementResult(result); ++chunk)
        emitResult(result, chunk);
    state.frames.pop_back();
  });
}

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

SmallVector<Value> LoopNestEmitter::knownItems(unsigned sweepsDone, const ItemSet *needed, bool isVector) const {
  SmallVector<Value> result;
  for (Value item : plan.items) {
    bool isKnown = (plan.varies.lookup(item) & ~state.openLoops) == 0 && plan.stages.lookup(item) <= sweepsDone;
    if (!isKnown || plan.variesAlongVector(item) != isVector) continue;
    if ((needed && !needed->contains(item)) || state.isEmitted(item)) continue;
    if (isa_and_nonnull<ReduceOp, ScatterAddOp>(item.getDefiningOp())) continue;
    result.push_back(item);
  }
  return result;
}

void LoopNestEmitter::emitKnown(unsigned sweepsDone, const ItemSet *needed) {
  for (Value item : knownItems(sweepsDone, needed, false)) state.frames.back()[item] = {emitItem(item, 0)};
  if (plan.loops.vector < 0 || !(state.openLoops & plan.loops.vectorMask())) return;
  SmallVector<Value> vectors = knownItems(sweepsDone, needed, true);
  for (unsigned chunk = 0; chunk < state.chunks.size(); ++chunk)
    for (Value item : vectors) state.frames.back()[item].push_back(emitItem(item, chunk));
}

void LoopNestEmitter::fail(Operation *op) {
  if (!failed)
    op->emitError("has no code on the CPU for element type ") << tensorType(op->getResult(0)).getElementType();
  failed = true;
}

Value LoopNestEmitter::emitConstant(ConstantOp constant, Type element) {
  if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
    return code.integer(element, integer.getValue().getSExtValue());
  if (isFp8(element))
    return code.integer(code.getI8Type(),
                        cast<FloatAttr>(constant.getValue()).getValue().bitcastToAPInt().getZExtValue());
  return code.number(element, constant.getNumber());
}

Value LoopNestEmitter::emitItem(Value item, unsigned chunk) {
  if (auto it = plan.reads.find(item); it != plan.reads.end())
    return memory.emitLoad(it->second, memory.getArgument(it->second.argument), chunk, plan.variesAlongVector(item));
  Operation *op = item.getDefiningOp();
  Type element = tensorType(item).getElementType();
  if (auto constant = dyn_cast<ConstantOp>(op)) return emitConstant(constant, element);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) operands.push_back(state.lookup(operand, chunk));
  if (isa<IndexOp>(op)) return code.intCast(memory.emitExpression(plan.positions.at(op), chunk), element);
  Value result;
  if (auto random = dyn_cast<RandomOp>(op)) {
    // A kernel without tensor operands initialises a parameter and runs once. There are many of them, and the code of
    // draws takes long to compile, so that they share a function.
    bool isCalled =
        llvm::all_of(KernelOp(plan.kernel).getInputs(), [](Value v) { return tensorType(v).getRank() == 0; });
    result = lowerRandom(code, random, memory.emitExpression(plan.positions.at(op), chunk), operands, isCalled);
  } else {
    code.unify(operands);
    result = lowerElementwise(code, op, operands);
  }
  if (result) return result;
  fail(op);
  return code.number(element, 0.0);
}

void LoopNestEmitter::emitResult(unsigned result, unsigned chunk) {
  const Access &access = plan.writes[result];
  if (chunk > 0 && memory.vectorStride(access.offset) == 0) return; // all chunks have the same value
  Value value = state.lookup(plan.yield().getValues()[result], chunk);
  memory.emitStore(access, memory.getArgument(access.argument), value, chunk);
}
