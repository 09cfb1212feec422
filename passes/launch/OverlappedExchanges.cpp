//===- OverlappedExchanges.cpp - exchanges beside kernels ------------------===//

#include "passes/launch/OverlappedExchanges.h"
#include "ir/dialect/Attributes.h"
#include "passes/analysis/EarlyStarts.h"
#include "passes/analysis/Views.h"

using namespace mlir;
using namespace tessera;

static void mark(StartOp start, StringRef name) { start->setAttr(name, UnitAttr::get(start.getContext())); }

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

/// Moves a start, with the views that it sends, before the last repeat before it, or to the beginning of its block if
/// there is none. Returns whether it did.
static bool moveUp(StartOp start) {
  Block *block = start->getBlock();
  Operation *before = start->getPrevNode();
  while (before && !isa<RepeatOp>(before)) before = before->getPrevNode();
  Operation *maker = viewRoot(start.getX()).getDefiningOp();
  bool isHere = maker && maker->getBlock() == block;
  if (isHere && !(before && maker->isBeforeInBlock(before))) return false;
  if (!before) // behind the starts that are there by now
    for (before = &block->front(); isa<StartOp>(before) || isStorageView(before);) {
      if (before == start) return false;
      before = before->getNextNode();
    }
  for (Operation *view : viewsOfSent(start))
    if (view->getBlock() == block && before->isBeforeInBlock(view)) view->moveBefore(before);
  start->moveBefore(before);
  return true;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

OverlapCounts tessera::overlapExchanges(func::FuncOp function, bool marksLate) {
  OverlapCounts counts;
  SmallVector<StartOp> starts;
  function.walk([&](StartOp start) { starts.push_back(start); });
  for (StartOp start : starts) {
    if (canBeEarly(start)) {
      mark(start, attrs::early);
      ++counts.early;
    } else if (marksLate && canBeLate(start)) {
      mark(start, attrs::late);
      ++counts.late;
    } else if (moveUp(start)) {
      ++counts.moved;
    }
  }
  return counts;
}

void tessera::clearOverlaps(func::FuncOp function) {
  function.walk([](StartOp start) {
    start->removeAttr(attrs::early);
    start->removeAttr(attrs::late);
  });
}
