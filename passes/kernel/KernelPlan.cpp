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
  bool joinsSoftmax = false;

private:
  LogicalResult findLoops();
  LogicalResult findReads();
  LogicalResult findWrites();
  void chooseVectorLoop();
  void mergeLoops();
  void mergeWithNext(unsigned outer);
  void moveVectorLoopLast();
  LogicalResult findDependences();
  void findAliases();

  void forEachIndex(llvm::function_ref<void(LinearIndex &)> visit);
  uint64_t loopsOf(Operation *op);
  /// Gives an access at `positions` the strides that the placement says, if it says any.
  void place(Access &access, Type type, const AxisMap &positions);

  KernelOp kernel;
  Block &block;
  const RowsPlacement *placement;
  AxisMap point; ///< the current point: each axis at its loop's index
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
  auto note = [&](Value value) {
    for (AxisAttr axis : tensorType(value).getAxes()) sizes.try_emplace(axis.getName(), axis.getSize());
  };
  for (Operation &op : block.without_terminator())
    if (!isView(&op)) llvm::for_each(op.getOperands(), note);
  for (Operation &op : block.without_terminator()) llvm::for_each(op.getResults(), note);
  for (Value value : plan.yield().getValues()) note(value);

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
    plan.loopNames.push_back(loop.first.str());
    plan.sizes.push_back(loop.second);
    if (i < parallel) ++plan.parallelLoops;
  }
  for (auto &loop : loops) point.insert_or_assign(loop.first, LinearIndex(plan.sizes.size()));
  for (auto [i, axis] : llvm::enumerate(plan.loopNames)) point.find(axis)->second.coefficients[i] = 1;
  return success();
}

/// The axis asked for if it has a loop, else the one along which most accesses are contiguous.
void Planner::chooseVectorLoop() {
  size_t count = plan.sizes.size();
  SmallVector<int64_t> contiguous(count, 0);
  auto countIn = [&](const Access &access) {
    for (size_t i = 0; i < count; ++i) contiguous[i] += access.offset.coefficients[i] == 1;
  };
  for (Value item : plan.items)
    if (auto it = plan.reads.find(item); it != plan.reads.end()) countIn(it->second);
  for (const Access &access : plan.writes) countIn(access);
  int best = -1;
  for (size_t i = 0; i < count; ++i) {
    // Updates along a serial axis may meet at one position: those kernels are vectorised along a parallel axis only.
    if (plan.scatter && i >= plan.parallelLoops) continue;
    if (kernel.getVector() && plan.loopNames[i] == *kernel.getVector()) best = i;
  }
  for (size_t i = 0; best < 0 && i < count; ++i) {
    if (plan.scatter && i >= plan.parallelLoops) continue;
    if (contiguous[i] == 0) continue;
    auto better = [&](size_t a, size_t b) {
      return std::tuple(contiguous[a], plan.sizes[a]) > std::tuple(contiguous[b], plan.sizes[b]);
    };
    bool isBest = true;
    for (size_t j = 0; j < count; ++j)
      if (j != i && !(plan.scatter && j >= plan.parallelLoops) && better(j, i)) isBest = false;
    if (isBest) best = i;
  }
  plan.vectorLoop = best;
}

void Planner::forEachIndex(llvm::function_ref<void(LinearIndex &)> visit) {
  for (auto &[value, access] : plan.reads) access.forEachIndex(visit);
  for (auto &[op, expr] : plan.positions) expr.forEach(visit);
  for (Access &access : plan.writes) access.forEachIndex(visit);
}

/// Rotates the vector loop to the end of its kind.
void Planner::moveVectorLoopLast() {
  if (plan.vectorLoop < 0) return;
  unsigned from = plan.vectorLoop, to = (plan.isVectorParallel() ? plan.parallelLoops : plan.sizes.size()) - 1;
  auto rotate = [&](auto &list) { std::rotate(list.begin() + from, list.begin() + from + 1, list.begin() + to + 1); };
  rotate(plan.sizes);
  rotate(plan.loopNames);
  forEachIndex([&](LinearIndex &e) { rotate(e.coefficients); });
  plan.vectorLoop = to;
}

/// Makes loops `outer` and `outer + 1` one.
void Planner::mergeWithNext(unsigned outer) {
  plan.sizes[outer + 1] *= plan.sizes[outer];
  plan.sizes.erase(plan.sizes.begin() + outer);
  plan.loopNames[outer + 1] = plan.loopNames[outer] + "_" + plan.loopNames[outer + 1];
  plan.loopNames.erase(plan.loopNames.begin() + outer);
  forEachIndex([&](LinearIndex &e) { e.coefficients.erase(e.coefficients.begin() + outer); });
  if (outer < plan.parallelLoops) --plan.parallelLoops;
  if (plan.vectorLoop > static_cast<int>(outer)) --plan.vectorLoop;
}

void Planner::mergeLoops() {
  int rowsEnd = plan.isVectorParallel() ? plan.vectorLoop : static_cast<int>(plan.parallelLoops);
  for (int outer = static_cast<int>(plan.sizes.size()) - 2; outer >= 0; --outer) {
    unsigned inner = outer + 1;
    if (inner == plan.parallelLoops || (placement && static_cast<int>(inner) == plan.vectorLoop)) continue;
    if (placement && placement->keepsRows && static_cast<int>(inner) + 1 == rowsEnd) continue;
    // Keeps the order of a sum: see `sumLanes`.
    if (plan.isVectorSerial() && static_cast<int>(inner) == plan.vectorLoop && plan.sizes[inner] % plan.sumLanes() != 0)
      continue;
    bool asOne = true;
    forEachIndex([&](LinearIndex &e) { asOne &= e.coefficients[outer] == e.coefficients[inner] * plan.sizes[inner]; });
    if (asOne) mergeWithNext(outer);
  }
}

