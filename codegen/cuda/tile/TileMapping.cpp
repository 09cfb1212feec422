//===- TileMapping.cpp - sizes of the tiles of a tiled op's launches --------===//

#include "codegen/cuda/tile/TileMapping.h"
#include "passes/kernel/ThreadMapping.h"
#include "passes/tile/TiledLaunches.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

/// 32-bit registers of a thread that fragments may take. The others hold addresses and the values of one element.
static constexpr int64_t fragmentRegisters = 200;
/// Of these, the registers in which f32 operands are split into two tf32 values before a matrix product.
static constexpr int64_t splitRegisters = 52;
/// Registers of a thread besides fragments, so that three blocks fit on a multiprocessor: a thread then has 168.
static constexpr int64_t otherRegisters = 60, registersOfThree = 168;

namespace {
/// What a launch holds in registers and in shared memory.
struct TileDemand {
  int64_t lasting = 0;   ///< registers of own operands and of sums
  int64_t perLine = 0;   ///< registers of matrices for each other line, times 4
  int64_t lineBytes = 0; ///< of other lines in shared memory
  int64_t elementBytes = 2;
  bool draws = false; ///< random numbers: several are computed at a time, which takes registers

  int64_t registers(int64_t otherLines) const { return lasting + perLine * otherLines / 4; }
};
} // namespace

/// Whether a value of a tiled op has other lines, but is the same for all elements of a line.
static bool isOtherLineValue(Value value, const MatrixAxes &axes, bool ownsRows) {
  NamedTensorType type = tensorType(value);
  auto has = [&](AxisAttr axis) { return llvm::is_contained(type.getAxes(), axis); };
  return has(ownsRows ? axes.columns : axes.rows) && !has(ownsRows ? axes.rows : axes.columns);
}

static TileDemand demandOf(TiledOp op, const MatrixAxes &axes, bool ownsRows) {
  TileDemand demand;
  llvm::SmallPtrSet<Value, 4> own, weights, shared;
  for (Operation &inner : op.getBlock().without_terminator()) {
    auto contract = dyn_cast<ContractOp>(inner);
    if (!contract) {
      inner.walk([&](RandomOp) { demand.draws = true; });
      for (Value operand : inner.getOperands())
        if (isOtherLineValue(operand, axes, ownsRows))
          demand.lineBytes += std::max<int64_t>(tensorType(operand).getElementBytes(), 1);
      continue;
    }
    TiledContraction role = *tiledRole(contract, axes);
    int64_t bytes = contract.getLhs().getType().getElementBytes(), extent = paddedExtent(role.extent);
    demand.elementBytes = std::max(demand.elementBytes, bytes);
    auto share = [&](unsigned operand) {
      if (shared.insert(contract->getOperand(operand)).second)
        demand.lineBytes += sharedLineStride(role.extent) * bytes;
    };
    if (role.role == TiledRole::MakesMatrix) {
      if (own.insert(contract->getOperand(ownsRows ? role.x : role.y)).second) demand.lasting += extent * bytes / 8;
      share(ownsRows ? role.y : role.x);
      demand.perLine += 2;
    } else if ((role.role == TiledRole::SumsColumns) == ownsRows) {
      share(role.y);
      demand.lasting += extent / 2;
      if (weights.insert(contract->getOperand(role.x)).second) demand.perLine += bytes / 2;
    }
  }
  if (demand.elementBytes == 4) demand.lasting += splitRegisters;
  return demand;
}

SmallVector<TileMapping> cuda::tileMappings(TiledOp op, const MatrixAxes &axes) {
  SmallVector<TileMapping> mappings;
  for (auto [ownsRows] : launchesOf(op, axes)) {
    TileDemand demand = demandOf(op, axes, ownsRows);
    TileMapping mapping;
    mapping.ownsRows = ownsRows;
    int64_t least = demand.elementBytes == 4 ? 8 : 16; // the depth of a fragment
    if (demand.draws) mapping.otherLines /= 2;
    while (mapping.otherLines > least && (demand.registers(mapping.otherLines) > fragmentRegisters ||
                                          demand.lineBytes * mapping.otherLines > sharedBytes))
      mapping.otherLines /= 2;
    int64_t others = (ownsRows ? axes.columns : axes.rows).getSize();
    if (others <= mapping.otherLines || 2 * demand.lineBytes * mapping.otherLines > sharedBytes) mapping.stages = 1;
    if (demand.registers(mapping.otherLines) + otherRegisters <= registersOfThree && !demand.draws)
      mapping.residentBlocks = 3;
    int64_t positions = 1;
    for (AxisAttr axis : axes.batch)
      if (ownsRows || !llvm::is_contained(names(op.getSerial()), axis.getName())) positions *= axis.getSize();
    mapping.blocks = positions * llvm::divideCeil((ownsRows ? axes.rows : axes.columns).getSize(), mapping.ownLines);
    mappings.push_back(mapping);
  }
  return mappings;
}
