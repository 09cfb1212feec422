//===- Launches.cpp - horizontal fusion of kernels ------------------------===//
//
//   before   %a = tsr.kernel "sum" (%da) …       after   %a = tsr.kernel "sum" (%da) … {tsr.group = 0}
//            %c = tsr.kernel "add" (%a) …                %b = tsr.kernel "sum" (%db) … {tsr.group = 0}
//            %b = tsr.kernel "sum" (%db) …               %c = tsr.kernel "add" (%a) … {tsr.group = 1}
//            %d = tsr.kernel "add" (%b) …                %d = tsr.kernel "add" (%b) … {tsr.group = 1}
//
// List scheduling of each block, in program order. A kernel is deferred until
//
//   another op needs its result,
//   or operands would live on beyond their last other uses, and there is no room for them in memory,
//   or the block ends.
//
// Then it is issued, together with all other kernels whose operands are available: deferred ones, and small ones from
// further down. Kernels that end up alone keep their place: the scheduling is repeated without them.
//
//===----------------------------------------------------------------------===//

#include "passes/launch/Launches.h"
#include "ir/program/Program.h"
#include "passes/analysis/Views.h"
#include "passes/launch/FusedLaunch.h"
#include "passes/launch/OverlappedExchanges.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace tessera;

/// A kernel that reads and writes at most this is *small*: about what memory transfers during a launch.
static constexpr int64_t smallBytes = 4 << 20;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static int64_t bytesOf(Value value) { return tensorType(value).getNumBytes(); }

/// Whether the kernel makes one sweep: no result of a reduction is needed at the elements of its row. Such kernels need
/// few registers.
static bool isSingleSweep(KernelOp kernel) {
  llvm::SmallPtrSet<Operation *, 16> afterSums;
  auto followsFromSum = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return op && (isa<ReduceOp>(op) || afterSums.contains(op));
  };
  auto points = static_cast<int64_t>(kernel.getParallel().size() + kernel.getSerial().size());
  for (Operation &op : kernel.getBlock()) {
    if (llvm::none_of(op.getOperands(), followsFromSum)) continue;
    if (isa<ReduceOp>(op)) return false;
    afterSums.insert(&op);
    for (Value operand : op.getOperands()) // yielded
      if (isa<YieldOp>(op) && followsFromSum(operand) && tensorType(operand).getRank() == points) return false;
  }
  return true;
}

static bool scatters(KernelOp kernel) {
  return llvm::any_of(kernel.getBlock(), [](Operation &op) { return isa<ScatterAddOp>(op); });
}

namespace {
/// A kernel that may be fused.
struct FusionCandidate {
  KernelOp kernel;
  int position;        ///< in the block
  int64_t bytes = 0;   ///< read and written
  bool isLight = true; ///< needs few registers, so that it may be fused with large kernels
  bool isLate = false; ///< waits for a late exchange, for which kernels of others should not wait
  /// The position before which it must be issued: with the room that there is in memory, without it, and the one of the
  /// two that is in force.
  int deadline = 0, strict = 0, last = 0;
  bool mayAdvance = false;

  bool isSmall() const { return bytes <= smallBytes; }
};

//===----------------------------------------------------------------------===//
// Launches of a block
//===----------------------------------------------------------------------===//

using OpSet = llvm::SmallPtrSet<Operation *, 32>;

class LaunchFinder {
public:
  LaunchFinder(Block &block, const MemoryRoom &memory);

  /// All kernels that may be fused.
  OpSet getCandidates() const;
  /// Computes an order of the block's ops and its launches, moving only `movable`; those in `strict` use no room.
  void find(OpSet movable, const OpSet &strict);

  SmallVector<Operation *> order;
  std::vector<SmallVector<Operation *>> launches;

private:
  void note(KernelOp kernel, const MemoryRoom &memory);
  int lastUseBesides(Value value, Operation *op) const;
  void schedule(const OpSet &movable);
  void issueUntil(Operation *needed, int now, const OpSet &movable);
  SmallVector<FusionCandidate *> groupOf(FusionCandidate &first, int now, const OpSet &movable);
  bool isDone(Operation *op) const { return done.contains(op); }
  bool isReady(Operation *op) const;
  Operation *waitsFor(Operation *op) const;
  void put(Operation *op);
  void putViewsOf(Operation *op);

