//===- PeakOrder.cpp - an order of ops with a lower peak ------------------===//
//
// 1. Find the moment where most bytes are live, and the op that runs then.
// 2. An op before it, whose results are not needed until after it, may move to the first op that reads them. An op
//    after it, whose operands are computed before it, may move before it: values that it is the last to read die
//    earlier. The same for the repeats around the op.
// 3. Try the moves that promise most. One that lowers the peak stays. Then go back to 1.
//
// A move is judged by a new plan of the storage, because what shares a buffer depends on the order.
//
//===----------------------------------------------------------------------===//

#include "passes/memory/PeakOrder.h"
#include "ir/program/Program.h"
#include "ir/program/Target.h"
#include "passes/analysis/Timeline.h"
#include "passes/analysis/Views.h"
#include "passes/memory/Storage.h"
#include "llvm/ADT/SetVector.h"
#include <map>

using namespace mlir;
using namespace tessera;

/// A move must lower the peak by this part of it.
static constexpr int64_t leastGainPart = 1024;
/// Moves that stay at most, and those that are tried for each of them.
static constexpr int mostMoves = 8;
static constexpr size_t mostTries = 6;

namespace {
/// Ops, in their order, that go before another one of their block.
struct Move {
  SmallVector<Operation *> ops;
  Operation *before;
  int64_t promise; ///< bytes that may be live no longer at the peak
};

/// What can move away from one moment.
class MoveFinder {
public:
  MoveFinder(func::FuncOp function, int peak)
      : line(function), peak(peak), movesStarts(!Target::of(function).overlapsExchanges) {
    function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      bool runs = line.at(op) <= peak && peak <= line.endOf(op) && !isInsideKernel(op) && !isStorageView(op);
      if (runs && !isa<func::ReturnOp, YieldOp>(op)) findAround(firstOfGroup(op));
    });
    llvm::stable_sort(moves, [](const Move &a, const Move &b) { return a.promise > b.promise; });
  }
  ArrayRef<Move> get() const { return moves; }

private:
  bool mayMove(Operation *op) const {
    if (isa<StartOp>(op) && !movesStarts) return false; // it would end its time beside kernels
    return !isStorageView(op) && !isa<JoinOp>(op) && !op->hasAttr(attrs::fusionGroup) &&
           !op->hasTrait<OpTrait::IsTerminator>();
  }

  /// `op`, or the first op of its fusion group.
  static Operation *firstOfGroup(Operation *op) {
    Attribute group = op->getAttr(attrs::fusionGroup);
    while (group && op->getPrevNode() && op->getPrevNode()->getAttr(attrs::fusionGroup) == group)
      op = op->getPrevNode();
    return op;
  }

  /// `anchor` is the first op of its group.
  void findAround(Operation *anchor) {
    for (Operation &op : *anchor->getBlock()) {
      if (&op == anchor || !mayMove(&op)) continue;
      op.isBeforeInBlock(anchor) ? findLater(&op, anchor) : findEarlier(&op, anchor);
    }
  }

  /// After `anchor`, with the views of its results.
  void findLater(Operation *op, Operation *anchor) {
    llvm::SetVector<Operation *> ops;
    ops.insert(op);
    Operation *first = nullptr; // that reads a result
    for (size_t i = 0; i < ops.size(); ++i)
      for (Operation *user : ops[i]->getUsers()) {
        Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
        if (isStorageView(here))
          ops.insert(here);
        else if (!first || here->isBeforeInBlock(first))
          first = here;
      }
    first = first ? firstOfGroup(first) : nullptr;
    if (!first || !anchor->isBeforeInBlock(first)) return;
    int64_t promise = 0;
    for (Value result : op->getResults()) promise += tensorType(result).getNumBytes();
    add(ops.getArrayRef(), first, promise);
  }

  /// Before `anchor`, with the views that lead to its operands.
  void findEarlier(Operation *op, Operation *anchor) {
    llvm::SetVector<Operation *> ops;
    ops.insert(op);
    bool isReady = true;
    int64_t promise = 0;
    llvm::SmallPtrSet<Value, 8> roots;
    auto visit = [&](Value operand) {
      Operation *producer = operand.getDefiningOp();
      if (producer && producer->getBlock() == op->getBlock() && !producer->isBeforeInBlock(anchor)) {
        isReady &= isStorageView(producer);
        ops.insert(producer);
      }
      Value root = viewRoot(operand);
      bool diesHere =
          root.getDefiningOp() && root.getParentBlock() == op->getBlock() && line.lastUse(root) == line.at(op);
      if (diesHere && line.definition(root) < peak && roots.insert(root).second)
        promise += tensorType(root).getNumBytes();
    };
    for (size_t i = 0; i < ops.size() && isReady; ++i)
      for (Value operand : ops[i]->getOperands()) visit(operand);
    for (Value result : op->getResults()) promise -= tensorType(result).getNumBytes();
    if (isReady) add(ops.getArrayRef(), anchor, promise);
  }

  void add(ArrayRef<Operation *> ops, Operation *before, int64_t promise) {
    if (promise <= 0) return;
    moves.push_back({SmallVector<Operation *>(ops), before, promise});
    llvm::sort(moves.back().ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  }

  Timeline line;
  int peak;
  bool movesStarts;
  std::vector<Move> moves;
};
} // namespace

