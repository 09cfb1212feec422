//===- KernelWork.cpp - arithmetic and bytes of a kernel ------------------===//

#include "passes/cost/KernelWork.h"
#include "passes/analysis/Views.h"
#include "passes/kernel/KernelPlan.h"
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

//===----------------------------------------------------------------------===//
// Elements by op
//===----------------------------------------------------------------------===//

using OpCounts = std::map<StringRef, int64_t>;

static SmallVector<OpCount, 0> listOf(const OpCounts &counts) {
  return llvm::map_to_vector<0>(counts, [](const auto &count) { return OpCount{count.first, count.second}; });
}

/// Points of the loops along which an item varies.
static int64_t pointsOf(const KernelPlan &plan, Value item) {
  int64_t points = 1;
  for (auto [loop, size] : llvm::enumerate(plan.loops.sizes))
    if (plan.varies.lookup(item) >> loop & 1) points *= size;
  return points;
}

/// What an op of a kernel computes: an elementwise op its result, a reduction or a scatter the elements that it sums.
/// Ops that only address memory compute nothing.
static void countOp(const KernelPlan &plan, Value item, OpCounts &counts) {
  Operation *op = item.getDefiningOp();
  if (!op || op->hasTrait<traits::HasNoArithmetic>()) return;
  auto reduce = dyn_cast<ReduceOp>(op);
  auto scatter = dyn_cast<ScatterAddOp>(op);
  counts[op->getName().stripDialect()] += scatter  ? scatter.getUpdates().getType().getNumElements()
                                          : reduce ? pointsOf(plan, reduce.getX())
                                                   : pointsOf(plan, item);
}

/// Adds what the code of a kernel computes. Values that vary along serial loops are computed in every sweep that needs
/// them.
static void countOps(KernelOp kernel, OpCounts &counts) {
  FailureOr<KernelPlan> plan = planKernel(kernel);
  if (failed(plan)) return;
  uint64_t serial = ~plan->loops.parallelMask();
  for (Value item : plan->items)
    if (!(plan->varies.lookup(item) & serial) && !isa_and_present<ReduceOp>(item.getDefiningOp()))
      countOp(*plan, item, counts);
  for (unsigned number = 1; number <= plan->sweeps; ++number) {
    auto isKnown = [&](Value value) {
      return !(plan->varies.lookup(value) & serial) && plan->stages.lookup(value) < number;
    };
    Sweep sweep = planSweep(*plan, number, isKnown);
    for (Value item : plan->items)
      if (sweep.needed.contains(item) && plan->varies.lookup(item) & serial) countOp(*plan, item, counts);
    for (ReduceOp reduce : sweep.reduces) countOp(*plan, reduce.getResult(), counts);
  }
}

KernelWork KernelWork::dividedBy(int64_t parts) const {
  KernelWork part{flops / parts, isContraction, read / parts, written / parts, ops};
  for (OpCount &count : part.ops) count.elements /= parts;
  return part;
}

//===----------------------------------------------------------------------===//
// Kernels, contractions, tiled ops
//===----------------------------------------------------------------------===//

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
  OpCounts counts;
  countOps(kernel, counts);
  work.ops = listOf(counts);
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
/// stay in caches. The arithmetic of its kernels is not among the operations, since it is not multiply-adds, but among
/// `ops`.
KernelWork tessera::workOf(TiledOp tiled) {
  KernelWork work;
  work.isContraction = true;
  auto sizeOf = [](Operation &op, StringRef axis) {
    int64_t size = 0;
    auto look = [&](Value value) {
      if (NamedTensorType type = tensorType(value); type.hasAxis(axis)) size = type.getSize(axis);
    };
    llvm::for_each(op.getOperands(), look), llvm::for_each(op.getResults(), look);
    return size;
  };
  OpCounts counts;
  int64_t rows = 0, columns = 0;
  for (Operation &op : tiled.getBlock().without_terminator()) {
    rows = std::max(rows, sizeOf(op, tiled.getRows())), columns = std::max(columns, sizeOf(op, tiled.getColumns()));
    if (auto kernel = dyn_cast<KernelOp>(op)) countOps(kernel, counts);
  }
  for (Operation &op : tiled.getBlock().without_terminator())
    if (isa<ContractOp>(op))
      work.flops += cast<CostOpInterface>(op).getFlops() / (rows * columns) * tiled.countedElements(rows, columns);
  for (auto &[op, elements] : counts) // nearly all are elements of the matrices
    elements =
        static_cast<int64_t>(double(elements) / double(rows * columns) * double(tiled.countedElements(rows, columns)));
  for (Value operand : tiled.getInputs()) work.read += elementBytes(tensorType(operand));
  for (Value result : tiled.getResults()) work.written += elementBytes(tensorType(result));
  work.ops = listOf(counts);
  return work;
}

KernelWork tessera::workOf(ArrayRef<Operation *> ops) {
  if (auto tiled = dyn_cast<TiledOp>(ops.front())) return workOf(tiled);
  KernelWork sum;
  OpCounts counts;
  for (Operation *op : ops) {
    KernelWork own = workOf(cast<KernelOp>(op));
    sum.flops += own.flops, sum.read += own.read, sum.written += own.written;
    for (const OpCount &count : own.ops) counts[count.op] += count.elements;
  }
  sum.ops = listOf(counts);
  return sum;
}
