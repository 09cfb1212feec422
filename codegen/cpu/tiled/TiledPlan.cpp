//===- TiledPlan.cpp - how a tiled op runs and what it keeps --------------===//

#include "codegen/cpu/tiled/TiledPlan.h"
#include "codegen/cpu/LoopNestEmitter.h"
#include "passes/memory/InPlace.h"

using namespace mlir;
using namespace tessera;

/// What the block's rows of all matrices may take, so that they stay in the second level cache.
static constexpr int64_t blockBytes = 384 * 1024;
/// Rows of a block, in register tiles: enough that packed operands are read often, few enough that a band is followed closely.
static constexpr int64_t mostTiles = 4;
/// Work that a thread is worth waking for, in multiply-adds: about a microsecond.
static constexpr int64_t leastWork = 128 * 1024;
/// Iterations below which threads share the blocks of a position.
static constexpr int64_t fewIterations = 16;
/// Scratch regions start at cache lines.
static constexpr int64_t alignment = 64;

TiledPlan::TiledPlan(TiledOp op, const MatrixAxes &axes, const CpuTarget &target)
    : op(op), axes(axes), rows(axes.rows.getSize()), columns(axes.columns.getSize()), lanes(target.floatLanes) {
  for (auto [i, axis] : llvm::enumerate(axes.batch))
    (llvm::is_contained(names(op.getSerial()), axis.getName()) ? serial : parallel).push_back(i);
  planSteps(target);
  chooseBlock();
  placePacked();
  placeSlots();
  shareWork();
}

void TiledPlan::planSteps(const CpuTarget &target) {
  for (Operation &inner : op.getBlock().without_terminator()) {
    TiledStep step{&inner, std::nullopt, {}, 0};
    if (auto contract = dyn_cast<ContractOp>(inner)) {
      step.part = tiledRole(contract, axes);
      step.tile = RegisterTile::of(target, step.part->role == TiledRole::MakesMatrix ? columns : step.part->extent);
      zeros = std::max<int64_t>(zeros, step.tile.columns());
    }
    steps.push_back(step);
  }
}

void TiledPlan::chooseBlock() {
  int64_t tileRows = 1, matrices = 0;
  for (const TiledStep &step : steps) {
    if (step.part && step.part->role == TiledRole::MakesMatrix) tileRows = step.tile.rows;
    for (Value result : step.op->getResults()) matrices += axes.isMatrix(tensorType(result));
  }
  // About half of the matrices are written over others.
  int64_t rowBytes = llvm::divideCeil(matrices + 1, 2) * columns * 4;
  int64_t tiles = std::clamp<int64_t>(blockBytes / (rowBytes * tileRows), 1, mostTiles);
  blockRows = std::min<int64_t>(tiles * tileRows, llvm::alignTo(rows, tileRows));
}

void TiledPlan::placePacked() {
  int64_t block = 0;
  // Packing writes up to a vector behind its panel.
  auto region = [&](int64_t elements) { return llvm::alignTo((elements + lanes) * 4, alignment); };
  scratchBytes = region(zeros);
  for (TiledStep &step : steps) {
    if (!step.part) continue;
    const TiledContraction &part = *step.part;
    int64_t width = step.tile.columns();
    step.packed = scratchBytes;
    switch (part.role) {
    case TiledRole::MakesMatrix:
      scratchBytes += region(llvm::alignTo(columns, width) * part.extent);
      block = std::max<int64_t>(block, llvm::alignTo(blockRows, step.tile.rows) * part.extent);
      break;
    case TiledRole::SumsColumns:
      scratchBytes += region(llvm::alignTo(part.extent, width) * columns);
      break;
    case TiledRole::SumsRows:
      block = std::max<int64_t>(block, llvm::alignTo(part.extent, width) * blockRows);
      break;
    }
  }
  blockOffset = scratchBytes;
  scratchBytes += region(block);
}

