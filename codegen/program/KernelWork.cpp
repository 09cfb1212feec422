//===- KernelWork.cpp - arithmetic and bytes of a kernel ------------------===//

#include "codegen/program/KernelWork.h"
#include "passes/analysis/Views.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tessera;

/// Operations of an op. Sources and views have none.
static int64_t flopsOf(Operation *op) {
  if (auto cost = dyn_cast<CostOpInterface>(op)) return cost.getFlops();
  if (auto reduce = dyn_cast<ReduceOp>(op)) return reduce.getX().getType().getNumElements();
  if (auto scatter = dyn_cast<ScatterAddOp>(op)) return scatter.getUpdates().getType().getNumElements();
  return isa<ElementwiseOpInterface>(op) ? tensorType(op->getResult(0)).getNumElements() : 0;
}

/// Bytes of the elements, without positions between them that are only allocated.
static int64_t elementBytes(NamedTensorType type) { return type.getNumElements() * type.getElementBytes(); }

/// Bytes of an operand that one use reads.
static int64_t bytesRead(OpOperand &use) {
  Operation *op = use.getOwner();
  int64_t all = elementBytes(tensorType(use.get()));
  if (op->hasTrait<traits::IndexTransform>() && use.getOperandNumber() == 0)
    return std::min(all, elementBytes(tensorType(op->getResult(0))));
  if (auto scatter = dyn_cast<ScatterAddOp>(op); scatter && use.get() == scatter.getInit())
    return std::min(all, elementBytes(scatter.getUpdates().getType()));
  return all;
}

KernelWork tessera::workOf(KernelOp kernel) {
  KernelWork work;
  Block &block = kernel.getBlock();
  for (Operation &op : block.without_terminator()) work.flops += flopsOf(&op);
  for (BlockArgument argument : block.getArguments()) {
    int64_t bytes = 0;
    for (OpOperand &use : argument.getUses()) bytes += bytesRead(use);
    work.read += std::min(bytes, elementBytes(tensorType(argument)));
  }
  auto yield = cast<YieldOp>(block.getTerminator());
  for (Value value : yield.getValues()) {
    auto scatter = value.getDefiningOp<ScatterAddOp>();
    int64_t bytes = elementBytes(tensorType(value));
    work.written +=
        scatter && scatter.getInit() ? std::min(bytes, elementBytes(scatter.getUpdates().getType())) : bytes;
  }
  return work;
}

KernelWork tessera::workOf(ArrayRef<ContractOp> contractions) {
  KernelWork work;
  work.isContraction = true;
  llvm::SmallDenseSet<std::pair<Value, int64_t>> read; // buffers and offsets: views of one are the same
  for (ContractOp contraction : contractions) {
    work.flops += cast<CostOpInterface>(contraction.getOperation()).getFlops();
    for (Value operand : contraction->getOperands())
      if (read.insert({viewRoot(operand), offsetInRoot(operand)}).second)
        work.read += elementBytes(tensorType(operand));
    for (Value result : contraction->getResults()) work.written += elementBytes(tensorType(result));
  }
  return work;
}

/// Counts the multiply-adds of the elements in the band, and the op's own operands and results: values between its ops
/// stay in caches. The arithmetic of its kernels is not counted, since it is not multiply-adds.
KernelWork tessera::workOf(TiledOp tiled) {
  KernelWork work;
  work.isContraction = true;
  for (Operation &op : tiled.getBlock().without_terminator()) {
    auto contract = dyn_cast<ContractOp>(op);
    if (!contract) continue;
    int64_t rows = 0, columns = 0;
    for (Value value : {contract.getLhs(), contract.getRhs(), contract.getResult()}) {
      NamedTensorType type = tensorType(value);
      if (type.hasAxis(tiled.getRows())) rows = type.getSize(tiled.getRows());
      if (type.hasAxis(tiled.getColumns())) columns = type.getSize(tiled.getColumns());
    }
    int64_t flops = cast<CostOpInterface>(op).getFlops();
    work.flops += flops / (rows * columns) * tiled.countedElements(rows, columns);
  }
  for (Value operand : tiled.getInputs()) work.read += elementBytes(tensorType(operand));
  for (Value result : tiled.getResults()) work.written += elementBytes(tensorType(result));
  return work;
}

KernelWork tessera::workOf(ArrayRef<Operation *> ops) {
  if (auto tiled = dyn_cast<TiledOp>(ops.front())) return workOf(tiled);
  KernelWork sum;
  for (Operation *op : ops) {
    KernelWork own = workOf(cast<KernelOp>(op));
    sum.flops += own.flops, sum.read += own.read, sum.written += own.written;
  }
  return sum;
}
