//===- OverlappedExchanges.cpp - exchanges beside kernels ------------------===//

#include "passes/launch/OverlappedExchanges.h"
#include "ir/dialect/Attributes.h"
#include "passes/analysis/EarlyStarts.h"
#include "passes/analysis/Views.h"

using namespace mlir;
using namespace tessera;

/// Calls `visit` with each use of `value`, or of a view of it, that is no view.
static bool allUses(Value value, llvm::function_ref<bool(OpOperand &)> visit) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    return isStorageView(user) ? allUses(user->getResult(0), visit) : visit(use);
  });
}

//===----------------------------------------------------------------------===//
// Early exchanges
//===----------------------------------------------------------------------===//

/// Whether a use only reads its operand where it is: a value that is yielded, joined or added to should be in the place
/// of another one.
static bool onlyReads(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto contract = dyn_cast<ContractOp>(user)) return use.get() != contract.getInit();
  if (auto repeat = dyn_cast<RepeatOp>(user)) return use.getOperandNumber() >= repeat.getCarried().size();
  return isa<KernelOp, TiledOp>(user);
}

static bool canBeEarly(StartOp start) {
  if (!sentArgument(start) || !start->hasOneUse()) return false;
  WaitOp wait = waitOf(start);
  return wait && !wait->use_empty() && allUses(wait.getResult(), onlyReads);
}

//===----------------------------------------------------------------------===//
// Late exchanges
//===----------------------------------------------------------------------===//

/// Whether all that depends on `value` are kernels and exchanges of its block, and what the repeat around it stacks.
static bool onlyLeaves(Value value) {
  return allUses(value, [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto yield = dyn_cast<YieldOp>(user)) {
      auto repeat = dyn_cast<RepeatOp>(yield->getParentOp());
      return repeat && use.getOperandNumber() >= repeat.getCarried().size();
    }
    if (auto start = dyn_cast<StartOp>(user)) return waitOf(start) && onlyLeaves(waitOf(start).getResult());
    if (isa<WaitOp>(user)) return true; // which keeps what is sent
    return isa<KernelOp>(user) && llvm::all_of(user->getResults(), onlyLeaves);
  });
}

/// Whether a value is made in the block, with a place that it needs with no other value.
static bool hasOwnPlace(Value value, Block *block) {
  Operation *maker = value.getDefiningOp();
  if (!maker || maker->getBlock() != block) return false;
  if (!allUses(value, [](OpOperand &use) { return isa<StartOp, WaitOp>(use.getOwner()) || onlyReads(use); }))
    return false;
  auto contract = dyn_cast<ContractOp>(maker);
  return isa<KernelOp, TiledOp>(maker) || (contract && !contract.getInit());
}

static bool canBeLate(StartOp start) {
  if (!isa<RepeatOp>(start->getParentOp()) || !start->hasOneUse()) return false;
  WaitOp wait = waitOf(start);
  return wait && hasOwnPlace(viewRoot(start.getX()), start->getBlock()) && onlyLeaves(wait.getResult());
}

bool tessera::readsLate(Operation *op) {
  return llvm::any_of(op->getOperands(), [](Value operand) {
    auto wait = viewRoot(operand).getDefiningOp<WaitOp>();
    return wait && isLate(wait.getStarted().getDefiningOp<StartOp>());
  });
}

//===----------------------------------------------------------------------===//
// Starts that move
//===----------------------------------------------------------------------===//

static Operation *repeatBefore(StartOp start) {
  Operation *op = start->getPrevNode();
  while (op && !isa<RepeatOp>(op)) op = op->getPrevNode();
  return op;
}

/// Whether what is sent is there before the last repeat before the start; at the beginning of the block, if there is
/// none.
static bool canMoveUp(StartOp start) {
  Operation *maker = viewRoot(start.getX()).getDefiningOp(), *repeat = repeatBefore(start);
  return !maker || maker->getBlock() != start->getBlock() || (repeat && maker->isBeforeInBlock(repeat));
}

/// Moves a start there, with the views that it sends.
static void moveUp(StartOp start) {
  Operation *before = repeatBefore(start);
  if (!before) // behind the starts that are there by now
    for (before = &start->getBlock()->front(); isa<StartOp>(before) || isStorageView(before);) {
      if (before == start) return;
      before = before->getNextNode();
    }
  for (Operation *view : viewsOfSent(start))
    if (before->isBeforeInBlock(view)) view->moveBefore(before);
  start->moveBefore(before);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

SmallVector<Overlap> tessera::findOverlaps(func::FuncOp function) {
  SmallVector<Overlap> found;
  function.walk([&](StartOp start) {
    int64_t received = start.getType().getNumBytes();
    if (canBeEarly(start))
      found.push_back({Overlap::Kind::Early, start, received});
    else if (canBeLate(start))
      found.push_back({Overlap::Kind::Late, start, received + tensorType(start.getX()).getNumBytes()});
    else if (canMoveUp(start))
      found.push_back({Overlap::Kind::Moved, start, received});
  });
  return found;
}

void tessera::applyOverlaps(ArrayRef<Overlap> overlaps) {
  for (const Overlap &overlap : overlaps) {
    StartOp start = overlap.start;
    if (overlap.kind == Overlap::Kind::Moved)
      moveUp(start);
    else
      start->setAttr(overlap.kind == Overlap::Kind::Early ? attrs::early : attrs::late,
                     UnitAttr::get(start.getContext()));
  }
}

void tessera::clearOverlaps(func::FuncOp function) {
  function.walk([](StartOp start) {
    start->removeAttr(attrs::early);
    start->removeAttr(attrs::late);
  });
}
