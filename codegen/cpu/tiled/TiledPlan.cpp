//===- TiledPlan.cpp - how a tiled op runs and what it keeps --------------===//

#include "codegen/cpu/tiled/TiledPlan.h"
#include "passes/memory/InPlace.h"

using namespace mlir;
using namespace tessera;

/// What the block's rows of all matrices may take, so that they stay in the second level cache.
static constexpr int64_t blockBytes = 384 * 1024;
/// Rows of a block, in register tiles: more of them read packed operands less often, fewer follow a band more closely. So a
/// block has at most that part of the rows of a band.
static constexpr int64_t mostTiles = 4, bandParts = 16;
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
  placeSums();
  placeSlots();
  shareWork();
}

/// A block of rows is read a few times only. It is packed where its numbers do not lie side by side, or where so many of its
/// rows would meet in the same lines of a cache that they drive each other out. Pairs must lie along K.
static bool packsRows(const TiledContraction &part, PanelFormat format) {
  if (part.role == TiledRole::SumsColumns) return false;
  bool isMaker = part.role == TiledRole::MakesMatrix;
  const TiledStrides &rows = isMaker ? part.ofX : part.ofY;
  if (rows.element != 1 || rows.line * bytesOf(format.type) % worstStride == 0) return true;
  if (format.type == ElementType::F32) return false;
  return !isMaker || !format.pairs || rows.line % 2 != 0 || part.extent % 2 != 0;
}

/// Rows of a matrix are contiguous along its columns.
static bool packsMatrix(const TiledContraction &part, PanelFormat format) {
  if (part.role == TiledRole::MakesMatrix || format.type == ElementType::F32) return false;
  return part.role == TiledRole::SumsRows || !format.pairs;
}

static ElementType typeOf(Value value) { return *elementTypeOf(tensorType(value).getElementType()); }