  SmallVector<Operation *> original;
  llvm::DenseMap<Operation *, int> positions;
  llvm::DenseMap<Operation *, SmallVector<Operation *>> makers; ///< of an op's operands, in the block
  std::vector<FusionCandidate> candidates;
  llvm::DenseMap<Operation *, unsigned> numbers; ///< of candidates
  OpSet done;
};
} // namespace

LaunchFinder::LaunchFinder(Block &block, const MemoryRoom &memory) {
  for (Operation &op : block) {
    positions[&op] = static_cast<int>(original.size());
    original.push_back(&op);
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *maker = operand.getDefiningOp(); maker && maker->getBlock() == &block)
          makers[&op].push_back(maker);
    });
  }
  for (Operation *op : original)
    if (auto kernel = dyn_cast<KernelOp>(op)) note(kernel, memory);
}

OpSet LaunchFinder::getCandidates() const {
  OpSet all;
  for (const FusionCandidate &candidate : candidates) all.insert(candidate.kernel);
  return all;
}

/// The position of the last op that reads `value`, through any view; -1 if none does.
int LaunchFinder::lastUseBesides(Value value, Operation *op) const {
  int last = -1;
  for (Operation *user : value.getUsers()) {
    if (user == op) continue;
    if (isStorageView(user))
      last = std::max(last, lastUseBesides(user->getResult(0), op));
    else
      last = std::max(last, positions.lookup(op->getBlock()->findAncestorOpInBlock(*user)));
  }
  return last;
}

/// A kernel may be deferred as long as there is room for the operands that it keeps alive, minus the results that it
/// has not written yet.
void LaunchFinder::note(KernelOp kernel, const MemoryRoom &memory) {
  FusionCandidate candidate{kernel, positions.lookup(kernel)};
  candidate.isLight = isSingleSweep(kernel);
  candidate.isLate = readsLate(kernel);
  for (Value value : kernel.getInputs()) candidate.bytes += bytesOf(value);
  for (Value value : kernel.getResults()) candidate.bytes += bytesOf(value);
  if (scatters(kernel) || !(candidate.isLight || candidate.isSmall())) return;

  // State and stacks have permanent places.
  int64_t made = 0;
  for (Value result : kernel.getResults())
    if (!llvm::is_contained(original.back()->getOperands(), result)) made += bytesOf(result);
  SmallVector<std::pair<int, int64_t>> ends; // of operands
  llvm::SmallPtrSet<Value, 8> roots;
  for (Value operand : kernel.getInputs()) {
    Value root = viewRoot(operand);
    if (!root.getDefiningOp() || root.getParentBlock() != kernel->getBlock() || !roots.insert(root).second) continue;
    ends.push_back({std::max(lastUseBesides(root, kernel), candidate.position), bytesOf(root)});
  }
  int64_t freed = 0;
  for (auto [end, bytes] : ends)
    if (end == candidate.position) freed += bytes;
  auto deadlineFor = [&](bool usesRoom) {
    for (int end = candidate.position + 1; end < static_cast<int>(original.size()); ++end) {
      int64_t kept = -made, room = memory.slack;
      for (auto [last, bytes] : ends)
        if (last <= end) kept += bytes;
      if (usesRoom) room = std::max(room, memory.room.lookup(original[end]));
      if (kept > room) return end;
    }
    return static_cast<int>(original.size());
  };
  candidate.deadline = deadlineFor(true), candidate.strict = deadlineFor(false);
  candidate.mayAdvance = candidate.isSmall() && made - freed <= memory.slack;
  numbers[kernel] = candidates.size();
  candidates.push_back(candidate);
}

//===----------------------------------------------------------------------===//
// The order
//===----------------------------------------------------------------------===//

void LaunchFinder::put(Operation *op) {
  putViewsOf(op);
  if (done.insert(op).second) order.push_back(op);
}

void LaunchFinder::putViewsOf(Operation *op) {
  for (Operation *maker : makers.lookup(op))
    if (!isDone(maker)) put(maker);
}

