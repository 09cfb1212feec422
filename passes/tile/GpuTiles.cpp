//===- GpuTiles.cpp - which groups run as tiles on a GPU --------------------===//

#include "passes/tile/GpuTiles.h"

using namespace mlir;
using namespace tessera;

/// Bytes along E that sums and own operands may have: they are held in registers.
static constexpr int64_t mostBytes = 256;
/// Products of a group: each may bring a tile of an operand into shared memory.
static constexpr int mostProducts = 8;
/// Lines of a fragment.
static constexpr int64_t leastLines = 16;

/// What matrix units multiply; f32 as two numbers of tf32.
static bool isMultiplied(Value value) {
  Type element = tensorType(value).getElementType();
  return element.isBF16() || element.isF16() || element.isF32();
}

bool tessera::runsOnGpu(const TileGroup &group) {
  if (group.axes.rows.getSize() < leastLines || group.axes.columns.getSize() < leastLines) return false;
  auto makerOf = [&](Value value) -> Operation * {
    Operation *op = value.getDefiningOp();
    return op && llvm::is_contained(group.ops, op) ? op : nullptr;
  };
  bool reduces = false, sumsRows = false;
  int products = 0;
  Type elements; // that products multiply
  for (Operation *member : group.ops) {
    if (auto contract = dyn_cast<ContractOp>(member)) {
      std::optional<TiledContraction> role = tiledRole(contract, group.axes);
      Value x = contract->getOperand(role->x), y = contract->getOperand(role->y);
      if (++products > mostProducts) return false;
      // Fragments of f32 hold half as much along what is summed.
      Type element = tensorType(x).getElementType();
      if (elements && element != elements) return false;
      elements = element;
      if (!isMultiplied(x) || role->extent * tensorType(x).getElementBytes() > mostBytes || makerOf(y)) return false;
      bool isMaker = role->role == TiledRole::MakesMatrix;
      // Blocks that own columns go over the serial axes: what they own has none of them, and what they sum is summed over all.
      auto hasAxis = [](Value value) { return [=](StringRef axis) { return tensorType(value).hasAxis(axis); }; };
      if (isMaker && llvm::any_of(group.serialAxes, hasAxis(y))) return false;
      if (role->role == TiledRole::SumsRows && llvm::any_of(group.serialAxes, hasAxis(contract.getResult())))
        return false;
      // What a sum reads leaves a kernel element by element.
      if (isMaker ? makerOf(x) != nullptr : !isa_and_nonnull<KernelOp>(makerOf(x))) return false;
      sumsRows |= role->role == TiledRole::SumsRows;
      continue;
    }
    auto kernel = cast<KernelOp>(member);
    if (reduces) return false; // kernels behind reductions
    for (Value operand : kernel.getOperands())
      if (makerOf(operand) && !group.axes.isMatrix(tensorType(operand))) return false;
    reduces |= !kernel.getSerial().empty();
  }
  return !(reduces && sumsRows);
}
