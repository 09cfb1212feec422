//===- TilePlan.cpp - what one launch of a tiled op computes ----------------===//

#include "codegen/cuda/tile/TilePlan.h"
#include "codegen/cuda/writer/ScopeWriter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

bool TileKernel::isRowValue(Value value) const {
  uint64_t columns = uint64_t(1) << (rowsLoop() + 1);
  return (plan.varies.lookup(value) & columns) == 0;
}

LogicalResult TilePlan::addKernel(KernelOp kernel) {
  FailureOr<KernelPlan> planned = planTiledKernel(kernel);
  if (failed(planned)) return failure();
  has64BitIndices |= largestPosition(*planned) >= largestInt;
  TileKernel &added = kernels.emplace_back();
  added.op = kernel;
  added.plan = std::move(*planned);
  added.ops = ElementOps::of(added.plan, {op.getLower(), op.getUpper()}, axes,
                             [&](Value value) { return added.isRowValue(value); });
  return success();
}

/// Values with plain addresses. A kernel with reductions has its row values elsewhere (RowWriter.h).
void TilePlan::findLineValues() {
  for (auto [number, kernel] : llvm::enumerate(kernels)) {
    uint64_t rows = uint64_t(1) << kernel.rowsLoop(), columns = rows << 1;
    uint64_t own = mapping.ownsRows ? rows : columns, other = mapping.ownsRows ? columns : rows;
    for (Value item : kernel.plan.items) {
      auto read = kernel.plan.reads.find(item);
      if (read == kernel.plan.reads.end() || !read->second.ranges.empty() || !read->second.offset.terms.empty())
        continue;
      if (!isa<BlockArgument>(kernel.op->getOperand(read->second.argument))) continue;
      uint64_t varies = kernel.plan.varies.lookup(item);
      LineValue value{static_cast<unsigned>(number), item, !(varies & (own | other))};
      if (!(varies & other) && kernel.plan.sweeps == 0) ownValues.push_back(value);
      if ((varies & other) && !(varies & own)) otherValues.push_back(value);
    }
  }
}

std::optional<int64_t> TilePlan::leastDiagonal() const {
  TiledOp tiled = op;
  if (mapping.ownsRows) return tiled.getLower();
  return tiled.getUpper() ? std::optional<int64_t>(-*tiled.getUpper()) : std::nullopt;
}

std::optional<int64_t> TilePlan::mostDiagonal() const {
  TiledOp tiled = op;
  if (mapping.ownsRows) return tiled.getUpper();
  return tiled.getLower() ? std::optional<int64_t>(-*tiled.getLower()) : std::nullopt;
}

bool TilePlan::hasMaskedEdges() const {
  return llvm::any_of(kernels, [](const TileKernel &kernel) { return !kernel.ops.insideBand.empty(); }) &&
         (leastDiagonal() || mostDiagonal());
}

bool TilePlan::peelsEdges() const {
  return otherAxis().getSize() > mapping.otherLines && (hasMaskedEdges() || hasOtherTail());
}

/// A launch that owns rows computes the sums over columns, one that owns columns those over rows.
void TilePlan::addContraction(ContractOp contract) {
  TiledContraction role = *tiledRole(contract, axes);
  Value x = contract->getOperand(role.x), y = contract->getOperand(role.y);
  if (role.role == TiledRole::MakesMatrix) {
    if (mapping.ownsRows)
      matrices.push_back({contract, contract.getResult(), x, y, role.extent, role.ofX, role.ofY, {}});
    else
      matrices.push_back({contract, contract.getResult(), y, x, role.extent, role.ofY, role.ofX, {}});
  } else if ((role.role == TiledRole::SumsColumns) == mapping.ownsRows) {
    sums.push_back({contract, contract.getResult(), x, y, role.extent, {}, role.ofY, role.ofResult});
  }
}

const TileKernel *TilePlan::reducingKernel() const {
  auto it = llvm::find_if(kernels, [](const TileKernel &kernel) { return kernel.plan.sweeps > 0; });
  return it == kernels.end() ? nullptr : &*it;
}

/// Results are sums, and row values, which the launch that owns rows computes.
bool TilePlan::writesResult(unsigned number) const {
  TiledOp tiled = op;
  Value value = tiled.getBlock().getTerminator()->getOperand(number);
  if (!isa_and_nonnull<ContractOp>(value.getDefiningOp())) return mapping.ownsRows;
  return llvm::any_of(sums, [&](const TileContraction &sum) { return sum.result == value; });
}

FailureOr<TilePlan> TilePlan::of(TiledOp op, const MatrixAxes &axes, const TileMapping &mapping) {
  TilePlan plan;
  plan.op = op;
  plan.axes = axes;
  plan.mapping = mapping;
  for (AxisAttr axis : axes.batch) {
    bool isSerial = !mapping.ownsRows && llvm::is_contained(names(op.getSerial()), axis.getName());
    (isSerial ? plan.serialAxes : plan.blockAxes).push_back(axis);
  }
  for (Operation &inner : op.getBlock().without_terminator()) {
    if (auto contract = dyn_cast<ContractOp>(inner))
      plan.addContraction(contract);
    else if (failed(plan.addKernel(cast<KernelOp>(inner))))
      return failure();
  }
  for (Value value : llvm::concat<Value>(SmallVector<Value>(op.getInputs()), SmallVector<Value>(op.getResults())))
    plan.has64BitIndices |= tensorType(value).getNumAllocated() >= largestInt;
  plan.findLineValues();
  plan.online = onlineSoftmaxOf(op, axes, {mapping.ownsRows});
  for (const auto *list : {&plan.matrices, &plan.sums})
    for (const TileContraction &contraction : *list)
      plan.sharedOperands[contraction.other] = {contraction.extent, contraction.ofOther};
  return plan;
}
