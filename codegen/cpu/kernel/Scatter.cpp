//===- Scatter.cpp - kernels that add at positions ------------------------===//
//
// docs/ir.md, Kernels, rule 4. A row of the parallel loops owns its part of the result at all positions. It first fills
// that part, with zeros or with `init`, then runs the serial loops in order and adds. The tiles of a row are innermost
// in both, so that memory is walked in order and a position is looked up once for all of them.
//
// An update out of range adds -0 to element 0: that changes no number, not even -0.
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

/// Fills the row's part of the result. Where `init` has the result's storage it is there already.
void LoopNestEmitter::emitScatterInit(Value from, Value to) {
  ScatterAddOp scatter = plan.scatter;
  NamedTensorType type = scatter.getType();
  Access write = plan.writes.front(), read = write;
  auto init = dyn_cast_if_present<BlockArgument>(scatter.getInit());
  if (init) read.argument = init.getArgNumber();
  auto tile = [&](Value extra) {
    for (unsigned chunk = 0; chunk < chunks.size(); ++chunk) {
      Value value = code.number(write.element, 0.0);
      if (init) {
        Value base = arguments[read.argument];
        arguments[read.argument] = code.at(base, write.element, extra);
        value = emitLoad(read, chunk, vectorStride(read.offset) != 0);
        arguments[read.argument] = base;
      }
      emitStore(write, value, chunk, extra);
    }
  };
  SmallVector<StringRef> axes = names(scatter.getAxes());
  SmallVector<std::pair<int64_t, int64_t>> loops; // size and stride
  for (auto [axis, stride] : llvm::zip(type.getAxes(), type.getStrides()))
    if (llvm::is_contained(axes, axis.getName())) loops.push_back({axis.getSize(), stride});
  std::function<void(size_t, Value)> fill = [&](size_t depth, Value extra) {
    if (depth == loops.size()) {
      if (plan.isVectorParallel()) return emitTiles(from, to, [&] { tile(extra); });
      chunks = {{0, 1}};
      return tile(extra);
    }
    code.loop(code.index(0), code.index(loops[depth].first), 1, {}, true,
              [&](Value index, ValueRange) -> SmallVector<Value> {
                fill(depth + 1, code.add(extra, code.mul(index, loops[depth].second)));
                return {};
              });
  };
  auto all = [&] { fill(0, code.index(0)); };
  if (!init) return all();
  code.when(code.icmp(Pred::ne, arguments[init.getArgNumber()], arguments[write.argument]), all);
}

/// Runs the serial loops in order and adds the updates of the row's tiles.
void LoopNestEmitter::emitScatterAdds(Value from, Value to) {
  std::function<void(unsigned)> nest = [&](unsigned loop) {
    if (loop == plan.sizes.size()) {
      auto add = [&] {
        frames.emplace_back();
        emitKnown(0, nullptr);
        emitScatterAdd();
        frames.pop_back();
      };
      if (plan.isVectorParallel()) return emitTiles(from, to, add);
      chunks = {{0, 1}};
      return add();
    }
    code.loop(code.index(0), code.index(plan.sizes[loop]), 1, {}, true,
              [&](Value index, ValueRange) -> SmallVector<Value> {
                frames.emplace_back();
                indices[loop] = index;
                open |= uint64_t(1) << loop;
                emitKnown(0, nullptr);
                nest(loop + 1);
                open &= ~(uint64_t(1) << loop);
                frames.pop_back();
                return {};
              });
  };
  nest(plan.parallelLoops);
}

/// Adds one tile of updates.
void LoopNestEmitter::emitScatterAdd() {
  ScatterAddOp scatter = plan.scatter;
  NamedTensorType type = scatter.getType();
  Access write = plan.writes.front();
  bool isFloat = isa<FloatType>(write.element);
  for (unsigned chunk = 0; chunk < chunks.size(); ++chunk) {
    Value offset, inRange; // of the position, in elements
    for (auto [axis, index] : llvm::zip(names(scatter.getAxes()), scatter.getIndices())) {
      Value position = get(index, chunk);
      Value inside = code.icmp(Pred::ult, position, code.integer(position.getType(), type.getSize(axis)));
      Value part = code.mul(code.intCast(position, code.i64()), type.getStrides()[type.findAxis(axis)]);
      SmallVector<Value> pair{offset ? offset : part, part, inRange ? inRange : inside, inside};
      code.unify(pair);
      inRange = inRange ? code.bitAnd(pair[2], pair[3]) : inside;
      offset = offset ? code.add(pair[0], pair[1]) : part;
    }
    offset = code.select(inRange, offset, code.integer(offset.getType(), 0));
    Value update = get(scatter.getUpdates(), chunk);
    SmallVector<Value> sides{inRange, update, code.number(update.getType(), isFloat ? -0.0 : 0.0)};
    code.unify(sides);
    update = code.select(sides[0], sides[1], sides[2]);

    Access target = write;
    Value base = arguments[write.argument];
    if (!CodeBuilder::lanes(offset)) {
      arguments[write.argument] = code.at(base, write.element, offset);
      Value old = emitLoad(target, chunk, vectorStride(target.offset) != 0);
      SmallVector<Value> both{old, update};
      code.unify(both);
      emitStore(target, combine(code, ReduceKind::Sum, both[0], both[1]), chunk);
      arguments[write.argument] = base;
      continue;
    }
    // A position for each lane. Lanes lie in different columns of the result, so none meet.
    Value column = code.mul(code.iota(offset.getType(), 0), vectorStride(target.offset));
    Value pointers = code.at(code.at(base, write.element, scalarPart(target.offset, chunk)), write.element,
                             code.add(offset, column));
    Value mask = chunkMask(chunk);
    if (!mask) mask = code.prefixMask(lanes, lanes);
    unsigned align = write.element.getIntOrFloatBitWidth() / 8;
    update = code.splat(update, lanes);
    Value old = code.make<LLVM::masked_gather>(update.getType(), pointers, mask,
                                               ValueRange{code.number(update.getType(), 0.0)}, align);
    code.make<LLVM::masked_scatter>(combine(code, ReduceKind::Sum, old, update), pointers, mask, align);
  }
}
