//===- LoopNestEmitter.cpp - the parallel loops of a kernel ---------------===//

#include "codegen/cpu/kernel/LoopNestEmitter.h"
#include "codegen/cpu/kernel/OpLowering.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;

LoopNestEmitter::LoopNestEmitter(const KernelPlan &plan, const CpuTarget &target, Location loc)
    : plan(plan), code(loc), lanes(target.floatLanes), indices(plan.sizes.size()) {
  code.hasVectorScale = target.hasVectorScale;
  code.hasBf16Casts = target.hasBf16Dot;
  chooseTile();
  chooseRowsAtOnce();
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Along a serial loop a tile has `sumLanes` points. Along a parallel loop it has up to four vectors: fewer where
/// the work at a point is long (it keeps the processor busy by itself) or where threads would run out of tiles.
void LoopNestEmitter::chooseTile() {
  if (plan.vectorLoop < 0) {
    lanes = 0;
    return;
  }
  int64_t size = plan.sizes[plan.vectorLoop], power = llvm::PowerOf2Ceil(size);
  lanes = std::min<int64_t>(lanes, power);
  if (plan.isVectorSerial()) {
    tileChunks = std::min(plan.sumLanes(), power) / lanes;
    return;
  }
  unsigned work = 0;
  for (Value item : plan.items) work += item.getDefiningOp() ? instructionEstimate(item.getDefiningOp()) : 1;
  tileChunks = work <= 16 ? 4 : work <= 48 ? 2 : 1;
  int64_t rows = 1;
  for (unsigned loop = 0; loop < plan.parallelLoops; ++loop)
    if (static_cast<int>(loop) != plan.vectorLoop) rows *= plan.sizes[loop];
  if (plan.runsByRows) tileChunks = std::min<int64_t>(tileChunks, std::max<int64_t>(columnStep / lanes, 1));
  constexpr int64_t enoughTiles = 8;
  while (tileChunks > 1 && rows * (size / (lanes * tileChunks)) < enoughTiles) tileChunks /= 2;
}

/// Two where the loop over a row is so short that its end counts, and where the sums of both stay in registers.
void LoopNestEmitter::chooseRowsAtOnce() {
  constexpr int64_t shortRow = 1024;
  constexpr unsigned mostSums = 12;
  if (!plan.isVectorSerial() || plan.scatter || plan.sweeps == 0 || plan.sizes[plan.vectorLoop] > shortRow) return;
  for (unsigned number = 1; number <= plan.sweeps; ++number) {
    unsigned sums = 0;
    for (Value item : plan.items)
      sums += isa_and_present<ReduceOp>(item.getDefiningOp()) && plan.stages.lookup(item) == number;
    if (2 * sums * tileChunks > mostSums) return;
  }
  rowsAtOnce = 2;
}

SmallVector<LoopNestEmitter::Chunk> LoopNestEmitter::chunksFor(int64_t count) const {
  SmallVector<Chunk> result;
  for (int64_t offset = 0; offset < count; offset += lanes)
    result.push_back({offset, static_cast<unsigned>(std::min<int64_t>(lanes, count - offset))});
  return result;
}

WorkSharing LoopNestEmitter::sharing() const {
  WorkSharing result{1, 1, 1};
  int64_t points = 1;
  for (auto [loop, size] : llvm::enumerate(plan.sizes)) {
    bool tiled = plan.isVectorParallel() && static_cast<int>(loop) == plan.vectorLoop;
    if (loop < plan.parallelLoops) result.iterations *= tiled ? llvm::divideCeil(size, lanes * tileChunks) : size;
    points *= size;
  }
  int64_t work = 1;
  for (Value item : plan.items) work += item.getDefiningOp() ? instructionEstimate(item.getDefiningOp()) : 1;
  // A thread is worth waking for some microseconds of work.
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
  loadArguments(entry->getArgument(0));
  if (type == code.rowsType()) firstColumn = entry->getArgument(3), lastColumn = entry->getArgument(4);
  frames.emplace_back();
  emitKnown(0, nullptr);
  emitBody(entry->getArgument(1), entry->getArgument(2));
  code.make<LLVM::ReturnOp>(ValueRange{});
  return function;
}

/// Addresses of operands, then of results.
void LoopNestEmitter::loadArguments(Value list) {
  unsigned count = plan.mayAliasResult.size() + plan.writes.size();
  for (unsigned i = 0; i < count; ++i)
    arguments.push_back(code.make<LLVM::LoadOp>(code.pointer(), code.at(list, code.pointer(), i)));
}

/// The loops over [begin, end) of the collapsed parallel space: rows and the tiles of a row, or points.
void LoopNestEmitter::emitBody(Value begin, Value end) {
  auto inRow = [&](Value from, Value to) {
    if (plan.scatter) return emitScatterRows(from, to);
    if (plan.isVectorParallel()) return emitTiles(from, to, [&] { emitPoint(); });
    emitPoint();
  };
  int64_t rows = 1;
  for (unsigned loop = 0; loop < plan.parallelLoops; ++loop)
    if (!plan.isVectorParallel() || static_cast<int>(loop) != plan.vectorLoop) rows *= plan.sizes[loop];
  int64_t width = lanes * tileChunks;
  int64_t tiles = plan.isVectorParallel() ? llvm::divideCeil(plan.sizes[plan.vectorLoop], width) : 1;
  auto emitRows = [&](Value first, Value last, llvm::function_ref<void(Value row)> body) {
    auto emitLoop = [&](Value from, Value to, unsigned step) {
      code.loop(from, to, step, [&](Value row) {
        rowsNow.assign(step > 1 ? step : 0, Row{indices, frames});
        uint64_t openBefore = open;
        forEachRow([&](unsigned i) {
          frames.emplace_back();
          open = openBefore;
          openRow(code.add(row, i));
          emitKnown(0, nullptr);
        });
        body(row);
        rowsNow.clear();
        open = openBefore;
        if (step == 1) frames.pop_back();
      });
    };
    Value whole = first;
    if (rowsAtOnce > 1) {
      whole = code.sub(last, code.urem(code.sub(last, first), rowsAtOnce));
      emitLoop(first, whole, rowsAtOnce);
    }
    emitLoop(whole, last, 1);
  };
  if (firstColumn) {
    Value from = plan.isVectorParallel() ? code.udiv(firstColumn, width) : Value();
    Value to = plan.isVectorParallel() ? code.udiv(code.add(lastColumn, width - 1), width) : Value();
    return emitRows(begin, end, [&](Value) { inRow(from, to); });
  }
  if (rows == 1 && plan.isVectorParallel()) return inRow(begin, end);
  Value first = code.udiv(begin, tiles), last = tiles == 1 ? end : code.udiv(code.add(end, tiles - 1), tiles);
  emitRows(first, last, [&](Value row) {
    Value start = code.mul(row, tiles);
    Value from = tiles == 1 ? code.index(0) : code.smax(code.sub(begin, start), 0);
    Value to = tiles == 1 ? code.index(1) : code.smin(code.sub(end, start), code.index(tiles));
    inRow(from, to);
  });
}

void LoopNestEmitter::forEachRow(llvm::function_ref<void(unsigned)> body) {
  if (rowsNow.empty()) return body(0);
  for (auto [i, row] : llvm::enumerate(rowsNow)) {
    std::swap(indices, row.indices), std::swap(frames, row.frames);
    body(i);
    std::swap(indices, row.indices), std::swap(frames, row.frames);
  }
}

/// Gives each parallel loop but a vector loop its index in row number `row`.
void LoopNestEmitter::openRow(Value row) {
  SmallVector<unsigned> loops;
  for (unsigned loop = 0; loop < plan.parallelLoops; ++loop)
    if (static_cast<int>(loop) != plan.vectorLoop) loops.push_back(loop);
  Value rest = row;
  for (unsigned loop : llvm::reverse(loops)) {
    bool outermost = loop == loops.front();
    indices[loop] = outermost ? rest : code.urem(rest, plan.sizes[loop]);
    if (!outermost) rest = code.udiv(rest, plan.sizes[loop]);
    open |= uint64_t(1) << loop;
  }
}

/// Runs `body` for each tile in [from, to) of the vector loop: whole ones in a loop, then the rest of the row.
void LoopNestEmitter::emitTiles(Value from, Value to, llvm::function_ref<void()> body) {
  int64_t size = plan.sizes[plan.vectorLoop], width = lanes * tileChunks, whole = size / width;
  open |= plan.vectorMask();
  if (whole > 0) {
    chunks = chunksFor(width);
    Value end = size % width ? code.smin(to, code.index(whole)) : to;
    code.loop(from, end, 1, {}, false, [&](Value tile, ValueRange) -> SmallVector<Value> {
      indices[plan.vectorLoop] = code.mul(tile, width);
      body();
      return {};
    });
  }
  if (size % width) {
    chunks = chunksFor(size % width);
    code.when(code.icmp(LLVM::ICmpPredicate::sgt, to, code.index(whole)), [&] {
      indices[plan.vectorLoop] = code.index(whole * width);
      body();
    });
  }
  open &= ~plan.vectorMask();
}

/// All that is done at a point, or a tile of points, of P.
void LoopNestEmitter::emitPoint() {
  if (!plan.isVectorParallel()) chunks = {{0, 1}};
  if (plan.sweeps == 0) {
    frames.emplace_back();
    for (Value item : knownItems(0, nullptr, false)) frames.back()[item] = {emitItem(item, 0)};
    SmallVector<Value> vectors = knownItems(0, nullptr, true);
    for (unsigned chunk = 0; chunk < chunks.size(); ++chunk) {
      for (Value item : vectors) frames.back()[item].push_back(emitItem(item, chunk));
      for (unsigned result = 0; result < plan.writes.size(); ++result) emitResult(result, chunk);
    }
    frames.pop_back();
    return;
  }
  SmallVector<Chunk> ofPoint = chunks;
  forEachRow([&](unsigned) { frames.emplace_back(), emitKnown(0, nullptr); });
  for (unsigned number = 1; number <= plan.sweeps; ++number) {
    emitSweep(number);
    chunks = ofPoint;
    forEachRow([&](unsigned) { emitKnown(number, nullptr); });
  }
  forEachRow([&](unsigned) {
    for (unsigned result = 0; result < plan.writes.size(); ++result)
      for (unsigned chunk = 0; chunk < chunks.size() && !plan.isElementResult(result); ++chunk)
        emitResult(result, chunk);
    frames.pop_back();
  });
}

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

bool LoopNestEmitter::isEmitted(Value item) const {
  return llvm::any_of(frames, [&](const Frame &frame) { return frame.contains(item); });
}

Value LoopNestEmitter::get(Value item, unsigned chunk) const {
  for (const Frame &frame : llvm::reverse(frames))
    if (auto it = frame.find(item); it != frame.end())
      return it->second.size() == 1 ? it->second.front() : it->second[chunk];
  llvm_unreachable("operands are emitted before their users");
}

SmallVector<Value> LoopNestEmitter::knownItems(unsigned done, const ItemSet *needed, bool vector) const {
  SmallVector<Value> result;
  for (Value item : plan.items) {
    bool known = (plan.varies.lookup(item) & ~open) == 0 && plan.stages.lookup(item) <= done;
    if (!known || isVector(item) != vector || (needed && !needed->contains(item)) || isEmitted(item)) continue;
    if (isa_and_nonnull<ReduceOp, ScatterAddOp>(item.getDefiningOp())) continue;
    result.push_back(item);
  }
  return result;
}

void LoopNestEmitter::emitKnown(unsigned done, const ItemSet *needed) {
  for (Value item : knownItems(done, needed, false)) frames.back()[item] = {emitItem(item, 0)};
  if (plan.vectorLoop < 0 || !(open & plan.vectorMask())) return;
  SmallVector<Value> vectors = knownItems(done, needed, true);
  for (unsigned chunk = 0; chunk < chunks.size(); ++chunk)
    for (Value item : vectors) frames.back()[item].push_back(emitItem(item, chunk));
}

void LoopNestEmitter::fail(Operation *op) {
  if (!failed)
    op->emitError("has no code on the CPU for element type ") << tensorType(op->getResult(0)).getElementType();
  failed = true;
}

Value LoopNestEmitter::emitItem(Value item, unsigned chunk) {
  if (auto it = plan.reads.find(item); it != plan.reads.end()) return emitLoad(it->second, chunk, isVector(item));
  Operation *op = item.getDefiningOp();
  Type element = tensorType(item).getElementType();
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
      return code.integer(element, integer.getValue().getSExtValue());
    if (isFp8(element))
      return code.integer(code.getI8Type(),
                          cast<FloatAttr>(constant.getValue()).getValue().bitcastToAPInt().getZExtValue());
    return code.number(element, constant.getNumber());
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) operands.push_back(get(operand, chunk));
  if (isa<IndexOp>(op)) return code.intCast(emitExpr(plan.positions.at(op), chunk), element);
  Value result;
  if (auto random = dyn_cast<RandomOp>(op)) {
    // What only draws makes parameters, once: each is a kernel of its own, and code for its draws would take long to compile.
    bool calls = llvm::all_of(KernelOp(plan.kernel).getInputs(), [](Value v) { return tensorType(v).getRank() == 0; });
    result = lowerRandom(code, random, emitExpr(plan.positions.at(op), chunk), operands, calls);
  } else {
    code.unify(operands);
    result = lowerElementwise(code, op, operands);
  }
  if (result) return result;
  fail(op);
  return code.number(element, 0.0);
}