/// Whether all operands of an op are available; views are placed where they are needed.
bool LaunchFinder::isReady(Operation *op) const {
  return llvm::all_of(makers.lookup(op),
                      [&](Operation *maker) { return isDone(maker) || (isStorageView(maker) && isReady(maker)); });
}

/// A ready op that `op` depends on, or `op` itself.
Operation *LaunchFinder::waitsFor(Operation *op) const {
  for (Operation *maker : makers.lookup(op))
    if (!isDone(maker) && !(isStorageView(maker) && isReady(maker))) return waitsFor(maker);
  return op;
}

/// The kernels that are issued with `first`: all small, or all light, so that none limits the occupancy of a large one.
SmallVector<FusionCandidate *> LaunchFinder::groupOf(FusionCandidate &first, int now, const OpSet &movable) {
  SmallVector<FusionCandidate *> group;
  bool areSmall = first.isSmall(), areLight = first.isLight;
  int64_t pointers = first.kernel->getNumOperands() + first.kernel->getNumResults();
  for (FusionCandidate &other : candidates) {
    Operation *op = other.kernel;
    int64_t own = op->getNumOperands() + op->getNumResults();
    if (&other == &first) {
      group.push_back(&other);
      continue;
    }
    bool small = areSmall && other.isSmall(), light = areLight && other.isLight;
    if (other.isLate != first.isLate || !(small || light) || pointers + own > mostPointers ||
        !(other.position <= now || other.mayAdvance))
      continue;
    if (isDone(op) || !movable.contains(op) || !isReady(op)) continue;
    group.push_back(&other);
    areSmall = small, areLight = light, pointers += own;
  }
  return group;
}

/// Issues kernels until the operands of `needed` are available, and `needed` itself.
void LaunchFinder::issueUntil(Operation *needed, int now, const OpSet &movable) {
  while (!isDone(needed)) {
    Operation *next = waitsFor(needed);
    if (!movable.contains(next)) return put(next);
    SmallVector<FusionCandidate *> group = groupOf(candidates[numbers.lookup(next)], now, movable);
    for (FusionCandidate *member : group) putViewsOf(member->kernel);
    // Large ones first, so that the last blocks to end are short. Equal kernels have one name and become adjacent.
    llvm::stable_sort(group, [](const FusionCandidate *a, const FusionCandidate *b) {
      KernelOp left = a->kernel, right = b->kernel;
      return a->bytes != b->bytes ? a->bytes > b->bytes : left.getName() < right.getName();
    });
    for (FusionCandidate *member : group) put(member->kernel);
    launches.push_back(
        llvm::map_to_vector(group, [](FusionCandidate *member) { return member->kernel.getOperation(); }));
  }
}

void LaunchFinder::schedule(const OpSet &movable) {
  order.clear(), launches.clear(), done.clear();
  for (auto [i, op] : llvm::enumerate(ArrayRef(original).drop_back())) {
    auto now = static_cast<int>(i);
    for (const FusionCandidate &candidate : candidates)
      if (candidate.last == now && movable.contains(candidate.kernel)) issueUntil(candidate.kernel, now, movable);
    if (isStorageView(op)) {
      if (isReady(op)) put(op);
    } else if (!movable.contains(op)) {
      issueUntil(op, now, movable);
    }
  }
  for (Operation *op : original) issueUntil(op, static_cast<int>(original.size()), movable); // the block ends
}

