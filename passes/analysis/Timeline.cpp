//===- Timeline.cpp - lifetimes of values ---------------------------------===//

#include "passes/analysis/Timeline.h"
#include "passes/analysis/EarlyStarts.h"
#include "passes/analysis/LaunchGroups.h"
#include "passes/analysis/Views.h"

using namespace mlir;
using namespace tessera;

Timeline::Timeline(func::FuncOp function) {
  number(function.getBody().front());
  noteExchanges(function.getBody().front(), EarlyStarts(function));
}

void Timeline::number(Block &block) {
  for (Operation &op : block) {
    bool joins = op.getPrevNode() && isSameLaunch(op.getPrevNode(), &op);
    begin[&op] = joins ? begin.lookup(op.getPrevNode()) : next++;
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      number(repeat.getBlock());
      end[&op] = next++;
    } else {
      end[&op] = begin[&op];
    }
  }
}

void Timeline::noteExchanges(Block &block, const EarlyStarts &early) {
  for (Operation &op : block) {
    if (auto repeat = dyn_cast<RepeatOp>(op)) noteExchanges(repeat.getBlock(), early);
    auto start = dyn_cast<StartOp>(op);
    if (!start || !(isEarly(start) || isLate(start))) continue;
    auto around = cast<RepeatOp>(start->getParentOp());
    std::pair<int, int> moments{at(isEarly(start) ? early.prologueOf(around) : around.getOperation()), endOf(around)};
    overlapped[start.getResult()] = moments;
    if (WaitOp wait = waitOf(start)) overlapped[wait.getResult()] = moments;
    if (isLate(start)) overlapped[viewRoot(start.getX())] = moments;
  }
}

int Timeline::definition(Value root) const {
  if (auto found = overlapped.find(root); found != overlapped.end()) return found->second.first;
  if (auto join = root.getDefiningOp<JoinOp>()) {
    // Its buffer is in use once the first part is written.
    int first = at(join);
    for (Value part : join.getParts()) first = std::min(first, definition(viewRoot(part)));
    return first;
  }
  // What is received fills its buffer from the start on.
  if (auto wait = root.getDefiningOp<WaitOp>()) return at(wait.getStarted().getDefiningOp());
  if (Operation *op = root.getDefiningOp()) return at(op);
  Operation *parent = root.getParentBlock()->getParentOp();
  return isa<RepeatOp>(parent) ? at(parent) : 0;
}

int Timeline::lastUseOfAlias(Value value) const {
  int last = 0;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isStorageView(user)) {
      last = std::max(last, lastUseOfAlias(user->getResult(0)));
      continue;
    }
    auto repeat = dyn_cast<RepeatOp>(user);
    bool isCarried = repeat && use.getOperandNumber() < repeat.getCarried().size();
    last = std::max(last, isCarried ? at(user) : endOf(user));
  }
  return last;
}

int Timeline::lastUse(Value root) const {
  if (auto found = overlapped.find(root); found != overlapped.end()) return found->second.second;
  Operation *op = root.getDefiningOp();
  int last = lastUseOfAlias(root);
  // The parts are in the buffer of the joined value.
  if (auto join = dyn_cast_or_null<JoinOp>(op))
    for (Value part : join.getParts()) last = std::max(last, lastUse(viewRoot(part)));
  return std::max(op ? endOf(op) : definition(root), last);
}
