//===- VerifyTiles.cpp - what holds of tiled ops ---------------------------===//

#include "passes/tile/VerifyTiles.h"
#include "passes/tile/Band.h"

using namespace mlir;
using namespace tessera;

static bool isPointwise(Operation *op) { return isa<ElementwiseOpInterface>(op) && !isa<ReorderOp>(op); }

bool tessera::runsByRows(KernelOp kernel, const MatrixAxes &axes) {
  StringRef columns = axes.columns.getName();
  SmallVector<StringRef> parallel, serial;
  for (AxisAttr axis : axes.batch) parallel.push_back(axis.getName());
  parallel.push_back(axes.rows.getName());
  (kernel.getSerial().empty() ? parallel : serial).push_back(columns);
  if (names(kernel.getParallel()) != parallel || names(kernel.getSerial()) != serial || kernel.getVector() != columns)
    return false;
  for (auto [operand, argument] : llvm::zip(kernel.getInputs(), kernel.getBlock().getArguments())) {
    if (!axes.isMatrix(tensorType(operand))) continue;
    for (Operation *user : argument.getUsers())
      if (!isa<ReduceOp, YieldOp>(user) && !isPointwise(user)) return false;
  }
  return llvm::all_of(kernel.getResults(), [&](Value result) {
    NamedTensorType type = tensorType(result);
    return axes.isMatrix(type) || (axes.startsWithRows(type) && !type.hasAxis(columns));
  });
}

bool tessera::mayPass(Operation *maker, OpOperand &use, const MatrixAxes &axes) {
  if (axes.isMatrix(tensorType(use.get()))) return true;
  auto reader = dyn_cast<KernelOp>(use.getOwner());
  return reader && isa<KernelOp>(maker) &&
         llvm::all_of(reader.getBlock().getArgument(use.getOperandNumber()).getUsers(), isPointwise);
}

bool tessera::sumsOver(ContractOp contract, AxisAttr batchAxis) {
  return llvm::is_contained(names(contract.getOver()), batchAxis.getName());
}

/// The batch axes are the parallel ones and the serial ones, which results are summed over.
static LogicalResult checkBatch(TiledOp tiled, const MatrixAxes &axes) {
  SmallVector<StringRef> parallel = names(tiled.getParallel()), serial = names(tiled.getSerial());
  if (parallel.size() + serial.size() != axes.batch.size())
    return tiled.emitError("expected the batch axes of its matrices as parallel and serial axes");
  for (AxisAttr axis : axes.batch) {
    bool isSummed = llvm::any_of(tiled.getBlock().getOps<ContractOp>(),
                                 [&](ContractOp contract) { return sumsOver(contract, axis); });
    if (!llvm::is_contained(isSummed ? serial : parallel, axis.getName()))
      return tiled.emitError("expected batch axis `")
             << axis.getName() << "` to be " << (isSummed ? "serial, as a result is summed over it" : "parallel");
  }
  return success();
}

static LogicalResult checkBand(TiledOp tiled, const MatrixAxes &axes) {
  if (!tiled.getLower() && !tiled.getUpper()) return success();
  SmallVector<Operation *> ops;
  for (Operation &op : tiled.getBlock().without_terminator()) ops.push_back(&op);
  Band band = findBand(ops, axes);
  if (tiled.getLower() && (!band.lower || *tiled.getLower() > *band.lower))
    return tiled.emitError("elements below the lower limit affect a result");
  if (tiled.getUpper() && (!band.upper || *tiled.getUpper() < *band.upper))
    return tiled.emitError("elements above the upper limit affect a result");
  return success();
}

static LogicalResult checkTiled(TiledOp tiled) {
  std::optional<MatrixAxes> axes = MatrixAxes::of(tiled);
  if (!axes) return tiled.emitError("expected a matrix of its rows and columns");
  for (Operation &op : tiled.getBlock().without_terminator()) {
    auto contract = dyn_cast<ContractOp>(op);
    auto kernel = dyn_cast<KernelOp>(op);
    if (!contract && !kernel) return op.emitError("expected a kernel or a contraction in a tiled op");
    if (contract && !tiledRole(contract, *axes))
      return op.emitError("expected a contraction that computes or consumes a matrix");
    if (kernel && !runsByRows(kernel, *axes))
      return op.emitError("expected a kernel that can run for a range of rows and columns");
    for (OpOperand &use : op.getOpOperands())
      if (Operation *maker = use.get().getDefiningOp(); maker && !mayPass(maker, use, *axes))
        return op.emitError("operand ") << use.getOperandNumber() << " is read beyond the rows that are computed";
  }
  for (Value value : tiled.getBlock().getTerminator()->getOperands())
    if (axes->isMatrix(tensorType(value))) return tiled.emitError("a matrix cannot be a result: it is not stored");
  return failure(failed(checkBatch(tiled, *axes)) || failed(checkBand(tiled, *axes)));
}

LogicalResult tessera::verifyTiles(ModuleOp module) {
  WalkResult result = module.walk(
      [](TiledOp tiled) { return failed(checkTiled(tiled)) ? WalkResult::interrupt() : WalkResult::advance(); });
  return failure(result.wasInterrupted());
}
