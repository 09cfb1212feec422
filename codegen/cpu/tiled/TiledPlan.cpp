//===- TiledPlan.cpp - stages and scratch memory of a tiled op ------------===//

#include "codegen/cpu/tiled/TiledPlan.h"
#include "passes/memory/InPlace.h"

using namespace mlir;
using namespace tessera;

/// The size of the block's rows of all matrices, so that they stay in the L2 cache.
static constexpr int64_t blockBytes = 384 * 1024;
/// Rows of a block, in register tiles. Larger blocks read packed operands less often, smaller ones follow a band more
/// closely: in a band, a block has at most 1 / `bandBlocks` of the rows.
static constexpr int64_t mostTiles = 4, bandBlocks = 16;
/// With fewer iterations than this, threads share the blocks of a position.
static constexpr int64_t fewIterations = 16;
/// Scratch regions start at cache lines.
static constexpr int64_t alignment = 64;

TiledPlan::TiledPlan(TiledOp op, const MatrixAxes &axes, const CpuTarget &target)
    : op(op), axes(axes), rows(axes.rows.getSize()), columns(axes.columns.getSize()), lanes(target.floatLanes) {
  for (auto [i, axis] : llvm::enumerate(axes.batch))
    (llvm::is_contained(names(op.getSerial()), axis.getName()) ? serial : parallel).push_back(i);
  planStages(target);
  chooseBlock();
  placePacked();
  placeSums();
  placeSlots();
  shareWork();
}

/// A block of rows is read a few times only. It is packed if the elements of a row are not contiguous, or if its rows
/// have conflict misses. Pairs must be contiguous along K.
static bool packsRows(const TiledContraction &contraction, PanelFormat format) {
  if (contraction.role == TiledRole::SumsColumns) return false;
  bool computesMatrix = contraction.role == TiledRole::MakesMatrix;
  const TiledStrides &rows = computesMatrix ? contraction.ofX : contraction.ofY;
  if (rows.element != 1 || rows.line * bytesOf(format.type) % conflictStride == 0) return true;
  if (format.type == ElementType::F32) return false;
  return !computesMatrix || !format.pairs || rows.line % 2 != 0 || contraction.extent % 2 != 0;
}

/// Rows of a matrix are contiguous along its columns.
static bool packsMatrix(const TiledContraction &contraction, PanelFormat format) {
  if (contraction.role == TiledRole::MakesMatrix || format.type == ElementType::F32) return false;
  return contraction.role == TiledRole::SumsRows || !format.pairs;
}

static ElementType typeOf(Value value) { return *elementTypeOf(tensorType(value).getElementType()); }

void TiledPlan::planStages(const CpuTarget &target) {
  for (Operation &inner : op.getBlock().without_terminator()) {
    TiledStage stage;
    stage.op = &inner;
    if (auto contract = dyn_cast<ContractOp>(inner)) {
      stage.contraction = tiledRole(contract, axes);
      stage.tile = RegisterTile::of(target, stage.is(TiledRole::MakesMatrix) ? columns : stage.contraction->extent);
      stage.format = PanelFormat::of(target, typeOf(contract.getLhs()));
      stage.resultType = typeOf(contract.getResult());
      stage.packsRows = packsRows(*stage.contraction, stage.format);
      stage.packsMatrix = packsMatrix(*stage.contraction, stage.format);
      zeros = std::max<int64_t>(zeros, stage.tile.columns());
    }
    stages.push_back(stage);
  }
}

void TiledPlan::chooseBlock() {
  int64_t tileRows = 1, matrices = 0;
  for (const TiledStage &stage : stages) {
    if (stage.is(TiledRole::MakesMatrix)) tileRows = stage.tile.rows;
    for (Value result : stage.op->getResults()) matrices += axes.isMatrix(tensorType(result));
  }
  // About half of the matrices reuse the slots of others.
  int64_t rowBytes = llvm::divideCeil(matrices + 1, 2) * columns * 4;
  int64_t most = isBand() ? std::min(mostTiles, rows / (bandBlocks * tileRows)) : mostTiles;
  int64_t tiles = std::max<int64_t>(std::min(most, blockBytes / (rowBytes * tileRows)), 1);
  blockRows = std::min<int64_t>(tiles * tileRows, llvm::alignTo(rows, tileRows));
}

void TiledPlan::placePacked() {
  int64_t block = 0, matrix = 0;
  // Packing writes up to a vector beyond its panel.
  auto region = [&](int64_t units) { return llvm::alignTo((units + lanes) * 4, alignment); };
  scratch.bytes = region(zeros);
  for (TiledStage &stage : stages) {
    if (!stage.contraction) continue;
    const TiledContraction &contraction = *stage.contraction;
    int64_t width = stage.tile.columns(), tileRows = stage.tile.rows;
    int64_t blockUnits = stage.format.units(blockRows), columnUnits = stage.format.units(columns);
    stage.packed = scratch.bytes;
    switch (contraction.role) {
    case TiledRole::MakesMatrix:
      scratch.bytes += region(llvm::alignTo(columns, width) * stage.format.units(contraction.extent));
      if (stage.packsRows)
        block = std::max<int64_t>(block, llvm::alignTo(blockRows, tileRows) * stage.format.units(contraction.extent));
      break;
    case TiledRole::SumsColumns:
      scratch.bytes += region(llvm::alignTo(contraction.extent, width) * columnUnits);
      if (stage.packsMatrix) matrix = std::max<int64_t>(matrix, llvm::alignTo(blockRows, tileRows) * columnUnits);
      break;
    case TiledRole::SumsRows:
      if (stage.packsRows) block = std::max<int64_t>(block, llvm::alignTo(contraction.extent, width) * blockUnits);
      if (stage.packsMatrix)
        matrix = std::max<int64_t>(matrix, llvm::alignTo(columns + tileRows, tileRows) * blockUnits);
      break;
    }
  }
  scratch.blockOffset = scratch.bytes;
  scratch.bytes += region(block);
  scratch.matrixOffset = scratch.bytes;
  if (matrix > 0) scratch.bytes += region(matrix);
}