void TiledPlan::planSteps(const CpuTarget &target) {
  for (Operation &inner : op.getBlock().without_terminator()) {
    TiledStep step;
    step.op = &inner;
    if (auto contract = dyn_cast<ContractOp>(inner)) {
      step.part = tiledRole(contract, axes);
      step.tile = RegisterTile::of(target, step.part->role == TiledRole::MakesMatrix ? columns : step.part->extent);
      step.format = PanelFormat::of(target, typeOf(contract.getLhs()));
      step.resultType = typeOf(contract.getResult());
      step.packsRows = packsRows(*step.part, step.format);
      step.packsMatrix = packsMatrix(*step.part, step.format);
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
  int64_t most = isBand() ? std::min(mostTiles, rows / (bandParts * tileRows)) : mostTiles;
  int64_t tiles = std::max<int64_t>(std::min(most, blockBytes / (rowBytes * tileRows)), 1);
  blockRows = std::min<int64_t>(tiles * tileRows, llvm::alignTo(rows, tileRows));
}

void TiledPlan::placePacked() {
  int64_t block = 0, matrix = 0;
  // Packing writes up to a vector behind its panel.
  auto region = [&](int64_t units) { return llvm::alignTo((units + lanes) * 4, alignment); };
  scratchBytes = region(zeros);
  for (TiledStep &step : steps) {
    if (!step.part) continue;
    const TiledContraction &part = *step.part;
    int64_t width = step.tile.columns(), tileRows = step.tile.rows;
    int64_t blockUnits = step.format.units(blockRows), columnUnits = step.format.units(columns);
    step.packed = scratchBytes;
    switch (part.role) {
    case TiledRole::MakesMatrix:
      scratchBytes += region(llvm::alignTo(columns, width) * step.format.units(part.extent));
      if (step.packsRows)
        block = std::max<int64_t>(block, llvm::alignTo(blockRows, tileRows) * step.format.units(part.extent));
      break;
    case TiledRole::SumsColumns:
      scratchBytes += region(llvm::alignTo(part.extent, width) * columnUnits);
      if (step.packsMatrix) matrix = std::max<int64_t>(matrix, llvm::alignTo(blockRows, tileRows) * columnUnits);
      break;
    case TiledRole::SumsRows:
      if (step.packsRows) block = std::max<int64_t>(block, llvm::alignTo(part.extent, width) * blockUnits);
      if (step.packsMatrix)
        matrix = std::max<int64_t>(matrix, llvm::alignTo(columns + tileRows, tileRows) * blockUnits);
      break;
    }
  }
  blockOffset = scratchBytes;
  scratchBytes += region(block);
  matrixOffset = scratchBytes;
  if (matrix > 0) scratchBytes += region(matrix);
}

SmallVector<unsigned> TiledPlan::ownSerial(const TiledStep &step) const {
  NamedTensorType type = tensorType(step.op->getResult(0));
  return llvm::filter_to_vector(serial, [&](unsigned axis) { return type.hasAxis(axes.batch[axis].getName()); });
}

/// Sums over rows are complete behind the last block of all positions, sums over columns behind the last block of K.
void TiledPlan::placeSums() {
  for (TiledStep &step : steps) {
    if (!step.part || step.part->role == TiledRole::MakesMatrix || step.resultType == ElementType::F32) continue;
    int64_t lines = blockRows;
    if (step.part->role == TiledRole::SumsRows) {
      lines = columns;
      for (unsigned axis : ownSerial(step)) lines *= axes.batch[axis].getSize();
    } else if (columns <= shortSteps * step.format.perUnit()) {
      continue;
    }
    step.sums = scratchBytes;
    scratchBytes += llvm::alignTo(lines * sumStride(step) * 4, alignment);
  }
}

/// Whether steps alone use a value.
static bool isInside(Value value) {
  return llvm::none_of(value.getUsers(), [](Operation *user) { return isa<YieldOp>(user); });
}

bool TiledPlan::diesIn(Value value, Operation *op) const {
  Operation *last = nullptr;
  for (const TiledStep &step : steps)
    if (llvm::is_contained(step.op->getOperands(), value)) last = step.op;
  return last == op;
}

bool TiledPlan::holdsResultOf(Operation *op, int64_t offset) const {
  return llvm::any_of(op->getResults(), [&](Value result) {
    auto found = slots.find(result);
    return found != slots.end() && found->second.offset == offset;
  });
}

/// The slot of an operand that dies in a kernel, where the kernel may write the result over it; -1: none.
int64_t TiledPlan::slotToTakeOver(OpResult result) const {
  auto kernel = dyn_cast<KernelOp>(result.getOwner());
  if (!kernel) return -1;
  for (OpOperand &use : kernel->getOpOperands()) {
    auto found = slots.find(use.get());
    if (found == slots.end() || !diesIn(use.get(), kernel) || holdsResultOf(kernel, found->second.offset)) continue;
    if (mayWriteOver(kernel, use.getOperandNumber(), result.getResultNumber())) return found->second.offset;
  }
  return -1;
}

void TiledPlan::placeSlots() {
  // Tiles of matrix rows reach beyond the columns: products write whole tiles, sums over rows read them.
  int64_t most = zeros;
  for (const TiledStep &step : steps)
    if (step.part) most = std::max<int64_t>(most, llvm::alignTo(step.tile.rows, lanes));
  // Whole cache lines, an odd number of them.
  constexpr int64_t line = alignment / 4;
  int64_t stride = (llvm::divideCeil(columns + most, line) | 1) * line;

  SmallVector<std::pair<int64_t, int64_t>> free; // offset and bytes
  auto bytesOf = [&](NamedTensorType type, int64_t rowStride) {
    return llvm::alignTo(blockRows * rowStride * type.getElementBytes(), alignment);
  };
  for (const TiledStep &step : steps) {
    for (OpResult result : step.op->getResults()) {
      if (!isInside(result)) continue;
      NamedTensorType type = tensorType(result);
      int64_t rowStride = axes.isMatrix(type) ? stride : type.getStrides()[axes.batch.size()];
      int64_t bytes = bytesOf(type, rowStride), offset = slotToTakeOver(result);
      if (auto *found = llvm::find_if(free, [&](auto &place) { return place.second == bytes; });
          offset < 0 && found != free.end()) {
        offset = found->first;
        free.erase(found);
      }
      if (offset < 0) offset = scratchBytes, scratchBytes += bytes;
      slots[result] = {offset, rowStride};
    }
    // What dies here is free for later steps, unless a result has taken it.
    llvm::SmallPtrSet<Value, 4> seen;
    for (Value operand : step.op->getOperands()) {
      auto found = slots.find(operand);
      if (found == slots.end() || !diesIn(operand, step.op) || !seen.insert(operand).second) continue;
      const TiledSlot &slot = found->second;
      if (!holdsResultOf(step.op, slot.offset))
        free.push_back({slot.offset, bytesOf(tensorType(operand), slot.rowStride)});
    }
  }
}

void TiledPlan::shareWork() {
  bool sumsRows = false;
  int64_t work = 0, iterations = 1;
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
  int64_t grain = std::clamp<int64_t>(leastWork / std::max<int64_t>(1, work / groups), 1, iterations);
  sharing = {iterations, grain, grain};
}
