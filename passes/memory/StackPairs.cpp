//===- StackPairs.cpp - stacks that one loop empties and fills ------------===//

#include "passes/memory/StackPairs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <limits>
#include <map>
#include <vector>

using namespace tessera;
using llvm::ArrayRef;
using llvm::SmallVector;

/// In iteration i the slots of the old stack from its own on are still to be read, and the slot of the fresh one is
/// written:
///
///   backwards, fresh above   distance + i · new ≥ (i + 1) · old
///   forwards, old above      distance + i · old ≥ (i + 1) · new
///
/// for all i. It is linear in i, so the first and the last one decide. The other way round they cannot share.
int64_t tessera::leastDistance(const Lifetime &lower, const Lifetime &upper) {
  bool isOldBelow = areStackPair(lower, upper), isFreshBelow = areStackPair(upper, lower);
  const StackUse &use = isOldBelow ? lower.emptied : lower.filled;
  if ((!isOldBelow && !isFreshBelow) || isOldBelow != use.backwards) return alignedBytes(lower.bytes);
  const StackUse &otherUse = isOldBelow ? upper.filled : upper.emptied;
  int64_t slot = lower.slotOf(use), above = upper.slotOf(otherUse);
  int64_t distance = std::max(slot, use.slots * slot - (use.slots - 1) * above);
  // Where slots are smaller than the alignment, rounding must not let one stack end up within the other: so there are
  // always bytes of `upper` that `lower` may not have.
  int64_t size = alignedBytes(lower.bytes), notWithin = size - alignedBytes(upper.bytes) + bufferAlignment;
  return std::min(std::max(alignedBytes(distance), notWithin), size);
}

int64_t tessera::sharedBytes(const Lifetime &old, const Lifetime &fresh) {
  if (!areStackPair(old, fresh)) return 0;
  const Lifetime &lower = old.emptied.backwards ? old : fresh, &upper = old.emptied.backwards ? fresh : old;
  return alignedBytes(lower.bytes) - leastDistance(lower, upper);
}

namespace {
/// The stacks of one loop.
struct LoopStacks {
  SmallVector<unsigned> old, fresh;
};

/// Pairs old stacks with fresh ones so that they share most, and finds prices: what pairs share is at most the sum of
/// their prices, and over the best pairs equal to it. So no pairs share more than the prices of their stacks. (The
/// Hungarian method; none of the prices is negative, because each old stack may also stay alone.)
class StackMatching {
public:
  StackMatching(ArrayRef<Lifetime> buffers, const LoopStacks &stacks)
      : rows(stacks.old.size()), columns(stacks.fresh.size() + rows), oldPrices(rows, 0), freshPrices(columns, 0),
        partner(columns, -1) {
    for (unsigned old : stacks.old)
      for (unsigned fresh : stacks.fresh) table.push_back(sharedBytes(buffers[old], buffers[fresh]));
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column) oldPrices[row] = std::max(oldPrices[row], shared(row, column));
    for (int row = 0; row < rows; ++row) add(row);
  }

  int64_t oldPrice(unsigned row) const { return oldPrices[row]; }
  int64_t freshPrice(unsigned column) const { return freshPrices[column]; }

private:
  /// Columns after the fresh stacks stand for "alone".
  int64_t shared(int row, int column) const {
    int fresh = columns - rows;
    return column < fresh ? table[row * fresh + column] : 0;
  }

  /// One more row, along the path that costs least.
  void add(int row) {
    SmallVector<int64_t> slack(columns, std::numeric_limits<int64_t>::max());
    SmallVector<int> from(columns, -1), reached; // `from`: the row that the slack of a column is of
    SmallVector<bool> isReached(columns, false);
    SmallVector<int> rowsReached{row};
    while (true) {
      int last = rowsReached.back(), next = -1;
      for (int column = 0; column < columns; ++column) {
        if (isReached[column]) continue;
        int64_t here = oldPrices[last] + freshPrices[column] - shared(last, column);
        if (here < slack[column]) slack[column] = here, from[column] = last;
        bool isBetter = next < 0 || slack[column] < slack[next] ||
                        (slack[column] == slack[next] && partner[column] < 0 && partner[next] >= 0);
        if (isBetter) next = column;
      }
      int64_t change = slack[next];
      for (int other : rowsReached) oldPrices[other] -= change;
      for (int column = 0; column < columns; ++column)
        isReached[column] ? freshPrices[column] += change : slack[column] -= change;
      isReached[next] = true;
      if (partner[next] < 0) return pairAlong(next, from);
      rowsReached.push_back(partner[next]);
    }
  }

  void pairAlong(int column, ArrayRef<int> from) {
    while (column >= 0) {
      int row = from[column];
      int before = llvm::find(partner, row) - partner.begin();
      partner[column] = row;
      column = before < columns ? before : -1;
    }
  }

  int rows, columns;
  std::vector<int64_t> table; ///< what each two share
  SmallVector<int64_t> oldPrices, freshPrices;
  SmallVector<int> partner; ///< of each column; -1: none yet
};
} // namespace

static std::map<int, LoopStacks> stacksOfLoops(ArrayRef<Lifetime> buffers) {
  std::map<int, LoopStacks> loops;
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    if (buffer.emptied.loop >= 0) loops[buffer.emptied.loop].old.push_back(i);
    if (buffer.filled.loop >= 0) loops[buffer.filled.loop].fresh.push_back(i);
  }
  return loops;
}

static void countShared(ArrayRef<Lifetime> buffers, const LoopStacks &stacks, SharedCount count,
                        SmallVector<SharedPart> &parts) {
  if (count == SharedCount::Divided) {
    StackMatching matching(buffers, stacks);
    for (auto [row, old] : llvm::enumerate(stacks.old)) parts[old].asOld = matching.oldPrice(row);
    for (auto [column, fresh] : llvm::enumerate(stacks.fresh)) parts[fresh].asFresh = matching.freshPrice(column);
    return;
  }
  for (unsigned old : stacks.old)
    for (unsigned fresh : stacks.fresh) {
      int64_t &counted = count == SharedCount::Old ? parts[old].asOld : parts[fresh].asFresh;
      counted = std::max(counted, sharedBytes(buffers[old], buffers[fresh]));
    }
}

SmallVector<SharedPart> tessera::mostShared(ArrayRef<Lifetime> buffers, SharedCount count) {
  SmallVector<SharedPart> parts(buffers.size());
  for (const auto &[loop, stacks] : stacksOfLoops(buffers)) {
    if (stacks.old.empty() || stacks.fresh.empty()) continue;
    countShared(buffers, stacks, count, parts);
    int begin = buffers[stacks.fresh.front()].start, end = buffers[stacks.old.front()].end;
    for (unsigned old : stacks.old) parts[old].oldFrom = begin;
    for (unsigned fresh : stacks.fresh) parts[fresh].freshUntil = end;
  }
  return parts;
}
