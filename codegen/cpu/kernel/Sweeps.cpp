//===- Sweeps.cpp - the serial loops of a kernel --------------------------===//
//
// The loops carry the accumulators of a reduction. Along a serial vector loop there are `sumLanes` of them, combined by
// halving at the end. Along a parallel one there is one in each lane of the tile. So the order of a sum only depends on
// its shape.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/kernel/LoopNestEmitter.h"
#include "codegen/cpu/kernel/OpLowering.h"

using namespace mlir;
using namespace tessera;

/// Accumulators are ordered by rows.
void LoopNestEmitter::emitSweep(unsigned number) {
  SerialSweep sweep{planSweep(plan, number, [&](Value value) { return state.isEmitted(value); }), {}};
  for (ReduceOp reduce : sweep.reduces) {
    bool isVector = plan.loops.isVectorSerial() || plan.variesAlongVector(reduce.getX());
    sweep.accumulators.push_back(!isVector ? 1 : plan.loops.isVectorSerial() ? tile.chunks : state.chunks.size());
  }
  SmallVector<Value> accumulators;
  state.forEachRow([&](unsigned) {
    for (auto [reduce, count] : llvm::zip(sweep.reduces, sweep.accumulators)) {
      bool isVector = plan.loops.isVectorSerial() || plan.variesAlongVector(reduce.getX());
      Type type = CodeBuilder::withLanes(reduce.getType().getElementType(), isVector ? tile.lanes : 0);
      accumulators.append(count, neutral(code, reduce.getKind(), type));
    }
  });
  accumulators = emitSerialLoops(sweep, plan.loops.parallelCount, accumulators);
  MutableArrayRef<Value> rest = accumulators;
  state.forEachRow([&](unsigned) {
    for (auto [reduce, count] : llvm::zip(sweep.reduces, sweep.accumulators)) {
      MutableArrayRef<Value> own = rest.take_front(count);
      rest = rest.drop_front(count);
      SmallVector<Value, 4> &values = state.frames.back()[reduce.getResult()];
      if (plan.loops.isVectorSerial())
        values = {combineLanes(reduce.getKind(), own)};
      else
        values.assign(own.begin(), own.end());
    }
  });
}

SmallVector<Value> LoopNestEmitter::emitSerialLoops(const SerialSweep &sweep, unsigned loop, ValueRange accumulators) {
  if (loop == plan.loops.sizes.size()) return emitSerialBodies(sweep, accumulators);
  if (plan.loops.isVector(loop)) return emitVectorLoop(sweep, accumulators);
  return code.loop(code.index(0), code.index(plan.loops.sizes[loop]), 1, accumulators, true,
                   [&](Value index, ValueRange carried) {
                     state.openLoops |= uint64_t(1) << loop;
                     state.forEachRow([&](unsigned) {
                       state.frames.emplace_back();
                       state.indices[loop] = index;
                       emitKnown(sweep.number - 1, &sweep.needed);
                     });
                     SmallVector<Value> results = emitSerialLoops(sweep, loop + 1, carried);
                     state.openLoops &= ~(uint64_t(1) << loop);
                     state.forEachRow([&](unsigned) { state.frames.pop_back(); });
                     return results;
                   });
}

/// The innermost serial loop where it is the vector loop: full tiles, then the rest, both within the range that runs.
SmallVector<Value> LoopNestEmitter::emitVectorLoop(const SerialSweep &sweep, ValueRange accumulators) {
  int64_t size = plan.loops.sizes[plan.loops.vector], width = tile.width(), whole = size / width * width;
  SmallVector<Value> current = llvm::to_vector(accumulators);
  state.openLoops |= plan.loops.vectorMask();
  auto emitTile = [&](Value index, ValueRange carried) {
    state.forEachRow([&](unsigned) { state.indices[plan.loops.vector] = index; });
    return emitSerialBodies(sweep, carried);
  };
  if (whole > 0) {
    state.chunks = chunksFor(width);
    if (firstColumn)
      current = code.loop(firstColumn, code.smin(lastColumn, code.index(whole)), width, current, false, emitTile);
    else
      current = code.loop(code.index(0), code.index(whole), width, current, true, emitTile);
  }
  if (whole < size) {
    state.chunks = chunksFor(size - whole);
    if (firstColumn) // once, or not at all
      current = code.loop(code.index(whole), lastColumn, width, current, false, emitTile);
    else
      current = emitTile(code.index(whole), current);
  }
  state.openLoops &= ~plan.loops.vectorMask();
  return current;
}