//===----------------------------------------------------------------------===//
// Reads and writes
//===----------------------------------------------------------------------===//

void Planner::place(Access &access, Type type, const AxisMap &positions) {
  if (!placement || placement->strides[access.argument].empty()) return;
  access.offset =
      linearize(cast<NamedTensorType>(type), positions, plan.sizes.size(), placement->strides[access.argument]);
}

LogicalResult Planner::findReads() {
  size_t loops = plan.sizes.size();
  auto readsAtPoint = [&](Value value) {
    if (isa<BlockArgument>(value)) readAtPoint.insert(value);
  };
  for (Operation &op : block) {
    if (auto scatter = dyn_cast<ScatterAddOp>(op)) {
      plan.scatter = scatter;
      readsAtPoint(scatter.getUpdates());
      llvm::for_each(scatter.getIndices(), readsAtPoint);
      continue;
    }
    llvm::for_each(isView(&op) ? op.getOperands().drop_front() : ValueRange(op.getOperands()), readsAtPoint);
  }
  for (BlockArgument argument : block.getArguments()) {
    if (!readAtPoint.contains(argument)) continue;
    for (AxisAttr axis : tensorType(argument).getAxes())
      if (!point.contains(axis.getName()))
        return kernel.emitError("operand read at each point has axis `") << axis.getName() << "`, which is no loop";
    plan.items.push_back(argument);
    plan.reads[argument] = *resolveAccess(argument, point, loops);
    place(plan.reads[argument], argument.getType(), point);
  }
  for (Operation &op : block.without_terminator()) {
    if (op.getNumResults() != 1) return op.emitError("expected one result in a kernel");
    plan.items.push_back(op.getResult(0));
    if (isView(&op)) {
      FailureOr<Access> access = resolveAccess(op.getResult(0), point, loops);
      if (failed(access)) return failure();
      plan.reads[op.getResult(0)] = *access;
    } else if (auto index = dyn_cast<IndexOp>(op)) {
      plan.positions[&op] = linearize(index.getType(), point, loops);
    } else if (auto random = dyn_cast<RandomOp>(op)) {
      NamedTensorType type = random.getType();
      if (auto canonical = random.getCanonical())
        type = type.withAxes(llvm::map_to_vector(names(*canonical),
                                                 [&](StringRef name) { return type.getAxes()[type.findAxis(name)]; }));
      plan.positions[&op] = linearize(type, point, loops);
    } else if (!op.hasTrait<traits::MayBeInKernel>()) {
      return op.emitError("has no place in a kernel");
    }
  }
  return success();
}

/// A result of `scatter_add` has axes that are no loops: the emitter adds positions along them.
LogicalResult Planner::findWrites() {
  for (auto [i, result] : llvm::enumerate(kernel.getResults())) {
    // Else several iterations would write one element, which one of them may have to read first.
    for (StringRef axis : names(kernel.getParallel()))
      if (!tensorType(result).hasAxis(axis))
        return kernel.emitError("result ") << i << " lacks the parallel axis `" << axis << "`";
    Access access;
    access.argument = kernel.getNumOperands() + i;
    access.element = tensorType(result).getElementType();
    AxisMap positions = point;
    SmallVector<StringRef> scattered = plan.scatter ? names(plan.scatter.getAxes()) : SmallVector<StringRef>();
    for (StringRef axis : scattered) positions.insert_or_assign(axis, LinearIndex(plan.sizes.size()));
    access.offset = linearize(tensorType(result), positions, plan.sizes.size());
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
  return isa<ReduceOp, ScatterAddOp>(op) ? mask & plan.parallelMask() : mask;
}

/// Of a sum of exp(x - shift) the maximum of x, where shift is that maximum, or 0 where it is -infinity.
static Value maximumBeside(ReduceOp sum) {
  auto exp = sum.getX().getDefiningOp<ExpOp>();
  auto difference = exp ? exp.getX().getDefiningOp<SubOp>() : SubOp();
  auto shift = difference ? difference.getRhs().getDefiningOp<SelectOp>() : SelectOp();
  if (sum.getKind() != ReduceKind::Sum || !shift) return {};
  auto isConstant = [](Value value, double number) {
    auto constant = value.getDefiningOp<ConstantOp>();
    auto attr = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
    return attr && attr.getValueAsDouble() == number;
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
      if (Value max = joinsSoftmax ? maximumBeside(reduce) : Value(); max && !plan.softmaxSumOf(max)) {
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

/// docs/ir.md: a result may take the storage of an operand of its type that is read only at the current point.
void Planner::findAliases() {
  for (BlockArgument argument : block.getArguments()) {
    bool sameType = llvm::is_contained(kernel.getResultTypes(), argument.getType());
    bool onlyAtPoint = llvm::none_of(argument.getUsers(),
                                     [&](Operation *user) { return isView(user) && user->getOperand(0) == argument; });
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
    if (!plan.isSoftmaxSum(item)) need(reduce.getX()); // else the maximum has what it needs
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
  mergeLoops();
  findAliases();
  return findDependences();
}

FailureOr<KernelPlan> tessera::planKernel(KernelOp kernel, const RowsPlacement *placement, bool joinsSoftmax) {
  Planner planner(kernel, placement);
  planner.joinsSoftmax = joinsSoftmax;
  if (failed(planner.run())) return failure();
  return std::move(planner.plan);
}