SmallVector<unsigned> TiledPlan::serialAxesOf(const TiledStage &stage) const {
  NamedTensorType type = tensorType(stage.op->getResult(0));
  return llvm::filter_to_vector(serial, [&](unsigned axis) { return type.hasAxis(axes.batch[axis].getName()); });
}

/// Sums over rows are complete after the last block of all positions, sums over columns after the last block of K.
void TiledPlan::placeSums() {
  for (TiledStage &stage : stages) {
    if (!stage.contraction || stage.contraction->role == TiledRole::MakesMatrix || stage.resultType == ElementType::F32)
      continue;
    int64_t lines = blockRows;
    if (stage.contraction->role == TiledRole::SumsRows) {
      lines = columns;
      for (unsigned axis : serialAxesOf(stage)) lines *= axes.batch[axis].getSize();
    } else if (columns <= shortDepth * stage.format.perUnit()) {
      continue;
    }
    stage.sums = scratch.bytes;
    scratch.bytes += llvm::alignTo(lines * sumStride(stage) * 4, alignment);
  }
}

/// Whether only stages read a value: it is no result of the tiled op.
static bool isInside(Value value) {
  return llvm::none_of(value.getUsers(), [](Operation *user) { return isa<YieldOp>(user); });
}

bool TiledPlan::isLastRead(Value value, Operation *op) const {
  Operation *last = nullptr;
  for (const TiledStage &stage : stages)
    if (llvm::is_contained(stage.op->getOperands(), value)) last = stage.op;
  return last == op;
}

bool TiledPlan::isSlotOfResult(Operation *op, int64_t offset) const {
  return llvm::any_of(op->getResults(), [&](Value result) {
    auto found = slots.find(result);
    return found != slots.end() && found->second.offset == offset;
  });
}

/// The offset of a slot whose operand is read by this kernel for the last time, and may be overwritten by the result;
/// -1 if there is none.
int64_t TiledPlan::slotToReuse(OpResult result) const {
  auto kernel = dyn_cast<KernelOp>(result.getOwner());
  if (!kernel) return -1;
  for (OpOperand &use : kernel->getOpOperands()) {
    auto found = slots.find(use.get());
    if (found == slots.end() || !isLastRead(use.get(), kernel) || isSlotOfResult(kernel, found->second.offset))
      continue;
    if (mayWriteOver(kernel, use.getOperandNumber(), result.getResultNumber())) return found->second.offset;
  }
  return -1;
}

void TiledPlan::placeSlots() {
  // Rows of a matrix are padded: micro-kernels write whole tiles, and sums over rows read them.
  int64_t most = zeros;
  for (const TiledStage &stage : stages)
    if (stage.contraction) most = std::max<int64_t>(most, llvm::alignTo(stage.tile.rows, lanes));
  // Whole cache lines, an odd number of them.
  constexpr int64_t line = alignment / 4;
  int64_t stride = (llvm::divideCeil(columns + most, line) | 1) * line;

  SmallVector<std::pair<int64_t, int64_t>> free; // offset and bytes
  auto bytesOf = [&](NamedTensorType type, int64_t rowStride) {
    return llvm::alignTo(blockRows * rowStride * type.getElementBytes(), alignment);
  };
  for (const TiledStage &stage : stages) {
    for (OpResult result : stage.op->getResults()) {
      if (!isInside(result)) continue;
      NamedTensorType type = tensorType(result);
      int64_t rowStride = axes.isMatrix(type) ? stride : type.getStrides()[axes.batch.size()];
      int64_t bytes = bytesOf(type, rowStride), offset = slotToReuse(result);
      if (auto *found = llvm::find_if(free, [&](auto &place) { return place.second == bytes; });
          offset < 0 && found != free.end()) {
        offset = found->first;
        free.erase(found);
      }
      if (offset < 0) offset = scratch.bytes, scratch.bytes += bytes;
      slots[result] = {offset, rowStride};
    }
    // The slots of operands that are read for the last time are free for later stages, unless a result reuses them.
    llvm::SmallPtrSet<Value, 4> seen;
    for (Value operand : stage.op->getOperands()) {
      auto found = slots.find(operand);
      if (found == slots.end() || !isLastRead(operand, stage.op) || !seen.insert(operand).second) continue;
      const TiledSlot &slot = found->second;
      if (!isSlotOfResult(stage.op, slot.offset))
        free.push_back({slot.offset, bytesOf(tensorType(operand), slot.rowStride)});
    }
  }
}

void TiledPlan::shareWork() {
  bool sumsRows = false;
  int64_t work = 0, iterations = 1;
  for (const TiledStage &stage : stages) {
    if (!stage.contraction) continue;
    sumsRows |= stage.contraction->role == TiledRole::SumsRows;
    work += rows * columns * stage.contraction->extent;
  }
  for (unsigned axis : parallel) iterations *= axes.batch[axis].getSize();
  for (unsigned axis : serial) work *= axes.batch[axis].getSize();
  if (!sumsRows && iterations < fewIterations)
    groups = std::min<int64_t>(blocks(), llvm::divideCeil(fewIterations, iterations));
  iterations *= groups;
  int64_t grain = std::clamp<int64_t>(leastWork / std::max<int64_t>(1, work / groups), 1, iterations);
  sharing = {iterations, grain, grain};
}
