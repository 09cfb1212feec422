//===- Offsets.cpp - offsets for buffers with lifetimes -------------------===//
//
// 1. Process the buffers in some order.
// 2. Put each into the smallest gap that holds it between the placed buffers that are live at the same time, or on top.
//    Two stacks of which one loop empties one and fills the other may overlap.
// 3. Try a few orders (size; the same in pairs of stacks; size times duration; start) until one reaches the lower
//    bound; take the best.
// 4. If none did, local search: swap large buffers in the best order, with a fixed random sequence, and accept swaps
//    that do no harm.
//
//===----------------------------------------------------------------------===//

#include "passes/memory/Offsets.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <limits>
#include <map>
#include <numeric>
#include <random>

using namespace tessera;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {
/// A loop that empties stacks and fills others: from the moment `begin` to `end`, with the bytes of all slots of one
/// iteration.
struct Turns {
  int begin = -1, end = -1;
  int64_t slots = 0, oldSlots = 0, newSlots = 0;
  bool isComplete() const { return begin >= 0 && end >= 0; }
  /// Whether most bytes are live in the first iteration, else in the last: in between the sum is linear.
  bool isFullestAtFirst() const { return oldSlots >= newSlots; }
};
} // namespace

static std::map<int, Turns> findTurns(ArrayRef<Lifetime> buffers) {
  std::map<int, Turns> loops;
  for (const Lifetime &buffer : buffers) {
    if (buffer.emptied.loop >= 0) {
      Turns &turns = loops[buffer.emptied.loop];
      turns.end = buffer.end, turns.slots = buffer.emptied.slots;
      turns.oldSlots += buffer.bytes / buffer.emptied.slots;
    }
    if (buffer.filled.loop >= 0) {
      Turns &turns = loops[buffer.filled.loop];
      turns.begin = buffer.start, turns.slots = buffer.filled.slots;
      turns.newSlots += buffer.bytes / buffer.filled.slots;
    }
  }
  return loops;
}

SmallVector<LiveSpan> tessera::liveSpans(ArrayRef<Lifetime> buffers) {
  std::map<int, Turns> loops = findTurns(buffers);
  SmallVector<LiveSpan> spans;
  auto live = [&](unsigned buffer, int64_t bytes, int start, int end) {
    if (start <= end && bytes > 0) spans.push_back({buffer, bytes, start, end});
  };
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    int start = buffer.start, end = buffer.end;
    if (const Turns &turns = loops[buffer.emptied.loop]; turns.isComplete()) {
      end = turns.begin - 1;
      int64_t slot = buffer.bytes / turns.slots;
      live(i, turns.isFullestAtFirst() ? slot * turns.slots : slot, turns.begin, turns.end);
    }
    if (const Turns &turns = loops[buffer.filled.loop]; turns.isComplete()) {
      start = turns.end + 1;
      int64_t slot = buffer.bytes / turns.slots;
      live(i, turns.isFullestAtFirst() ? slot : slot * turns.slots, turns.begin, turns.end);
    }
    live(i, alignedBytes(buffer.bytes), start, end);
  }
  return spans;
}

int64_t tessera::liveBytesBound(ArrayRef<Lifetime> buffers) {
  std::map<int, int64_t> changes;
  for (const LiveSpan &span : liveSpans(buffers)) {
    changes[span.start] += span.bytes;
    changes[span.end + 1] -= span.bytes;
  }
  int64_t now = 0, most = 0;
  for (auto [time, change] : changes) most = std::max(most, now += change);
  return most;
}

namespace {
struct Placed {
  int64_t offset;
  unsigned buffer;
};
/// Offsets strictly between the two are not free.
struct Forbidden {
  int64_t above, below;
};
} // namespace

/// Whether one loop empties `old` while it fills `fresh`, and both are alive at the same time only then.
static bool takesTurns(const Lifetime &old, const Lifetime &fresh) {
  return old.emptied.loop >= 0 && old.emptied.loop == fresh.filled.loop;
}

