//===- KernelPlan.cpp - loops, stages and addresses of a kernel -----------===//

#include "passes/kernel/KernelPlan.h"
#include "llvm/ADT/SmallSet.h"
#include <limits>

using namespace mlir;
using namespace tessera;

namespace {

class Planner {
public:
  Planner(KernelOp kernel, const RowsPlacement *placement)
      : kernel(kernel), block(kernel.getBlock()), placement(placement) {
    plan.kernel = kernel;
    plan.runsByRows = placement;
  }
  LogicalResult run();
  KernelPlan plan;
  bool onlineSoftmax = false;

private:
  LogicalResult findLoops();
  LogicalResult findReads();
  LogicalResult findWrites();
  void chooseVectorLoop();
  void collapseLoops();
  void collapseWithNext(unsigned outer);
  void moveVectorLoopLast();
  LogicalResult findDependences();
  void findAliases();

  void forEachIndex(llvm::function_ref<void(LinearIndex &)> visit);
  uint64_t loopsOf(Operation *op);
  /// Gives an access at `positions` the strides of the placement, if it has any.
  void place(Access &access, Type type, const AxisPositions &positions);

  KernelOp kernel;
  Block &block;
  const RowsPlacement *placement;
  AxisPositions point; ///< the current point: each axis at its loop's index
  llvm::SmallPtrSet<Value, 8> readAtPoint;
};

} // namespace

