//===- Sweeps.cpp - the serial loops of a kernel --------------------------===//
//
// A reduction's accumulators are carried by the loops. Along a serial vector loop there are `sumLanes` of them,
// combined by halving at the end; along a parallel one, one in each lane of the tile. So a sum's order follows from its
// shape.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/kernel/LoopNestEmitter.h"
#include "codegen/cpu/kernel/OpLowering.h"

using namespace mlir;
using namespace tessera;

/// Accumulators of one row after the other.
void LoopNestEmitter::emitSweep(unsigned number) {
  Sweep sweep{planSweep(plan, number, [&](Value value) { return isEmitted(value); }), {}};
  for (ReduceOp reduce : sweep.reduces) {
    bool each = plan.isVectorSerial() || isVector(reduce.getX());
    sweep.slots.push_back(!each ? 1 : plan.isVectorSerial() ? tileChunks : chunks.size());
  }
  SmallVector<Value> accumulators;
  forEachRow([&](unsigned) {
    for (auto [reduce, slots] : llvm::zip(sweep.reduces, sweep.slots)) {
      bool vector = plan.isVectorSerial() || isVector(reduce.getX());
      Type type = CodeBuilder::withLanes(reduce.getType().getElementType(), vector ? lanes : 0);
      accumulators.append(slots, neutral(code, reduce.getKind(), type));
    }
  });
  accumulators = emitSerialLoops(sweep, plan.parallelLoops, accumulators);
  MutableArrayRef<Value> rest = accumulators;
  forEachRow([&](unsigned) {
    for (auto [reduce, slots] : llvm::zip(sweep.reduces, sweep.slots)) {
      MutableArrayRef<Value> own = rest.take_front(slots);
      rest = rest.drop_front(slots);
      SmallVector<Value, 4> &values = frames.back()[reduce.getResult()];
      if (plan.isVectorSerial())
        values = {combineLanes(reduce.getKind(), own)};
      else
        values.assign(own.begin(), own.end());
    }
  });
}

SmallVector<Value> LoopNestEmitter::emitSerialLoops(const Sweep &sweep, unsigned loop, ValueRange accumulators) {
  if (loop == plan.sizes.size()) return emitSerialBodies(sweep, accumulators);
  if (static_cast<int>(loop) == plan.vectorLoop) return emitVectorLoop(sweep, accumulators);
  return code.loop(code.index(0), code.index(plan.sizes[loop]), 1, accumulators, true,
                   [&](Value index, ValueRange carried) {
                     open |= uint64_t(1) << loop;
                     forEachRow([&](unsigned) {
                       frames.emplace_back();
                       indices[loop] = index;
                       emitKnown(sweep.number - 1, &sweep.needed);
                     });
                     SmallVector<Value> results = emitSerialLoops(sweep, loop + 1, carried);
                     open &= ~(uint64_t(1) << loop);
                     forEachRow([&](unsigned) { frames.pop_back(); });
                     return results;
                   });
}

/// The innermost serial loop, where it is the vector loop: whole tiles, then the rest; of both, what of the loop runs.
SmallVector<Value> LoopNestEmitter::emitVectorLoop(const Sweep &sweep, ValueRange accumulators) {
  int64_t size = plan.sizes[plan.vectorLoop], width = lanes * tileChunks, whole = size / width * width;
  SmallVector<Value> current = llvm::to_vector(accumulators);
  open |= plan.vectorMask();
  auto emitTile = [&](Value index, ValueRange carried) {
    forEachRow([&](unsigned) { indices[plan.vectorLoop] = index; });
    return emitSerialBodies(sweep, carried);
  };
  if (whole > 0) {
    chunks = chunksFor(width);
    if (firstColumn)
      current = code.loop(firstColumn, code.smin(lastColumn, code.index(whole)), width, current, false, emitTile);
    else
      current = code.loop(code.index(0), code.index(whole), width, current, true, emitTile);
  }
  if (whole < size) {
    chunks = chunksFor(size - whole);
    if (firstColumn) // once, or not at all
      current = code.loop(code.index(whole), lastColumn, width, current, false, emitTile);
    else
      current = emitTile(code.index(whole), current);
  }
  open &= ~plan.vectorMask();
  return current;
}

/// What is done at one point of S for one tile of each row.
SmallVector<Value> LoopNestEmitter::emitSerialBodies(const Sweep &sweep, ValueRange accumulators) {
  SmallVector<Value> results;
  size_t each = accumulators.size() / std::max<size_t>(rowsNow.size(), 1);
  forEachRow([&](unsigned row) { results.append(emitSerialBody(sweep, accumulators.slice(row * each, each))); });
  return results;
}

/// What is done at one point of S for one tile: chunk after chunk, compute, accumulate, write.
SmallVector<Value> LoopNestEmitter::emitSerialBody(const Sweep &sweep, ValueRange accumulators) {
  frames.emplace_back();
  unsigned done = sweep.number - 1;
  SmallVector<Value> results = llvm::to_vector(accumulators);
  for (Value item : knownItems(done, &sweep.needed, false)) frames.back()[item] = {emitItem(item, 0)};
  SmallVector<Value> vectors = plan.vectorLoop < 0 ? SmallVector<Value>() : knownItems(done, &sweep.needed, true);
  for (unsigned chunk = 0; chunk < chunks.size(); ++chunk) {
    for (Value item : vectors) frames.back()[item].push_back(emitItem(item, chunk));
    unsigned first = 0;
    for (auto [constReduce, slots] : llvm::zip(sweep.reduces, sweep.slots)) {
      ReduceOp reduce = constReduce; // MLIR's accessors are not const
      Value &accumulator = results[first + (slots == 1 ? 0 : chunk)];
      first += slots;
      bool vector = CodeBuilder::lanes(accumulator);
      if (!vector && chunk > 0) continue; // one value for the whole tile
      Value x = code.splat(get(reduce.getX(), chunk), vector ? lanes : 0);
      Value sum = combine(code, reduce.getKind(), accumulator, x);
      Value mask = plan.isVectorSerial() ? chunkMask(chunk) : Value();
      accumulator = mask ? code.select(mask, sum, accumulator) : sum;
    }
    for (unsigned result = 0; sweep.writesElements && result < plan.writes.size(); ++result)
      if (plan.isElementResult(result)) emitResult(result, chunk);
  }
  frames.pop_back();
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
    SmallVector<int32_t> low, high;
    for (int32_t i = 0; i < half; ++i) {
      low.push_back(i);
      high.push_back(i + half);
    }
    Value lower = code.make<LLVM::ShuffleVectorOp>(vector, vector, low);
    Value upper = code.make<LLVM::ShuffleVectorOp>(vector, vector, high);
    vector = combine(code, kind, lower, upper);
  }
  return code.make<LLVM::ExtractElementOp>(vector, code.integer(code.getI32Type(), 0));
}
