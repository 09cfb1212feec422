//===- EarlySums.cpp - values that a sum reads, and what waits for the sum ----------------===//
//
//   before   %q = tsr.mul %g, %g                 squares, for the norm of all gradients and for a second moment
//            %r = tsr.reduce sum %q              %finite follows from the sum of all such sums
//            %v = … %q …
//            %next = tsr.select %finite, %v, %old
//   after    %p = tsr.mul %g, %g
//            %r = tsr.reduce sum %p
//            %q = tsr.mul %g, %g
//            %v = … %q …
//            %next = tsr.select %finite, %v, %old
//
// One kernel would compute %q, %r and %v, and store %v until %finite is known. With an op of its own the sum runs
// alone, and what waits for it is one kernel, which reads %g again and stores nothing in between.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/Attributes.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Views.h"
#include "passes/fusion/Groups.h"
#include "passes/fusion/Prepare.h"

using namespace mlir;
using namespace tessera;

/// What a sum may compute again, in ops.
static constexpr unsigned mostRecomputed = 4;

static bool isPointwise(Operation *op) { return isa<ElementwiseOpInterface>(op) && !isa<ReorderOp>(op); }

/// Whether no kernel contains both ops if the second one follows from the first one.
static bool isInOtherKernel(ReduceOp sum, Operation *op) {
  if (!op->hasTrait<traits::MayBeInKernel>()) return true;
  auto other = dyn_cast<ReduceOp>(op);
  return other && other.getOver() != sum.getOver();
}

namespace {
/// The ops of a block that follow from a sum.
struct Following {
  explicit Following(ReduceOp sum);
  /// Whether pointwise ops that do not follow from the sum lead from `value` to an op that waits for it.
  bool isReached(Value value) const;

  DenseSet<Operation *> ops, waiting; ///< all; those that follow by way of another kernel
};
} // namespace

Following::Following(ReduceOp sum) : ops{sum} {
  for (Operation *op = sum->getNextNode(); op; op = op->getNextNode())
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || !ops.contains(producer)) continue;
      ops.insert(op);
      if (waiting.contains(producer) || isInOtherKernel(sum, op)) waiting.insert(op);
    }
}

bool Following::isReached(Value value) const {
  SmallVector<Value> work{value};
  DenseSet<Operation *> seen;
  while (!work.empty())
    for (Operation *user : work.pop_back_val().getUsers()) {
      if (!isPointwise(user) || user->getBlock() != value.getParentBlock() || !seen.insert(user).second) continue;
      if (waiting.contains(user)) return true;
      if (!ops.contains(user)) work.push_back(user->getResult(0));
    }
  return false;
}

/// The ops, in an order in which they can be computed, that compute `value` from values in memory; too many if there
/// are more than `mostRecomputed`.
static void collectRecomputed(Value value, llvm::SmallSetVector<Operation *, mostRecomputed> &ops) {
  Operation *op = value.getDefiningOp();
  if (!op || !isPointwise(op) || isRecomputed(op) || ops.contains(op) || ops.size() > mostRecomputed) return;
  for (Value operand : op->getOperands()) collectRecomputed(operand, ops);
  ops.insert(op);
}

static void recomputeFor(ReduceOp sum) {
  Value summed = sum.getX();
  Operation *op = summed.getDefiningOp();
  if (!op || summed.hasOneUse() || op->getBlock() != sum->getBlock() || !isPointwise(op) || isRecomputed(op)) return;
  if (!Following(sum).isReached(summed)) return;
  llvm::SmallSetVector<Operation *, mostRecomputed> ops;
  collectRecomputed(summed, ops);
  if (ops.size() > mostRecomputed) return;
  OpBuilder builder(sum);
  IRMapping map;
  for (Operation *member : ops) builder.clone(*member, map);
  sum.getXMutable().assign(map.lookup(summed));
}

void tessera::separateEarlySums(ModuleOp module) {
  SmallVector<ReduceOp> sums;
  module.walk([&](ReduceOp sum) { sums.push_back(sum); });
  for (ReduceOp sum : sums) recomputeFor(sum);
}