/// What is done at a point of S for one tile of each row.
SmallVector<Value> LoopNestEmitter::emitSerialBodies(const SerialSweep &sweep, ValueRange accumulators) {
  SmallVector<Value> results;
  size_t each = accumulators.size() / std::max<size_t>(state.rows.size(), 1);
  state.forEachRow([&](unsigned row) { results.append(emitSerialBody(sweep, accumulators.slice(row * each, each))); });
  return results;
}

/// What is done at a point of S for one tile: compute, accumulate and write, chunk by chunk.
SmallVector<Value> LoopNestEmitter::emitSerialBody(const SerialSweep &sweep, ValueRange accumulators) {
  state.frames.emplace_back();
  unsigned sweepsDone = sweep.number - 1;
  SmallVector<Value> results = llvm::to_vector(accumulators);
  for (Value item : knownItems(sweepsDone, &sweep.needed, false)) state.frames.back()[item] = {emitItem(item, 0)};
  SmallVector<Value> vectors =
      plan.loops.vector < 0 ? SmallVector<Value>() : knownItems(sweepsDone, &sweep.needed, true);
  for (unsigned chunk = 0; chunk < state.chunks.size(); ++chunk) {
    for (Value item : vectors) state.frames.back()[item].push_back(emitItem(item, chunk));
    unsigned first = 0;
    for (auto [constReduce, count] : llvm::zip(sweep.reduces, sweep.accumulators)) {
      ReduceOp reduce = constReduce; // MLIR's accessors are not const
      Value &accumulator = results[first + (count == 1 ? 0 : chunk)];
      first += count;
      bool isVector = CodeBuilder::lanes(accumulator);
      if (!isVector && chunk > 0) continue; // one value for the whole tile
      Value x = code.splat(state.lookup(reduce.getX(), chunk), isVector ? tile.lanes : 0);
      Value sum = combine(code, reduce.getKind(), accumulator, x);
      Value mask = plan.loops.isVectorSerial() ? memory.chunkMask(chunk) : Value();
      accumulator = mask ? code.select(mask, sum, accumulator) : sum;
    }
    for (unsigned result = 0; sweep.writesElements && result < plan.writes.size(); ++result)
      if (plan.isElementResult(result)) emitResult(result, chunk);
  }
  state.frames.pop_back();
  return results;
}

/// Halves the accumulators until one lane is left.
Value LoopNestEmitter::combineLanes(ReduceKind kind, MutableArrayRef<Value> accumulators) {
  while (accumulators.size() > 1) {
    size_t half = accumulators.size() / 2;
    for (size_t i = 0; i < half; ++i) accumulators[i] = combine(code, kind, accumulators[i], accumulators[i + half]);
    accumulators = accumulators.take_front(half);
  }
  Value vector = accumulators.front();
  for (int32_t half = CodeBuilder::lanes(vector) / 2; half > 0; half /= 2) {
    SmallVector<int32_t> lowerLanes, upperLanes;
    for (int32_t i = 0; i < half; ++i) {
      lowerLanes.push_back(i);
      upperLanes.push_back(i + half);
    }
    Value lower = code.make<LLVM::ShuffleVectorOp>(vector, vector, lowerLanes);
    Value upper = code.make<LLVM::ShuffleVectorOp>(vector, vector, upperLanes);
    vector = combine(code, kind, lower, upper);
  }
  return code.make<LLVM::ExtractElementOp>(vector, code.integer(code.getI32Type(), 0));
}