bool KernelPlan::isElementResult(unsigned result) const {
  KernelOp op = kernel; // MLIR's accessors are not const
  NamedTensorType type = tensorType(op.getResult(result));
  return llvm::any_of(names(op.getSerial()), [&](StringRef axis) { return type.hasAxis(axis); });
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

LogicalResult Planner::findLoops() {
  llvm::StringMap<int64_t> sizes;
  auto addAxes = [&](Value value) {
    for (AxisAttr axis : tensorType(value).getAxes()) sizes.try_emplace(axis.getName(), axis.getSize());
  };
  for (Operation &op : block.without_terminator())
    if (!op.hasTrait<traits::IndexTransform>()) llvm::for_each(op.getOperands(), addAxes);
  for (Operation &op : block.without_terminator()) llvm::for_each(op.getResults(), addAxes);
  for (Value value : plan.yield().getValues()) addAxes(value);

  SmallVector<std::pair<StringRef, int64_t>> loops;
  auto collect = [&](ArrayAttr list) -> LogicalResult {
    for (StringRef name : names(list)) {
      auto it = sizes.find(name);
      if (it == sizes.end()) return kernel.emitError("no value of the kernel has its axis `") << name << "`";
      loops.emplace_back(name, it->second);
    }
    return success();
  };
  if (failed(collect(kernel.getParallel()))) return failure();
  size_t parallel = loops.size();
  if (failed(collect(kernel.getSerial()))) return failure();
  if (loops.size() > 60) return kernel.emitError("too many axes");

  for (auto [i, loop] : llvm::enumerate(loops)) {
    if (loop.second == 1) continue;
    plan.loops.names.push_back(loop.first.str());
    plan.loops.sizes.push_back(loop.second);
    if (i < parallel) ++plan.loops.parallelCount;
  }
  for (auto &loop : loops) point.insert_or_assign(loop.first, LinearIndex(plan.loops.sizes.size()));
  for (auto [i, axis] : llvm::enumerate(plan.loops.names)) point.find(axis)->second.coefficients[i] = 1;
  return success();
}

/// The axis that the kernel names, if it has a loop; else the one along which most accesses are contiguous.
void Planner::chooseVectorLoop() {
  size_t count = plan.loops.sizes.size();
  SmallVector<int64_t> contiguous(count, 0);
  auto countIn = [&](const Access &access) {
    for (size_t i = 0; i < count; ++i) contiguous[i] += access.offset.coefficients[i] == 1;
  };
  for (Value item : plan.items)
    if (auto it = plan.reads.find(item); it != plan.reads.end()) countIn(it->second);
  for (const Access &access : plan.writes) countIn(access);
  int best = -1;
  for (size_t i = 0; i < count; ++i) {
    // Updates along a serial axis may have the same position: only a parallel axis is vectorised.
    if (plan.scatter && i >= plan.loops.parallelCount) continue;
    if (kernel.getVector() && plan.loops.names[i] == *kernel.getVector()) best = i;
  }
  for (size_t i = 0; best < 0 && i < count; ++i) {
    if (plan.scatter && i >= plan.loops.parallelCount) continue;
    if (contiguous[i] == 0) continue;
    auto better = [&](size_t a, size_t b) {
      return std::tuple(contiguous[a], plan.loops.sizes[a]) > std::tuple(contiguous[b], plan.loops.sizes[b]);
    };
    bool isBest = true;
    for (size_t j = 0; j < count; ++j)
      if (j != i && !(plan.scatter && j >= plan.loops.parallelCount) && better(j, i)) isBest = false;
    if (isBest) best = i;
  }
  plan.loops.vector = best;
}

void Planner::forEachIndex(llvm::function_ref<void(LinearIndex &)> visit) {
  for (auto &[value, access] : plan.reads) access.forEachIndex(visit);
  for (auto &[op, expr] : plan.positions) expr.forEach(visit);
  for (Access &access : plan.writes) access.forEachIndex(visit);
}

/// Rotates the vector loop to the end of its kind.
void Planner::moveVectorLoopLast() {
  if (plan.loops.vector < 0) return;
  unsigned from = plan.loops.vector,
           to = (plan.loops.isVectorParallel() ? plan.loops.parallelCount : plan.loops.sizes.size()) - 1;
  auto rotate = [&](auto &list) { std::rotate(list.begin() + from, list.begin() + from + 1, list.begin() + to + 1); };
  rotate(plan.loops.sizes);
  rotate(plan.loops.names);
  forEachIndex([&](LinearIndex &e) { rotate(e.coefficients); });
  plan.loops.vector = to;
}

/// Collapses loops `outer` and `outer + 1`.
void Planner::collapseWithNext(unsigned outer) {
  plan.loops.sizes[outer + 1] *= plan.loops.sizes[outer];
  plan.loops.sizes.erase(plan.loops.sizes.begin() + outer);
  plan.loops.names[outer + 1] = plan.loops.names[outer] + "_" + plan.loops.names[outer + 1];
  plan.loops.names.erase(plan.loops.names.begin() + outer);
  forEachIndex([&](LinearIndex &e) { e.coefficients.erase(e.coefficients.begin() + outer); });
  if (outer < plan.loops.parallelCount) --plan.loops.parallelCount;
  if (plan.loops.vector > static_cast<int>(outer)) --plan.loops.vector;
}

void Planner::collapseLoops() {
  int rowsEnd = plan.loops.isVectorParallel() ? plan.loops.vector : static_cast<int>(plan.loops.parallelCount);
  for (int outer = static_cast<int>(plan.loops.sizes.size()) - 2; outer >= 0; --outer) {
    unsigned inner = outer + 1;
    if (inner == plan.loops.parallelCount || (placement && static_cast<int>(inner) == plan.loops.vector)) continue;
    if (placement && placement->separatesRows && static_cast<int>(inner) + 1 == rowsEnd) continue;
    // The order of a sum must not change: see `sumLanes`.
    if (plan.loops.isVectorSerial() && static_cast<int>(inner) == plan.loops.vector &&
        plan.loops.sizes[inner] % plan.sumLanes() != 0)
      continue;
    bool isAffine = true; // in the collapsed index
    forEachIndex(
        [&](LinearIndex &e) { isAffine &= e.coefficients[outer] == e.coefficients[inner] * plan.loops.sizes[inner]; });
    if (isAffine) collapseWithNext(outer);
  }
}

//===----------------------------------------------------------------------===//
// Reads and writes
//===----------------------------------------------------------------------===//

void Planner::place(Access &access, Type type, const AxisPositions &positions) {
  if (!placement || placement->strides[access.argument].empty()) return;
  access.offset =
      linearize(cast<NamedTensorType>(type), positions, plan.loops.sizes.size(), placement->strides[access.argument]);
}

LogicalResult Planner::findReads() {
  size_t loops = plan.loops.sizes.size();
  auto addRead = [&](Value value) {
    if (isa<BlockArgument>(value)) readAtPoint.insert(value);
  };
  for (Operation &op : block) {
    if (auto scatter = dyn_cast<ScatterAddOp>(op)) {
      plan.scatter = scatter;
      addRead(scatter.getUpdates());
      llvm::for_each(scatter.getIndices(), addRead);
      continue;
    }
    ValueRange operands = op.getOperands();
    llvm::for_each(op.hasTrait<traits::IndexTransform>() ? operands.drop_front() : operands, addRead);
  }
  for (BlockArgument argument : block.getArguments()) {
    if (!readAtPoint.contains(argument)) continue;
    for (AxisAttr axis : tensorType(argument).getAxes())
      if (!point.contains(axis.getName()))
        return kernel.emitError("expected a loop along axis `")
               << axis.getName() << "` of an operand read at each point";
    plan.items.push_back(argument);
    plan.reads[argument] = *resolveAccess(argument, point, loops);
    place(plan.reads[argument], argument.getType(), point);
  }
  for (Operation &op : block.without_terminator()) {
    if (op.getNumResults() != 1) return op.emitError("expected one result in a kernel");
    plan.items.push_back(op.getResult(0));
    if (op.hasTrait<traits::IndexTransform>()) {
      FailureOr<Access> access = resolveAccess(op.getResult(0), point, loops);
      if (failed(access)) return failure();
      plan.reads[op.getResult(0)] = *access;
    } else if (auto index = dyn_cast<IndexOp>(op)) {
      plan.positions[&op] = linearize(index.getType(), point, loops);
    } else if (auto random = dyn_cast<RandomOp>(op)) {
      plan.positions[&op] = linearize(random.getType(), point, loops, random.getIndexStrides());
    } else if (!op.hasTrait<traits::MayBeInKernel>()) {
      return op.emitError("cannot be in a kernel");
    }
  }
  return success();
}

/// A result of `scatter_add` also has axes without loops. The emitter adds the positions along them.
LogicalResult Planner::findWrites() {
  for (auto [i, result] : llvm::enumerate(kernel.getResults())) {
    // Else several iterations would write one element, and one of them may still have to read it.
    for (StringRef axis : names(kernel.getParallel()))
      if (!tensorType(result).hasAxis(axis))
        return kernel.emitError("result ") << i << " lacks the parallel axis `" << axis << "`";
    Access access;
    access.argument = kernel.getNumOperands() + i;
    access.element = tensorType(result).getElementType();
    AxisPositions positions = point;
    SmallVector<StringRef> scattered = plan.scatter ? names(plan.scatter.getAxes()) : SmallVector<StringRef>();
    for (StringRef axis : scattered) positions.insert_or_assign(axis, LinearIndex(plan.loops.sizes.size()));
    access.offset = linearize(tensorType(result), positions, plan.loops.sizes.size());
    place(access, result.getType(), positions);
    plan.writes.push_back(access);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Dependences
//===----------------------------------------------------------------------===//

uint64_t Planner::loopsOf(Operation *op) {
  auto varies = [&](Value value) { return plan.varies.lookup(value); };
  if (auto it = plan.reads.find(op->getResult(0)); it != plan.reads.end()) return it->second.loops(varies);
  uint64_t mask = 0;
  if (auto it = plan.positions.find(op); it != plan.positions.end()) mask = it->second.loops(varies);
  for (Value operand : op->getOperands()) mask |= varies(operand);
  return isa<ReduceOp, ScatterAddOp>(op) ? mask & plan.loops.parallelMask() : mask;
}

/// The maximum of x that belongs to a sum of exp(x - shift), where shift is that maximum, or 0 where it is -infinity;
/// else null.
static Value softmaxMaximum(ReduceOp sum) {
  auto exp = sum.getX().getDefiningOp<ExpOp>();
  auto difference = exp ? exp.getX().getDefiningOp<SubOp>() : SubOp();
  auto shift = difference ? difference.getRhs().getDefiningOp<SelectOp>() : SelectOp();
  if (sum.getKind() != ReduceKind::Sum || !shift) return {};
  auto isConstant = [](Value value, double expected) {
    auto constant = value.getDefiningOp<ConstantOp>();
    auto attr = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
    return attr && attr.getValueAsDouble() == expected;
  };
  auto max = shift->getOperand(2).getDefiningOp<ReduceOp>();
  auto isLowest = shift->getOperand(0).getDefiningOp<CompareOp>();
  bool fits = max && max.getKind() == ReduceKind::MaxNum && max.getX() == difference.getLhs() &&
              max.getOver() == sum.getOver() && isConstant(shift->getOperand(1), 0) && isLowest &&
              isLowest.getPredicate() == Predicate::EQ && isLowest->getOperand(0) == max.getResult() &&
              isConstant(isLowest->getOperand(1), -std::numeric_limits<double>::infinity());
  bool isWide = fits && (sum.getType().getElementType().isF32() || sum.getType().getElementType().isF64());
  return isWide ? max.getResult() : Value();
}

Value KernelPlan::softmaxSumOf(Value max) const {
  for (auto &[sum, own] : softmaxSums)
    if (own == max) return sum;
  return {};
}

LogicalResult Planner::findDependences() {
  auto varies = [&](Value value) { return plan.varies.lookup(value); };
  llvm::SmallSet<StringRef, 4> serial;
  for (StringRef axis : names(kernel.getSerial())) serial.insert(axis);
  for (Value item : plan.items) {
    Operation *op = item.getDefiningOp();
    if (!op) {
      plan.varies[item] = plan.reads[item].loops(varies);
      plan.stages[item] = 0;
      continue;
    }
    unsigned stage = 0;
    for (Value operand : op->getOperands()) stage = std::max(stage, plan.stages.lookup(operand));
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      if (Value max = onlineSoftmax ? softmaxMaximum(reduce) : Value(); max && !plan.softmaxSumOf(max)) {
        plan.softmaxSums[item] = max;
        stage = plan.stages.lookup(max);
      } else {
        ++stage;
      }
      plan.sweeps = std::max(plan.sweeps, stage);
      SmallVector<StringRef> over = names(reduce.getOver());
      bool exact =
          over.size() == serial.size() && llvm::all_of(over, [&](StringRef axis) { return serial.contains(axis); });
      if (!exact) return op->emitError("expected a reduction over the kernel's serial axes");
    }
    plan.varies[item] = loopsOf(op);
    plan.stages[item] = stage;
  }
  for (auto [i, value] : llvm::enumerate(plan.yield().getValues()))
    if (plan.isElementResult(i)) plan.sweeps = std::max(plan.sweeps, plan.stages.lookup(value) + 1);
  return success();
}

/// docs/ir.md: a result may share the storage of an operand of its type that is read only at the current point.
void Planner::findAliases() {
  for (BlockArgument argument : block.getArguments()) {
    bool sameType = llvm::is_contained(kernel.getResultTypes(), argument.getType());
    bool onlyAtPoint = llvm::none_of(argument.getUsers(), [&](Operation *user) {
      return user->hasTrait<traits::IndexTransform>() && user->getOperand(0) == argument;
    });
    plan.mayAliasResult.push_back(sameType && onlyAtPoint);
  }
}

//===----------------------------------------------------------------------===//
// Sweeps
//===----------------------------------------------------------------------===//

Sweep tessera::planSweep(const KernelPlan &plan, unsigned number, llvm::function_ref<bool(Value)> isKnown) {
  Sweep sweep{number, {}, number == plan.sweeps, {}};
  SmallVector<Value> worklist;
  auto need = [&](Value value) {
    if (!isKnown(value) && sweep.needed.insert(value).second) worklist.push_back(value);
  };
  for (Value item : plan.items) {
    auto reduce = dyn_cast_if_present<ReduceOp>(item.getDefiningOp());
    if (!reduce || plan.stages.lookup(item) != number) continue;
    sweep.reduces.push_back(reduce);
    if (!plan.isSoftmaxSum(item)) need(reduce.getX()); // else the maximum needs the same
  }
  if (sweep.writesElements)
    for (auto [i, value] : llvm::enumerate(plan.yield().getValues()))
      if (plan.isElementResult(i)) need(value);
  while (!worklist.empty())
    if (Operation *op = worklist.pop_back_val().getDefiningOp())
      for (Value operand : op->getOperands())
        if (plan.varies.contains(operand)) need(operand);
  return sweep;
}

LogicalResult Planner::run() {
  if (failed(findLoops()) || failed(findReads()) || failed(findWrites())) return failure();
  chooseVectorLoop();
  moveVectorLoopLast();
  collapseLoops();
  findAliases();
  return findDependences();
}

FailureOr<KernelPlan> tessera::planKernel(KernelOp kernel, const RowsPlacement *placement, bool onlineSoftmax) {
  Planner planner(kernel, placement);
  planner.onlineSoftmax = onlineSoftmax;
  if (failed(planner.run())) return failure();
  return std::move(planner.plan);
}
