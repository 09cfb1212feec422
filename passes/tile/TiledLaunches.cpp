//===- TiledLaunches.cpp - how a GPU computes a tiled op ------------------===//

#include "passes/tile/TiledLaunches.h"

using namespace mlir;
using namespace tessera;

static bool isLaunched(TiledOp tiled, const MatrixAxes &axes, bool ownsRows) {
  return llvm::any_of(tiled.getBlock().without_terminator(), [&](Operation &op) {
    // Row values are results of the launch that owns rows.
    auto isRowValue = [&](Value result) { return !axes.isMatrix(tensorType(result)); };
    auto contract = dyn_cast<ContractOp>(op);
    if (!contract) return ownsRows && llvm::any_of(op.getResults(), isRowValue);
    TiledRole role = tiledRole(contract, axes)->role;
    return role != TiledRole::MakesMatrix && (role == TiledRole::SumsColumns) == ownsRows;
  });
}

SmallVector<TiledLaunch, 2> tessera::launchesOf(TiledOp tiled, const MatrixAxes &axes) {
  SmallVector<TiledLaunch, 2> launches;
  for (bool ownsRows : {true, false})
    if (isLaunched(tiled, axes, ownsRows)) launches.push_back({ownsRows});
  return launches;
}

FailureOr<KernelPlan> tessera::planTiledKernel(KernelOp kernel) {
  RowsPlacement placement;
  placement.strides.resize(kernel.getNumOperands() + kernel.getNumResults());
  placement.separatesRows = true;
  return planKernel(kernel, &placement, /*onlineSoftmax=*/true);
}

/// Results of the one kernel must be read by the launch's sums only, and these must read no other matrices.
std::optional<OnlineSoftmax> tessera::onlineSoftmaxOf(TiledOp tiled, const MatrixAxes &axes,
                                                      const TiledLaunch &launch) {
  auto kernels = llvm::to_vector(tiled.getBlock().getOps<KernelOp>());
  if (!launch.ownsRows || kernels.size() != 1) return std::nullopt;
  KernelOp kernel = kernels.front();
  bool hasSums = false;
  for (auto contract : tiled.getBlock().getOps<ContractOp>()) {
    TiledContraction role = *tiledRole(contract, axes);
    if (role.role != TiledRole::SumsColumns) continue;
    if (contract->getOperand(role.x).getDefiningOp() != kernel) return std::nullopt;
    hasSums = true;
  }
  auto isReadBySums = [&](Value result) {
    return !axes.isMatrix(tensorType(result)) || llvm::all_of(result.getUsers(), llvm::IsaPred<ContractOp>);
  };
  if (!hasSums || !llvm::all_of(kernel.getResults(), isReadBySums)) return std::nullopt;
  FailureOr<KernelPlan> plan = planTiledKernel(kernel);
  return succeeded(plan) ? OnlineSoftmax::of(*plan) : std::nullopt;
}