/// Offsets of `fresh` relative to that of `old` at which some slot would be written too early. In iteration i the slots
/// of `old` from its own on are still to be read, and the slot of `fresh` is written:
///
///   backwards   offset + i · new ≥ (i + 1) · old   for all i: linear in i, so for the first and the last
///   forwards    offset + (i + 1) · new ≤ i · old
///
/// Apart from that the two must not touch at all.
static Forbidden tooEarly(const Lifetime &old, const Lifetime &fresh) {
  int64_t slots = old.emptied.slots, oldSlot = old.bytes / slots, newSlot = fresh.bytes / slots;
  Forbidden none{-alignedBytes(fresh.bytes), alignedBytes(old.bytes)};
  if (old.emptied.backwards)
    none.below = std::min(none.below, std::max(oldSlot, slots * oldSlot - (slots - 1) * newSlot));
  else
    none.above = std::max(none.above, std::min(-newSlot, (slots - 1) * oldSlot - slots * newSlot));
  return none;
}

/// The offsets at which `buffer` must not begin because of `other`, which is at `offset`.
static Forbidden forbiddenBy(const Lifetime &other, int64_t offset, const Lifetime &buffer) {
  if (takesTurns(other, buffer)) {
    Forbidden relative = tooEarly(other, buffer);
    return {offset + relative.above, offset + relative.below};
  }
  if (takesTurns(buffer, other)) {
    Forbidden relative = tooEarly(buffer, other);
    return {offset - relative.below, offset - relative.above};
  }
  return {offset - alignedBytes(buffer.bytes), offset + alignedBytes(other.bytes)};
}

/// The lowest offset of the tightest range of free ones: between two that are forbidden, or else on top. `placed` is in
/// the order of offsets.
static int64_t findOffset(const std::vector<Placed> &placed, ArrayRef<Lifetime> buffers, const Lifetime &buffer) {
  SmallVector<Forbidden> ranges;
  bool isSorted = true;
  for (const Placed &other : placed) {
    const Lifetime &there = buffers[other.buffer];
    if (there.end < buffer.start || buffer.end < there.start) continue;
    ranges.push_back(forbiddenBy(there, other.offset, buffer));
    if (ranges.size() > 1 && ranges.back().above < ranges[ranges.size() - 2].above) isSorted = false;
  }
  if (!isSorted) llvm::sort(ranges, [](const Forbidden &a, const Forbidden &b) { return a.above < b.above; });
  int64_t top = 0, best = -1, bestRoom = std::numeric_limits<int64_t>::max();
  for (const Forbidden &range : ranges) {
    int64_t room = range.above - top;
    if (room >= 0 && room < bestRoom) best = top, bestRoom = room;
    top = std::max(top, alignedBytes(range.below));
  }
  return best >= 0 ? best : top;
}

static Packing packInOrder(ArrayRef<Lifetime> buffers, ArrayRef<unsigned> order) {
  Packing packing;
  packing.offsets.assign(buffers.size(), 0);
  std::vector<Placed> placed;
  placed.reserve(buffers.size());
  for (unsigned i : order) {
    const Lifetime &buffer = buffers[i];
    int64_t bytes = alignedBytes(buffer.bytes);
    int64_t offset = findOffset(placed, buffers, buffer);
    packing.offsets[i] = offset;
    packing.bytes = std::max(packing.bytes, offset + bytes);
    Placed entry{offset, i};
    placed.insert(
        llvm::upper_bound(placed, entry, [](const Placed &a, const Placed &b) { return a.offset < b.offset; }), entry);
  }
  return packing;
}