void TiledPlan::placeSlots() {
  // Tiles of matrix rows reach beyond the columns: products write whole tiles, sums over rows read them.
  int64_t most = zeros;
  for (const TiledStep &step : steps)
    if (step.part) most = std::max<int64_t>(most, llvm::alignTo(step.tile.rows, lanes));
  int64_t stride = llvm::alignTo(columns + most, 16) + (columns % 512 == 0 ? 16 : 0);

  auto isInside = [&](Value value) {
    return llvm::none_of(value.getUsers(), [](Operation *user) { return isa<YieldOp>(user); });
  };
  auto lastUse = [&](Value value) {
    size_t last = 0;
    for (auto [i, step] : llvm::enumerate(steps))
      if (llvm::is_contained(step.op->getOperands(), value)) last = i;
    return last;
  };
  struct Free {
    int64_t offset, bytes;
  };
  SmallVector<Free> free;
  auto bytesOf = [&](NamedTensorType type, int64_t rowStride) {
    return blockRows * rowStride * std::max<int64_t>(1, type.getNumBytes() / type.getNumElements());
  };
  for (auto [i, step] : llvm::enumerate(steps)) {
    for (OpResult result : step.op->getResults()) {
      if (!isInside(result)) continue;
      NamedTensorType type = tensorType(result);
      bool isMatrix = axes.isMatrix(type);
      int64_t rowStride = isMatrix ? stride : type.getStrides()[axes.batch.size()];
      TiledSlot slot{-1, rowStride};
      int64_t bytes = bytesOf(type, rowStride);
      // Over an operand that dies here, if the kernel allows it.
      if (auto kernel = dyn_cast<KernelOp>(step.op))
        for (OpOperand &use : kernel->getOpOperands()) {
          auto found = slots.find(use.get());
          bool isTaken = llvm::any_of(kernel.getResults(), [&](Value other) {
            auto own = slots.find(other);
            return own != slots.end() && found != slots.end() && own->second.offset == found->second.offset;
          });
          if (slot.offset >= 0 || found == slots.end() || isTaken || lastUse(use.get()) != i) continue;
          if (mayWriteOver(kernel, use.getOperandNumber(), result.getResultNumber()))
            slot.offset = found->second.offset;
        }
      for (Free &place : free)
        if (slot.offset < 0 && place.bytes == bytes) slot.offset = place.offset, place.bytes = -1;
      if (slot.offset < 0) slot.offset = scratchBytes, scratchBytes += llvm::alignTo(bytes, alignment);
      slots[result] = slot;
    }
    // What dies here is free for later steps, unless a result has taken it.
    llvm::SmallPtrSet<Value, 4> seen;
    for (Value operand : step.op->getOperands()) {
      auto found = slots.find(operand);
      if (found == slots.end() || lastUse(operand) != i || !seen.insert(operand).second) continue;
      bool isTaken = llvm::any_of(step.op->getResults(), [&](Value other) {
        auto own = slots.find(other);
        return own != slots.end() && own->second.offset == found->second.offset;
      });
      if (!isTaken) free.push_back({found->second.offset, bytesOf(tensorType(operand), found->second.rowStride)});
    }
  }
  scratchBytes = llvm::alignTo(scratchBytes, alignment);
}

void TiledPlan::shareWork() {
  bool sumsRows = false;
  int64_t work = 0;
  for (const TiledStep &step : steps) {
    if (!step.part) continue;
    sumsRows |= step.part->role == TiledRole::SumsRows;
    work += rows * columns * step.part->extent;
  }
  for (unsigned axis : parallel) iterations *= axes.batch[axis].getSize();
  for (unsigned axis : serial) work *= axes.batch[axis].getSize();
  if (!sumsRows && iterations < fewIterations)
    groups = std::min<int64_t>(blocks(), llvm::divideCeil(fewIterations, iterations));
  iterations *= groups;
  grain = std::clamp<int64_t>(leastWork / std::max<int64_t>(1, work / groups), 1, iterations);
}