void LaunchFinder::find(OpSet movable, const OpSet &strict) {
  for (FusionCandidate &candidate : candidates)
    candidate.last = strict.contains(candidate.kernel) ? candidate.strict : candidate.deadline;
  for (bool changes = true; changes;) {
    schedule(movable);
    changes = false;
    for (const SmallVector<Operation *> &launch : launches)
      if (launch.size() == 1) changes |= movable.erase(launch.front());
  }
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Applies an order of a block's ops and marks its launches, numbered from `number` on.
static void write(Block &block, ArrayRef<Operation *> order, ArrayRef<SmallVector<Operation *>> launches,
                  int64_t number) {
  Builder builder(block.getParentOp()->getContext());
  for (Operation *op : order) {
    op->moveBefore(&block, block.end());
    op->removeAttr(attrs::fusionGroup);
  }
  for (auto [i, launch] : llvm::enumerate(launches))
    for (Operation *op : launch)
      op->setAttr(attrs::fusionGroup, builder.getI64IntegerAttr(number + static_cast<int64_t>(i)));
}

/// Calls `take` with all of `launches`; if it refuses, with each half, recursively. So a few bad launches cost a
/// logarithmic number of attempts each.
static void takeInParts(ArrayRef<SmallVector<Operation *>> launches, llvm::function_ref<bool(const OpSet &)> take) {
  if (launches.empty()) return;
  OpSet together;
  for (const SmallVector<Operation *> &launch : launches) together.insert(launch.begin(), launch.end());
  if (take(together) || launches.size() == 1) return;
  takeInParts(launches.take_front(launches.size() / 2), take);
  takeInParts(launches.drop_front(launches.size() / 2), take);
}

/// Forms the launches of a block that are good. Returns how many.
static size_t formInBlock(Block &block, const MemoryRoom &memory, int64_t number, llvm::function_ref<bool()> isGood) {
  LaunchFinder finder(block, memory);
  const OpSet all = finder.getCandidates();
  OpSet strict, taken;
  auto isTaken = [&](const OpSet &movable) {
    finder.find(movable, strict);
    write(block, finder.order, finder.launches, number);
    return finder.launches.empty() || isGood();
  };
  if (isTaken(all)) return finder.launches.size();
  strict = all; // several kernels used the same room: none may use any
  if (isTaken(all)) return finder.launches.size();
  std::vector<SmallVector<Operation *>> wanted = finder.launches;
  takeInParts(wanted, [&](const OpSet &some) {
    OpSet more = taken;
    more.insert(some.begin(), some.end());
    if (!isTaken(more)) return false;
    taken = more;
    return true;
  });
  isTaken(taken);
  return finder.launches.size();
}

/// The blocks of a function's body and of the repeats in it.
static SmallVector<Block *> blocksOf(func::FuncOp function) {
  SmallVector<Block *> blocks{&function.getBody().front()};
  function.walk([&](RepeatOp repeat) { blocks.push_back(&repeat.getBlock()); });
  return blocks;
}

OpOrder::OpOrder(func::FuncOp function) {
  for (Block *block : blocksOf(function)) {
    blocks.emplace_back(block, SmallVector<Operation *>());
    for (Operation &op : *block) blocks.back().second.push_back(&op);
  }
}

void OpOrder::restore() const {
  for (const auto &[block, ops] : blocks) write(*block, ops, {}, 0);
}

unsigned tessera::formLaunches(func::FuncOp function, const MemoryRoom &memory, llvm::function_ref<bool()> isGood) {
  int64_t launches = 0;
  for (Block *block : blocksOf(function))
    launches += static_cast<int64_t>(formInBlock(*block, memory, launches, isGood));
  unsigned marked = 0;
  function.walk([&](KernelOp kernel) { marked += kernel->hasAttr(attrs::fusionGroup); });
  return marked - static_cast<unsigned>(launches);
}

unsigned tessera::splitLaunches(func::FuncOp function, const Target &target) {
  std::vector<SmallVector<KernelOp>> launches;
  function.walk([&](KernelOp kernel) {
    if (!kernel->hasAttr(attrs::fusionGroup)) return;
    if (!kernel->getPrevNode() || !isSameLaunch(kernel->getPrevNode(), kernel)) launches.emplace_back();
    launches.back().push_back(kernel);
  });
  Builder builder(function.getContext());
  int64_t number = 0;
  unsigned split = 0;
  for (ArrayRef<KernelOp> left : launches)
    for (bool isFirst = true; !left.empty(); isFirst = false) {
      size_t count = countFusible(left, target);
      for (KernelOp kernel : left.take_front(count)) {
        kernel->removeAttr(attrs::fusionGroup);
        if (count > 1) kernel->setAttr(attrs::fusionGroup, builder.getI64IntegerAttr(number));
      }
      number += count > 1;
      split += isFirst ? 0 : 1;
      left = left.drop_front(count);
    }
  return split;
}
