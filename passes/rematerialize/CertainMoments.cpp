//===- CertainMoments.cpp - live bytes that every plan has ----------------===//

#include "passes/rematerialize/CertainMoments.h"
#include "ir/dialect/Attributes.h"
#include "passes/analysis/Views.h"
#include "passes/rematerialize/BlockUnits.h"
#include "passes/rematerialize/Frontier.h"
#include "passes/rematerialize/LiveValues.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Blocks of the step
//===----------------------------------------------------------------------===//

namespace {
using Pair = std::pair<RepeatOp, RepeatOp>;

class MomentFinder {
public:
  explicit MomentFinder(func::FuncOp step)
      : blocks(stepBlocks(step)), pairs(allLayerPairs(step)), state(valuesOfState(step)) {
    add(blocks.front(), {});
  }

  std::vector<CertainMoment> moments;

private:
  void add(Block *block, const CertainMoment &around);
  /// `during`: while the op, a repeat, runs; else before it.
  CertainMoment momentAt(Operation *op, bool during, const LiveValues &live, const BlockUnits &units,
                         const CertainMoment &around);
  void addStacks(Operation *op, CertainMoment &moment) const;

  std::vector<Block *> blocks;
  std::vector<Pair> pairs;
  llvm::DenseSet<Value> state;
};
} // namespace

/// The pairs with layers that are all saved before `op` of their block. Of pairs with one forward repeat the first
/// counts: what both need is stacked once.
void MomentFinder::addStacks(Operation *op, CertainMoment &moment) const {
  llvm::DenseSet<Operation *> counted;
  auto add = [&](unsigned i) {
    if (counted.insert(pairs[i].first).second) moment.stacks.push_back(i);
  };
  if (moment.running >= 0) add(moment.running);
  for (auto [i, pair] : llvm::enumerate(pairs)) {
    auto [forward, backward] = pair;
    bool isFull = forward->getBlock() == op->getBlock() && forward->isBeforeInBlock(op) &&
                  (op == backward || op->isBeforeInBlock(backward));
    if (isFull) add(i);
  }
}

CertainMoment MomentFinder::momentAt(Operation *op, bool during, const LiveValues &live, const BlockUnits &units,
                                     const CertainMoment &around) {
  CertainMoment moment = around;
  unsigned blockNumber = llvm::find(blocks, op->getBlock()) - blocks.begin();
  int position = live.positionOf(op);
  llvm::DenseMap<Operation *, unsigned> unitOf;
  std::vector<bool> isComputedBefore(units.units.size()); // by a clone, if it is recomputed
  auto isLateRead = [&](const LiveValue::Read &read) {
    Operation *reader = read.use->getOwner();
    return !unitOf.contains(reader) && stepPass(reader) != StepPass::Forward;
  };
  for (auto [i, unit] : llvm::enumerate(units.units))
    for (Operation *unitOp : unit.ops) unitOf[unitOp] = i;
  for (const LiveValue &value : live.values)
    if (auto unit = unitOf.find(value.root.getDefiningOp()); unit != unitOf.end())
      for (const LiveValue::Read &read : value.reads)
        if (isLateRead(read) && (read.position < position || (during && read.position == position)))
          isComputedBefore[unit->second] = true;

  CertainMoment::OfBlock own{blockNumber, {}, llvm::BitVector(units.units.size()), state};
  for (auto [i, isBefore] : llvm::enumerate(isComputedBefore)) own.computed[i] = isBefore;
  for (const LiveValue &value : live.values) {
    auto maker = dyn_cast_or_null<RepeatOp>(value.root.getDefiningOp());
    bool isStack = maker && cast<OpResult>(value.root).getResultNumber() >= maker.getCarried().size();
    if (isStack && llvm::any_of(pairs, [&](const Pair &pair) { return pair.first == maker; })) {
      own.free.insert(value.root); // policies decide about it
      continue;
    }
    if (!(during ? value.isLiveDuring(position) : value.isLiveBefore(position))) continue;
    auto unit = unitOf.find(value.root.getDefiningOp());
    bool isDecided = unit != unitOf.end() && isComputedBefore[unit->second];
    if (unit != unitOf.end() && !isDecided) {
      own.live.insert(value.root);
    } else if (!isDecided ||
               llvm::any_of(value.reads, [&](auto &read) { return read.position >= position && isLateRead(read); })) {
      moment.bytes += value.bytes;
      own.free.insert(value.root);
    }
  }
  // A kernel of a unit may lose results.
  if (!during && !unitOf.contains(op)) moment.bytes += freshResultBytes(op, live);
  if (!own.live.empty()) moment.blocks.push_back(std::move(own));
  if (during)
    for (auto [i, pair] : llvm::enumerate(pairs))
      if (pair.second == op && moment.running < 0) moment.running = static_cast<int>(i);
  addStacks(op, moment);
  return moment;
}

void MomentFinder::add(Block *block, const CertainMoment &around) {
  LiveValues live(*block, state);
  BlockUnits units(*block);
  for (Operation &op : *block) {
    if (isStorageView(&op)) continue;
    moments.push_back(momentAt(&op, false, live, units, around));
    auto repeat = dyn_cast<RepeatOp>(op);
    bool isForwardOfPair = llvm::any_of(pairs, [&](const Pair &pair) { return pair.first == repeat; });
    if (!repeat || isForwardOfPair) continue;
    CertainMoment inside = momentAt(&op, true, live, units, around);
    if (inside.running >= 0) {
      moments.push_back(std::move(inside));
      continue;
    }
    if (llvm::is_contained(blocks, &repeat.getBlock())) {
      inside.bytes += filledSlotBytes(repeat, state);
      add(&repeat.getBlock(), inside);
    } else {
      inside.bytes += mostBytesInside(repeat, state);
      moments.push_back(std::move(inside));
    }
  }
}