/// The first moment where most bytes are live.
static int peakMoment(ArrayRef<Lifetime> lifetimes) {
  std::map<int, int64_t> changes;
  for (const LiveSpan &span : liveSpans(lifetimes)) {
    changes[span.start] += span.bytes;
    changes[span.end + 1] -= span.bytes;
  }
  int peak = 0;
  int64_t now = 0, most = 0;
  for (auto [moment, change] : changes)
    if ((now += change) > most) most = now, peak = moment;
  return peak;
}

namespace {
/// Moves that can be taken back.
class Moves {
public:
  void make(const Move &move) {
    for (Operation *op : move.ops) places.push_back({op, op->getNextNode()});
    for (Operation *op : move.ops) op->moveBefore(move.before);
  }
  void takeBack(size_t count) {
    for (; count > 0; --count) {
      auto [op, next] = places.pop_back_val();
      op->moveBefore(next);
    }
  }
  void takeBack() { takeBack(places.size()); }

private:
  SmallVector<std::pair<Operation *, Operation *>> places; ///< ops with those that followed them
};
} // namespace

/// Makes the first move that lowers the peak below `bound` by enough. Returns the new bound.
static std::optional<int64_t> moveOnce(func::FuncOp function, ArrayRef<Move> candidates, int64_t bound, Moves &made) {
  for (const Move &move : candidates.take_front(mostTries)) {
    made.make(move);
    StoragePlan plan(function);
    int64_t now = liveBytesBound(plan.lifetimes());
    if (plan.getCopies().empty() && now < bound - bound / leastGainPart) return now;
    made.takeBack(move.ops.size());
  }
  return std::nullopt;
}

unsigned tessera::lowerPeak(func::FuncOp function) {
  SmallVector<Lifetime> before = StoragePlan(function).lifetimes(), lifetimes = before;
  Moves made;
  unsigned count = 0;
  for (int64_t bound = liveBytesBound(before); count < mostMoves; ++count) {
    std::optional<int64_t> lower = moveOnce(function, MoveFinder(function, peakMoment(lifetimes)).get(), bound, made);
    if (!lower) break;
    bound = *lower;
    lifetimes = StoragePlan(function).lifetimes();
  }
  if (count == 0) return 0;
  int64_t bytes = packBuffers(lifetimes).bytes;
  if (bytes < packingBound(before) || bytes < packBuffers(before).bytes) return count;
  made.takeBack();
  return 0;
}
