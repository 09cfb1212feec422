//===- Scatter.cpp - kernels that add at positions ------------------------===//
//
// docs/ir.md, Kernels, rule 4. A row of the parallel loops owns its part of the result at all positions. It first fills
// that part, with zeros or with `init`, then runs the serial loops in order and adds. The tiles of a row are innermost
// in both, so that memory is accessed in order and each position is read once for all tiles.
//
// An update out of range adds -0 to element 0. That changes no value, not even -0.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/kernel/LoopNestEmitter.h"
#include "codegen/cpu/kernel/OpLowering.h"

using namespace mlir;
using namespace tessera;
using Pred = LLVM::ICmpPredicate;

void LoopNestEmitter::emitScatterRows(Value from, Value to) {
  emitScatterInit(from, to);
  emitScatterAdds(from, to);
}

/// Fills the row's part of the result, unless `init` shares the result's storage.
void LoopNestEmitter::emitScatterInit(Value from, Value to) {
  ScatterAddOp scatter = plan.scatter;
  NamedTensorType type = scatter.getType();
  Access write = plan.writes.front(), read = write;
  auto init = dyn_cast_if_present<BlockArgument>(scatter.getInit());
  if (init) read.argument = init.getArgNumber();
  auto fillTile = [&](Value extra) {
    for (unsigned chunk = 0; chunk < state.chunks.size(); ++chunk) {
      Value value = code.number(write.element, 0.0);
      if (init) {
        Value base = code.at(memory.getArgument(read.argument), write.element, extra);
        value = memory.emitLoad(read, base, chunk, memory.vectorStride(read.offset) != 0);
      }
      memory.emitStore(write, memory.getArgument(write.argument), value, chunk, extra);
    }
  };
  SmallVector<StringRef> axes = names(scatter.getAxes());
  SmallVector<std::pair<int64_t, int64_t>> loops; // size and stride
  for (auto [axis, stride] : llvm::zip(type.getAxes(), type.getStrides()))
    if (llvm::is_contained(axes, axis.getName())) loops.push_back({axis.getSize(), stride});
  std::function<void(size_t, Value)> fill = [&](size_t depth, Value extra) {
    if (depth == loops.size()) {
      if (plan.loops.isVectorParallel()) return emitTiles(from, to, [&] { fillTile(extra); });
      state.chunks = {{0, 1}};
      return fillTile(extra);
    }
    code.loop(code.index(0), code.index(loops[depth].first), 1, {}, true,
              [&](Value index, ValueRange) -> SmallVector<Value> {
                fill(depth + 1, code.add(extra, code.mul(index, loops[depth].second)));
                return {};
              });
  };
  auto all = [&] { fill(0, code.index(0)); };
  if (!init) return all();
  code.when(code.icmp(Pred::ne, memory.getArgument(init.getArgNumber()), memory.getArgument(write.argument)), all);
}

/// Runs the serial loops in order and adds the updates of the row's tiles.
void LoopNestEmitter::emitScatterAdds(Value from, Value to) {
  std::function<void(unsigned)> nest = [&](unsigned loop) {
    if (loop == plan.loops.sizes.size()) {
      auto add = [&] {
        state.frames.emplace_back();
        emitKnown(0, nullptr);
        emitScatterAdd();
        state.frames.pop_back();
      };
      if (plan.loops.isVectorParallel()) return emitTiles(from, to, add);
      state.chunks = {{0, 1}};
      return add();
    }
    code.loop(code.index(0), code.index(plan.loops.sizes[loop]), 1, {}, true,
              [&](Value index, ValueRange) -> SmallVector<Value> {
                state.frames.emplace_back();
                state.indices[loop] = index;
                state.openLoops |= uint64_t(1) << loop;
                emitKnown(0, nullptr);
                nest(loop + 1);
                state.openLoops &= ~(uint64_t(1) << loop);
                state.frames.pop_back();
                return {};
              });
  };
  nest(plan.loops.parallelCount);
}

/// Adds one tile of updates.
void LoopNestEmitter::emitScatterAdd() {
  ScatterAddOp scatter = plan.scatter;
  NamedTensorType type = scatter.getType();
  Access write = plan.writes.front();
  bool isFloat = isa<FloatType>(write.element);
  for (unsigned chunk = 0; chunk < state.chunks.size(); ++chunk) {
    Value offset, inRange; // of the position, in elements
    for (auto [axis, index] : llvm::zip(names(scatter.getAxes()), scatter.getIndices())) {
      Value position = state.lookup(index, chunk);
      Value inside = code.icmp(Pred::ult, position, code.integer(position.getType(), type.getSize(axis)));
      Value part = code.mul(code.intCast(position, code.i64()), type.getStrides()[type.findAxis(axis)]);
      SmallVector<Value> pair{offset ? offset : part, part, inRange ? inRange : inside, inside};
      code.unify(pair);
      inRange = inRange ? code.bitAnd(pair[2], pair[3]) : inside;
      offset = offset ? code.add(pair[0], pair[1]) : part;
    }
    offset = code.select(inRange, offset, code.integer(offset.getType(), 0));
    Value update = state.lookup(scatter.getUpdates(), chunk);
    SmallVector<Value> sides{inRange, update, code.number(update.getType(), isFloat ? -0.0 : 0.0)};
    code.unify(sides);
    update = code.select(sides[0], sides[1], sides[2]);

    Value base = memory.getArgument(write.argument);
    if (!CodeBuilder::lanes(offset)) {
      base = code.at(base, write.element, offset);
      Value old = memory.emitLoad(write, base, chunk, memory.vectorStride(write.offset) != 0);
      SmallVector<Value> both{old, update};
      code.unify(both);
      memory.emitStore(write, base, combine(code, ReduceKind::Sum, both[0], both[1]), chunk);
      continue;
    }
    // Each lane has a position. The lanes are in different columns of the result, so no two add to one element.
    Value column = code.mul(code.iota(offset.getType(), 0), memory.vectorStride(write.offset));
    Value pointers = code.at(code.at(base, write.element, memory.scalarPart(write.offset, chunk)), write.element,
                             code.add(offset, column));
    Value mask = memory.chunkMask(chunk);
    if (!mask) mask = code.prefixMask(tile.lanes, tile.lanes);
    unsigned align = write.element.getIntOrFloatBitWidth() / 8;
    update = code.splat(update, tile.lanes);
    Value old = code.make<LLVM::masked_gather>(update.getType(), pointers, mask,
                                               ValueRange{code.number(update.getType(), 0.0)}, align);
    code.make<LLVM::masked_scatter>(combine(code, ReduceKind::Sum, old, update), pointers, mask, align);
  }
}