/// Orders each stack that a loop fills after one that it empties, the largest after the largest, so that they are
/// placed next to each other before others fill the gaps.
static void pairStacks(ArrayRef<Lifetime> buffers, llvm::SmallVectorImpl<unsigned> &order) {
  SmallVector<unsigned> paired;
  llvm::SmallVector<bool> done(buffers.size(), false);
  for (unsigned i : order) {
    if (done[i]) continue;
    done[i] = true;
    paired.push_back(i);
    for (unsigned j : order) {
      bool isPair = !done[j] && (takesTurns(buffers[i], buffers[j]) || takesTurns(buffers[j], buffers[i]));
      if (!isPair) continue;
      done[j] = true;
      paired.push_back(j);
      // The lower one first: there is room on top.
      bool isOld = takesTurns(buffers[j], buffers[i]);
      if (isOld == (isOld ? buffers[j] : buffers[i]).emptied.backwards)
        std::swap(paired.back(), paired[paired.size() - 2]);
      break;
    }
  }
  order.assign(paired);
}

/// Limits of the search: packings, and comparisons of two buffers in all of them together. Some tens of milliseconds.
static constexpr int64_t mostAttempts = 2000, mostComparisons = 8'000'000;
/// Buffers smaller than this fraction of the arena keep their place in the order.
static constexpr int64_t smallPart = 2048;

static void improveOrder(ArrayRef<Lifetime> buffers, int64_t bound, SmallVector<unsigned> order, Packing &best) {
  SmallVector<unsigned> movable; // places in the order
  for (auto [place, buffer] : llvm::enumerate(order))
    if (buffers[buffer].bytes >= best.bytes / smallPart) movable.push_back(place);
  if (movable.size() < 2) return;
  int64_t count = buffers.size(), attempts = std::min(mostAttempts, mostComparisons / (count * count));
  std::minstd_rand chance(1);
  for (int64_t i = 0; i < attempts && best.bytes > bound; ++i) {
    unsigned from = movable[chance() % movable.size()], to = movable[chance() % movable.size()];
    if (from == to) continue;
    SmallVector<unsigned> changed(order);
    if (from < to)
      std::rotate(changed.begin() + from, changed.begin() + from + 1, changed.begin() + to + 1);
    else
      std::rotate(changed.begin() + to, changed.begin() + from, changed.begin() + from + 1);
    Packing packing = packInOrder(buffers, changed);
    if (packing.bytes > best.bytes) continue;
    order = std::move(changed);
    best = std::move(packing);
  }
}

Packing tessera::packBuffers(ArrayRef<Lifetime> buffers) {
  SmallVector<unsigned> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  auto duration = [&](unsigned i) { return static_cast<double>(buffers[i].end - buffers[i].start + 1); };
  auto sortBy = [&](auto key) {
    llvm::sort(order, [&](unsigned a, unsigned b) {
      auto ka = key(a), kb = key(b);
      return ka != kb ? ka > kb : a < b;
    });
  };
  int64_t bound = liveBytesBound(buffers);
  sortBy([&](unsigned i) { return std::pair(static_cast<double>(buffers[i].bytes), duration(i)); });
  SmallVector<unsigned> inPairs(order);
  pairStacks(buffers, inPairs);
  Packing best = packInOrder(buffers, order);
  SmallVector<unsigned> bestOrder(order);
  auto attempt = [&] {
    Packing other = packInOrder(buffers, order);
    if (other.bytes < best.bytes) best = std::move(other), bestOrder = order;
  };
  if (best.bytes > bound && inPairs != order) std::swap(order, inPairs), attempt(), std::swap(order, inPairs);
  if (best.bytes > bound)
    sortBy([&](unsigned i) { return duration(i) * static_cast<double>(buffers[i].bytes); }), attempt();
  if (best.bytes > bound)
    sortBy([&](unsigned i) { return std::pair(duration(i), static_cast<double>(buffers[i].bytes)); }), attempt();
  if (best.bytes > bound)
    sortBy([&](unsigned i) {
      return std::pair(-static_cast<double>(buffers[i].start), static_cast<double>(buffers[i].bytes));
    }),
        attempt();
  if (best.bytes > bound) improveOrder(buffers, bound, bestOrder, best);
  return best;
}
