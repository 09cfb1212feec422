//===- RegisterTiles.cpp - which groups run as tiles in registers ---------===//

#include "passes/tile/RegisterTiles.h"

using namespace mlir;
using namespace tessera;

/// The largest extent of E, in bytes, of accumulators and of operands that a block holds in registers.
static constexpr int64_t mostBytes = 256;
/// The largest number of contractions: each may need a tile of an operand in shared memory.
static constexpr int mostProducts = 8;
/// Rows of a fragment.
static constexpr int64_t leastLines = 16;

/// The element types that tensor cores multiply; f32 as two tf32 values.
static bool isMultiplied(Value value) {
  Type element = tensorType(value).getElementType();
  return element.isBF16() || element.isF16() || element.isF32();
}

bool tessera::fitsRegisters(const TileGroup &group) {
  if (group.axes.rows.getSize() < leastLines || group.axes.columns.getSize() < leastLines) return false;
  auto makerOf = [&](Value value) -> Operation * {
    Operation *op = value.getDefiningOp();
    return op && llvm::is_contained(group.ops, op) ? op : nullptr;
  };
  bool reduces = false, sumsRows = false;
  int products = 0;
  Type elements; // of the operands of contractions
  for (Operation *member : group.ops) {
    if (auto contract = dyn_cast<ContractOp>(member)) {
      std::optional<TiledContraction> role = tiledRole(contract, group.axes);
      Value x = contract->getOperand(role->x), y = contract->getOperand(role->y);
      if (++products > mostProducts) return false;
      // Fragments of f32 hold half as many elements along the summed axis.
      Type element = tensorType(x).getElementType();
      if (elements && element != elements) return false;
      elements = element;
      if (!isMultiplied(x) || role->extent * tensorType(x).getElementBytes() > mostBytes || makerOf(y)) return false;
      bool isMaker = role->role == TiledRole::MakesMatrix;
      // Blocks that own columns iterate over the serial axes: their accumulators have none of them, and are summed over
      // all.
      auto hasAxis = [](Value value) { return [=](StringRef axis) { return tensorType(value).hasAxis(axis); }; };
      if (isMaker && llvm::any_of(group.serialAxes, hasAxis(y))) return false;
      if (role->role == TiledRole::SumsRows && llvm::any_of(group.serialAxes, hasAxis(contract.getResult())))
        return false;
      // A contraction reads matrices that a kernel computes element by element.
      if (isMaker ? makerOf(x) != nullptr : !isa_and_nonnull<KernelOp>(makerOf(x))) return false;
      sumsRows |= role->role == TiledRole::SumsRows;
      continue;
    }
    auto kernel = cast<KernelOp>(member);
    if (reduces) return false; // a kernel after a reduction
    for (Value operand : kernel.getOperands())
      if (makerOf(operand) && !group.axes.isMatrix(tensorType(operand))) return false;
    reduces |= !kernel.getSerial().empty();
  }
  return !(reduces && sumsRows);
}