std::vector<CertainMoment> tessera::certainMoments(func::FuncOp step) { return MomentFinder(step).moments; }

//===----------------------------------------------------------------------===//
// Backward bodies
//===----------------------------------------------------------------------===//

/// Calls a function for each root that the backward body needs, with what the layers stack of it.
static void forEachStack(const LayerPair &pair,
                         llvm::function_ref<void(Value root, Value stacked, Value slice)> visit) {
  RepeatOp forward = pair.forward, backward = pair.backward;
  unsigned carried = forward.getCarried().size();
  for (auto [operand, slice] : llvm::zip(backward.getSliced(), backward.getSlicedArgs())) {
    auto result = dyn_cast<OpResult>(operand);
    if (!result || result.getOwner() != forward || result.getResultNumber() < carried) continue;
    Value stacked = forward.getYield().getValues()[result.getResultNumber()];
    visit(viewRoot(stacked), stacked, slice);
  }
}

int64_t tessera::leastStackedBytes(const LayerPair &pair, Value root) {
  int64_t bytes = 0;
  llvm::DenseSet<Value> counted;
  forEachStack(pair, [&](Value of, Value stacked, Value) {
    if (of == root && counted.insert(stacked).second) bytes += elementBytes(stacked);
  });
  return bytes == 0 ? elementBytes(root) : std::min(bytes, elementBytes(root));
}

namespace {
/// Which ops of a backward body stay as they are, and read all their operands, whatever is recomputed.
class CertainOps {
public:
  CertainOps(Block &block, ArrayRef<Duplicate> duplicates) {
    for (const Duplicate &duplicate : duplicates) copied.insert(duplicate.backward.getOwner());
    for (Operation &op : llvm::reverse(block))
      if (op.hasTrait<OpTrait::IsTerminator>() || (!copied.contains(&op) && isCertain(&op))) certain.insert(&op);
  }

  bool contains(Operation *op) const { return certain.contains(op); }
  /// Whether an op has results that the backward body may read elsewhere.
  bool isCopy(Operation *op) const { return copied.contains(op); }

private:
  /// A kernel loses results that nothing reads, and what it reads for them.
  bool isCertain(Operation *op) const {
    bool isUsed = false;
    for (Value result : op->getResults()) {
      if (result.use_empty()) continue;
      bool isRead = isReadForCertain(result);
      if (!isRead && isa<KernelOp>(op)) return false;
      isUsed |= isRead;
    }
    return isUsed;
  }
  bool isReadForCertain(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return isStorageView(user) || isa<JoinOp>(user) ? isReadForCertain(user->getResult(0)) : certain.contains(user);
    });
  }

  llvm::DenseSet<Operation *> copied, certain;
};
} // namespace

std::vector<BackwardMoment> tessera::backwardMoments(const LayerPair &pair) {
  RepeatOp backward = pair.backward;
  Block &block = backward.getBlock();
  llvm::DenseSet<Value> state = valuesOfState(backward->getParentOfType<func::FuncOp>());
  CertainOps ops(block, pair.duplicates);
  LiveValues live(block, state);
  llvm::DenseMap<Value, std::pair<int, int>> reads; // of needed roots: the first position and the last
  for (LiveValue &value : live.values)
    llvm::erase_if(value.reads, [&](const LiveValue::Read &read) { return !ops.contains(read.use->getOwner()); });
  std::function<void(Value, Value)> noteReads = [&](Value root, Value value) {
    for (Operation *user : value.getUsers()) {
      if (isStorageView(user)) {
        noteReads(root, user->getResult(0));
      } else if (ops.contains(user)) {
        int position = live.positionOf(user);
        auto [it, isNew] = reads.try_emplace(root, position, position);
        if (!isNew) it->second = {std::min(it->second.first, position), std::max(it->second.second, position)};
      }
    }
  };
  forEachStack(pair, [&](Value root, Value, Value slice) { noteReads(root, slice); });

  std::vector<BackwardMoment> moments;
  for (Operation &op : block) {
    if (isStorageView(&op)) continue;
    int position = live.positionOf(&op);
    auto inner = dyn_cast<RepeatOp>(op);
    bool isInside = inner && ops.contains(&op); // then the moment is while it runs
    BackwardMoment moment{filledSlotBytes(backward, state), {}};
    if (isInside) moment.bytes += mostBytesInside(inner, state);
    for (const LiveValue &value : live.values) {
      Operation *maker = value.root.getDefiningOp();
      if (maker && ops.isCopy(maker)) continue;
      if (isInside ? value.isLiveDuring(position) : value.isLiveBefore(position)) moment.bytes += value.bytes;
    }
    if (ops.contains(&op)) moment.bytes += freshResultBytes(&op, live);
    for (auto [root, range] : reads) {
      bool isHeld = range.first < position && position <= range.second;
      if (isHeld && moment.held.insert(root).second) moment.bytes += leastStackedBytes(pair, root);
    }
    auto same = llvm::find_if(moments, [&](const BackwardMoment &other) { return other.held == moment.held; });
    if (same == moments.end())
      moments.push_back(std::move(moment));
    else
      same->bytes = std::max(same->bytes, moment.bytes);
  }
  return moments;
}

int64_t tessera::joinedBytes(const LayerPair &pair) {
  RepeatOp backward = pair.backward;
  llvm::DenseSet<Value> state = valuesOfState(backward->getParentOfType<func::FuncOp>());
  return (backward.getAxis().getSize() - 1) * filledSlotBytes(backward, state);
}
