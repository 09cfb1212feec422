//===- KernelWork.cpp - arithmetic and bytes of a kernel ------------------===//

#include "passes/cost/KernelWork.h"
#include "passes/analysis/Views.h"
#include "passes/gemm/Gemm.h"
#include "passes/kernel/KernelPlan.h"
#include "passes/tile/TiledLaunches.h"
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
static int64_t bytesOfUse(OpOperand &use) {
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

/// How often an item is computed: once in each iteration of the innermost loop along which it varies, and so of the
/// loops around that one.
static int64_t pointsOf(const KernelPlan &plan, Value item) {
  uint64_t loops = plan.varies.lookup(item);
  int64_t points = 1;
  for (unsigned loop = 0; loops >> loop != 0; ++loop) points *= plan.loops.sizes[loop];
  return points;
}

/// What an op of a kernel computes: an elementwise op its result, a reduction or a scatter the elements that it sums.
/// Ops that only address memory compute nothing.
static void countOp(const KernelPlan &plan, Value item, OpCounts &counts) {
  Operation *op = item.getDefiningOp();
  if (!op || (op->hasTrait<traits::HasNoArithmetic>() && !isa<ElementwiseOpInterface>(op))) return;
  auto reduce = dyn_cast<ReduceOp>(op);
  auto scatter = dyn_cast<ScatterAddOp>(op);
  counts[op->getName().stripDialect()] += scatter  ? scatter.getUpdates().getType().getNumElements()
                                          : reduce ? pointsOf(plan, reduce.getX())
                                                   : pointsOf(plan, item);
}

/// Adds what the code of a kernel computes. Values that vary along serial loops are computed in every sweep that needs
/// them.
static void countOps(const FailureOr<KernelPlan> &plan, OpCounts &counts) {
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

//===----------------------------------------------------------------------===//
// Kernels, contractions, tiled ops
//===----------------------------------------------------------------------===//

int64_t tessera::bytesRead(Operation *op, unsigned operand) {
  int64_t all = elementBytes(tensorType(op->getOperand(operand)));
  auto kernel = dyn_cast<KernelOp>(op);
  if (!kernel) return all;
  int64_t bytes = 0;
  for (OpOperand &use : kernel.getBlock().getArgument(operand).getUses()) bytes += bytesOfUse(use);
  return std::min(bytes, all);
}

int64_t tessera::bytesWritten(Operation *op, unsigned result) {
  int64_t all = elementBytes(tensorType(op->getResult(result)));
  auto kernel = dyn_cast<KernelOp>(op);
  if (!kernel) return all;
  auto scatter = cast<YieldOp>(kernel.getBlock().getTerminator()).getValues()[result].getDefiningOp<ScatterAddOp>();
  return scatter && scatter.getInit() ? std::min(all, elementBytes(scatter.getUpdates().getType())) : all;
}

KernelWork tessera::workOf(KernelOp kernel) {
  KernelWork work;
  for (Operation &op : kernel.getBlock().without_terminator()) work.flops += flopsOf(&op);
  for (unsigned i = 0; i < kernel->getNumOperands(); ++i) work.read += bytesRead(kernel, i);
  for (unsigned i = 0; i < kernel->getNumResults(); ++i) work.written += bytesWritten(kernel, i);
  OpCounts counts;
  countOps(planKernel(kernel), counts);
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
  if (std::optional<ContractionGemm> gemm = describeGemm(contractions.front()))
    work.gemms.push_back(
        {gemm->a.type, double(gemm->batch()) * double(contractions.size()), gemm->m(), gemm->n(), gemm->k()});
  return work;
}

KernelWork tessera::workOf(const ContractionGemm &gemm) {
  KernelWork work;
  work.isContraction = true;
  work.flops = 2 * gemm.batch() * gemm.m() * gemm.n() * gemm.k();
  work.read = gemm.a.bytes() + gemm.b.bytes() + (gemm.accumulate ? gemm.c.bytes() : 0);
  if (gemm.bias) work.read += gemm.n() * bytesOf(gemm.biasType);
  work.written = gemm.c.bytes();
  work.gemms.push_back({gemm.a.type, double(gemm.batch()), gemm.m(), gemm.n(), gemm.k(), false, gemm.tf32});
  return work;
}

namespace {
/// What the parts of a tiled op compute, in the band of its matrices.
class TiledWork {
public:
  explicit TiledWork(TiledOp tiled);

  /// Adds a contraction that is computed `times` times. Once it counts as an operation of the program, or not at all if
  /// another launch computes it, too, and counts it.
  void add(ContractOp contract, int64_t times, bool counts, KernelWork &work) const;
  /// The elements that kernels compute: nearly all are elements of the matrices.
  SmallVector<OpCount, 0> listed(OpCounts counts) const;

  TiledOp tiled;
  std::optional<MatrixAxes> axes;

private:
  int64_t rows = 0, columns = 0;
  double share = 1; ///< of the elements of the matrices that are computed
};
} // namespace

TiledWork::TiledWork(TiledOp tiled) : tiled(tiled), axes(MatrixAxes::of(tiled)) {
  auto look = [&](Value value) {
    NamedTensorType type = tensorType(value);
    if (type.hasAxis(this->tiled.getRows())) rows = std::max(rows, type.getSize(this->tiled.getRows()));
    if (type.hasAxis(this->tiled.getColumns())) columns = std::max(columns, type.getSize(this->tiled.getColumns()));
  };
  for (Operation &op : tiled.getBlock().without_terminator())
    llvm::for_each(op.getOperands(), look), llvm::for_each(op.getResults(), look);
  share = double(tiled.countedElements(rows, columns)) / (double(rows) * double(columns));
}

void TiledWork::add(ContractOp contract, int64_t times, bool counts, KernelWork &work) const {
  TiledOp op = tiled;
  int64_t perElement = cast<CostOpInterface>(contract.getOperation()).getFlops() / (rows * columns);
  if (counts) work.flops += perElement * op.countedElements(rows, columns);
  std::optional<TiledContraction> role = axes ? tiledRole(contract, *axes) : std::nullopt;
  if (!role) return;
  MultiplyWork gemm;
  gemm.type = *elementTypeOf(tensorType(contract.getLhs()).getElementType());
  gemm.count = share * double(times), gemm.counted = counts ? 1 / double(times) : 0, gemm.isTiled = true;
  for (AxisAttr axis : axes->batch) gemm.count *= double(axis.getSize());
  int64_t ofRows = axes->rows.getSize(), ofColumns = axes->columns.getSize();
  switch (role->role) {
  case TiledRole::MakesMatrix:
    gemm.m = ofRows, gemm.n = ofColumns, gemm.k = role->extent;
    break;
  case TiledRole::SumsColumns:
    gemm.m = ofRows, gemm.n = role->extent, gemm.k = ofColumns;
    break;
  case TiledRole::SumsRows:
    gemm.m = ofColumns, gemm.n = role->extent, gemm.k = ofRows;
    break;
  }
  work.gemms.push_back(gemm);
}

SmallVector<OpCount, 0> TiledWork::listed(OpCounts counts) const {
  for (auto &[op, elements] : counts) elements = std::llround(double(elements) * share);
  return listOf(counts);
}

/// Counts the multiply-adds of the elements in the band, and the op's own operands and results: values between its ops
/// stay in caches. The arithmetic of its kernels is not among the operations, since it is not multiply-adds, but among
/// `ops`.
KernelWork tessera::workOf(TiledOp tiled) {
  TiledWork parts(tiled);
  KernelWork work;
  work.isContraction = true;
  OpCounts counts;
  for (Operation &op : tiled.getBlock().without_terminator()) {
    if (auto kernel = dyn_cast<KernelOp>(op)) countOps(planKernel(kernel), counts);
    if (auto contract = dyn_cast<ContractOp>(op)) parts.add(contract, 1, true, work);
  }
  for (Value operand : tiled.getInputs()) work.read += elementBytes(tensorType(operand));
  for (Value result : tiled.getResults()) work.written += elementBytes(tensorType(result));
  work.ops = parts.listed(std::move(counts));
  return work;
}

/// Whether a launch computes what a value of a tiled op is: row values if it owns rows, sums by their lines.
static bool isMadeBy(const TiledLaunch &launch, Value value, const MatrixAxes &axes) {
  auto contract = value.getDefiningOp<ContractOp>();
  return contract ? (tiledRole(contract, axes)->role == TiledRole::SumsColumns) == launch.ownsRows : launch.ownsRows;
}

/// The first launch counts the matrices; what all of them read is the least that must be read, in equal parts.
static KernelWork workOf(const TiledWork &parts, const TiledLaunch &launch, int64_t launches, bool isFirst) {
  TiledOp tiled = parts.tiled;
  KernelWork work;
  work.isContraction = true;
  OpCounts counts;
  int64_t sweeps = 1;
  bool isOnline = onlineSoftmaxOf(tiled, *parts.axes, launch).has_value();
  for (auto kernel : tiled.getBlock().getOps<KernelOp>()) {
    FailureOr<KernelPlan> plan = planTiledKernel(kernel);
    if (failed(plan)) continue;
    if (isOnline)
      for (Value item : plan->items) countOp(*plan, item, counts);
    else
      countOps(plan, counts);
    if (launch.ownsRows && !isOnline) sweeps = std::max<int64_t>(sweeps, plan->sweeps);
  }
  for (auto contract : tiled.getBlock().getOps<ContractOp>()) {
    bool isMatrix = tiledRole(contract, *parts.axes)->role == TiledRole::MakesMatrix;
    if (isMatrix || isMadeBy(launch, contract.getResult(), *parts.axes))
      parts.add(contract, isMatrix ? sweeps : 1, isFirst || !isMatrix, work);
  }
  for (Value operand : tiled.getInputs()) work.read += elementBytes(tensorType(operand));
  work.read /= launches;
  for (Value value : cast<YieldOp>(tiled.getBlock().getTerminator()).getValues())
    if (isMadeBy(launch, value, *parts.axes)) work.written += elementBytes(tensorType(value));
  work.ops = parts.listed(std::move(counts));
  return work;
}

SmallVector<KernelWork, 2> tessera::workOfLaunches(TiledOp tiled) {
  TiledWork parts(tiled);
  SmallVector<KernelWork, 2> works;
  if (!parts.axes) return {workOf(tiled)};
  SmallVector<TiledLaunch, 2> launches = launchesOf(tiled, *parts.axes);
  for (const TiledLaunch &launch : launches)
    works.push_back(::workOf(parts, launch, static_cast<int64_t>(launches.size()), /*isFirst=*/works.empty()));
  return works;
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
