//===- EarlyStarts.cpp - exchanges that start an iteration early ----------===//

#include "passes/analysis/EarlyStarts.h"
#include "ir/dialect/Attributes.h"
#include "passes/analysis/LaunchGroups.h"
#include "passes/analysis/Views.h"

using namespace mlir;
using namespace tessera;

static bool isMarked(StartOp start, StringRef name) {
  return start->hasAttr(name) && isa<RepeatOp>(start->getParentOp());
}

bool tessera::isEarly(StartOp start) { return isMarked(start, attrs::early); }
bool tessera::isLate(StartOp start) { return isMarked(start, attrs::late); }

WaitOp tessera::waitOf(StartOp start) {
  for (Operation *user : start.getResult().getUsers())
    if (auto wait = dyn_cast<WaitOp>(user)) return wait;
  return {};
}

BlockArgument tessera::sentArgument(StartOp start) {
  auto argument = dyn_cast<BlockArgument>(viewRoot(start.getX()));
  auto repeat = dyn_cast<RepeatOp>(start->getParentOp());
  if (!argument || !repeat || argument.getOwner() != start->getBlock()) return {};
  return argument.getArgNumber() > repeat.getCarried().size() ? argument : BlockArgument();
}

SmallVector<Operation *> tessera::viewsOfSent(StartOp start) {
  SmallVector<Operation *> views;
  for (Operation *op = start.getX().getDefiningOp(); op && isStorageView(op); op = op->getOperand(0).getDefiningOp())
    views.push_back(op);
  std::reverse(views.begin(), views.end());
  return views;
}

/// The last op of the block that reads `value`, through any view; `last` if none is behind it.
static Operation *lastReader(Value value, Block *block, Operation *last) {
  for (Operation *user : value.getUsers()) {
    Operation *here = block->findAncestorOpInBlock(*user);
    if (isStorageView(user) && here == user)
      last = lastReader(user->getResult(0), block, last);
    else if (last->isBeforeInBlock(here))
      last = here;
  }
  return last;
}

/// The op before which the prologue of a repeat is: as early as what is sent allows, but behind the repeat before it,
/// so that no more than a layer waits in memory, and behind exchanges that start there, since they are needed first.
static Operation *findPrologue(RepeatOp repeat, ArrayRef<StartOp> starts) {
  Operation *last = nullptr; // of those that it must be behind
  auto follow = [&](Operation *op) {
    if (op && op->getBlock() == repeat->getBlock() && (!last || last->isBeforeInBlock(op))) last = op;
  };
  for (StartOp start : starts)
    if (BlockArgument argument = sentArgument(start))
      follow(repeat->getOperand(argument.getArgNumber() - 1).getDefiningOp());
  for (Operation *op = repeat->getPrevNode(); op; op = op->getPrevNode())
    if (isa<RepeatOp>(op)) {
      follow(op);
      break;
    }
  Operation *op = last ? launchOf(last).back()->getNextNode() : &repeat->getBlock()->front();
  while (op != repeat && (isa<StartOp>(op) || isStorageView(op))) op = op->getNextNode();
  return op;
}

void EarlyStarts::visit(Block &block) {
  for (Operation &op : block) {
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      visit(repeat.getBlock());
      if (ArrayRef<StartOp> starts = in(repeat); !starts.empty()) {
        Operation *prologue = prologueOps[repeat] = findPrologue(repeat, starts);
        prologues[prologue].push_back(repeat);
      }
    }
    auto start = dyn_cast<StartOp>(op);
    if (!start || !isEarly(start)) continue;
    inRepeats[start->getParentOp()].push_back(start);
    if (WaitOp wait = waitOf(start))
      behindOps[launchOf(lastReader(wait.getResult(), &block, wait)).front()].push_back(start);
  }
}

EarlyStarts::EarlyStarts(func::FuncOp function) { visit(function.getBody().front()); }
