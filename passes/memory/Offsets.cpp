//===- Offsets.cpp - offsets for buffers with lifetimes -------------------===//
//
// 1. Place the buffers in some order, each into the smallest gap that holds it between the placed buffers that are live
//    at the same time, or on top. Two stacks of which one loop empties one and fills the other may overlap.
// 2. Try a few orders (size, in pairs of stacks; size alone; size times duration; duration; start) until one reaches
//    the lower bound; take the best.
// 3. If none did, search for a better packing of the large buffers (`PackingSearch`), and place the others after them,
//    from large to small. The search also proves higher bounds.
// 4. If that leaves a gap, local search: move large buffers in the best order.
//
//===----------------------------------------------------------------------===//

#include "passes/memory/Offsets.h"
#include "passes/memory/OccupiedSpace.h"
#include "passes/memory/PackingSearch.h"
#include "passes/memory/StackPairs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include <limits>
#include <map>
#include <random>

using namespace tessera;
using llvm::ArrayRef;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

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
      turns.oldSlots += buffer.slotOf(buffer.emptied);
    }
    if (buffer.filled.loop >= 0) {
      Turns &turns = loops[buffer.filled.loop];
      turns.begin = buffer.start, turns.slots = buffer.filled.slots;
      turns.newSlots += buffer.slotOf(buffer.filled);
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
      int64_t slot = buffer.slotOf(buffer.emptied);
      live(i, turns.isFullestAtFirst() ? slot * turns.slots : slot, turns.begin, turns.end);
    }
    if (const Turns &turns = loops[buffer.filled.loop]; turns.isComplete()) {
      start = turns.end + 1;
      int64_t slot = buffer.slotOf(buffer.filled);
      live(i, turns.isFullestAtFirst() ? slot : slot * turns.slots, turns.begin, turns.end);
    }
    live(i, alignedBytes(buffer.bytes), start, end);
  }
  return spans;
}

namespace {
/// A sum that changes with time.
class ChangingSum {
public:
  /// Both inclusive.
  void add(int64_t bytes, int start, int end) {
    if (start > end || bytes == 0) return;
    changes.push_back({start, bytes});
    changes.push_back({end + 1, -bytes});
  }
  int64_t most() {
    llvm::sort(changes); // at one moment, what ends before what begins
    int64_t now = 0, most = 0;
    for (auto [time, change] : changes) most = std::max(most, now += change);
    return most;
  }

private:
  std::vector<std::pair<int, int64_t>> changes;
};
} // namespace

int64_t tessera::liveBytesBound(ArrayRef<Lifetime> buffers) {
  ChangingSum sum;
  for (const LiveSpan &span : liveSpans(buffers)) sum.add(span.bytes, span.start, span.end);
  return sum.most();
}

int64_t tessera::packingBound(ArrayRef<Lifetime> buffers) {
  int64_t bound = 0;
  for (SharedCount count : {SharedCount::Divided, SharedCount::Old, SharedCount::Fresh}) {
    ChangingSum sum;
    for (auto [buffer, shared] : llvm::zip(buffers, mostShared(buffers, count))) {
      sum.add(alignedBytes(buffer.bytes), buffer.start, buffer.end);
      sum.add(-shared.asFresh, buffer.start, std::min(buffer.end, shared.freshUntil));
      sum.add(-shared.asOld, std::max(buffer.start, shared.oldFrom), buffer.end);
    }
    bound = std::max(bound, sum.most());
  }
  return bound;
}

SmallVector<int> tessera::fullMoments(ArrayRef<Lifetime> buffers) {
  SmallVector<int> starts, ends, moments;
  for (const Lifetime &buffer : buffers) starts.push_back(buffer.start), ends.push_back(buffer.end);
  llvm::sort(starts), llvm::sort(ends);
  const int *start = starts.begin();
  for (int end : ends) {
    const int *next = std::upper_bound(start, std::as_const(starts).end(), end);
    if (next == start) continue; // nothing has begun since the last one
    moments.push_back(*(next - 1));
    start = next;
  }
  return moments;
}

//===----------------------------------------------------------------------===//
// Placing
//===----------------------------------------------------------------------===//

static bool isStack(const Lifetime &buffer) { return buffer.emptied.loop >= 0 || buffer.filled.loop >= 0; }

namespace {
/// The first and the last of the full moments at which a buffer is live, by their numbers.
struct Moments {
  int first, last;
};

/// Buffers that have offsets, and where others may go.
class PlacedBuffers {
public:
  PlacedBuffers(ArrayRef<Lifetime> buffers, ArrayRef<Moments> moments, int momentCount)
      : buffers(buffers), moments(moments), all(momentCount), noStacks(momentCount) {
    packing.offsets.assign(buffers.size(), -1);
    hasStacks = llvm::any_of(buffers, isStack);
  }

  void place(unsigned i, int64_t offset) {
    const Lifetime &buffer = buffers[i];
    int64_t end = offset + alignedBytes(buffer.bytes);
    packing.offsets[i] = offset;
    packing.bytes = std::max(packing.bytes, end);
    if (buffer.bytes == 0) return;
    all.add({offset, end}, moments[i].first, moments[i].last);
    if (isStack(buffer))
      stacks.insert(llvm::upper_bound(stacks, offset,
                                      [&](int64_t offset, unsigned other) { return offset < packing.offsets[other]; }),
                    i);
    else if (hasStacks)
      noStacks.add({offset, end}, moments[i].first, moments[i].last);
  }

  /// At the lowest offset of the tightest range of free ones: between two that are taken, or else on top.
  void place(unsigned i) {
    const Lifetime &buffer = buffers[i];
    int64_t bytes = alignedBytes(buffer.bytes);
    auto [first, last] = moments[i];
    if (!isStack(buffer)) return place(i, all.tightest(first, last, bytes));
    free.assign(1, everything);
    noStacks.leaveFree(first, last, bytes, free);
    leaveStacks(buffer, bytes);
    place(i, tightestOf(free).begin);
  }

  bool isPlaced(unsigned i) const { return packing.offsets[i] >= 0; }
  int64_t getBytes() const { return packing.bytes; }
  int64_t getCompared() const { return all.getCompared() + noStacks.getCompared(); }
  const Packing &get() const { return packing; }

private:
  /// Takes from `free` what a stack may not have because of the others: all of most others, as of any buffer. Where a
  /// loop empties one and fills the other, this one may end where the other one shares its end, and may not begin
  /// before the other one allows it; the two parts that are left of a range may overlap.
  void leaveStacks(const Lifetime &buffer, int64_t bytes) {
    taken.clear(), partners.clear();
    for (unsigned i : stacks) {
      const Lifetime &stack = buffers[i];
      if (stack.end < buffer.start || buffer.end < stack.start) continue;
      if (areStackPair(stack, buffer) || areStackPair(buffer, stack))
        partners.push_back(i);
      else
        appendRange(taken, {packing.offsets[i], packing.offsets[i] + alignedBytes(stack.bytes)});
    }
    leaveGaps(taken, bytes, free, pieces);
    for (unsigned i : partners) {
      int64_t lastEnd = packing.offsets[i] - leastDistance(buffer, buffers[i]) + bytes;
      int64_t firstBegin = packing.offsets[i] + leastDistance(buffers[i], buffer);
      pieces.clear();
      for (const ByteRange &range : free)
        for (ByteRange part : {ByteRange{range.begin, std::min(range.end, lastEnd)},
                               ByteRange{std::max(range.begin, firstBegin), range.end}})
          if (part.end - part.begin >= bytes) pieces.push_back(part);
      std::swap(free, pieces);
    }
  }

  ArrayRef<Lifetime> buffers;
  ArrayRef<Moments> moments;
  OccupiedSpace all, noStacks;
  std::vector<unsigned> stacks; ///< from low to high
  bool hasStacks = false;
  ByteRanges free, pieces, taken; ///< for the buffer that is being placed
  SmallVector<unsigned> partners; ///< likewise
  Packing packing;
};
} // namespace

/// Orders each stack that a loop fills after one that it empties, the largest after the largest, so that they are
/// placed next to each other before others fill the gaps.
static SmallVector<unsigned> inPairs(ArrayRef<Lifetime> buffers, ArrayRef<unsigned> order) {
  SmallVector<unsigned> paired, stacks;
  for (unsigned i : order)
    if (isStack(buffers[i])) stacks.push_back(i);
  SmallVector<bool> done(buffers.size(), false);
  auto isPartner = [&](unsigned i, unsigned j) {
    return !done[j] && (areStackPair(buffers[i], buffers[j]) || areStackPair(buffers[j], buffers[i]));
  };
  for (unsigned i : order) {
    if (done[i]) continue;
    done[i] = true;
    paired.push_back(i);
    if (!isStack(buffers[i])) continue;
    const unsigned *j = llvm::find_if(stacks, [&](unsigned other) { return isPartner(i, other); });
    if (j == stacks.end()) continue;
    done[*j] = true;
    paired.push_back(*j);
    // The lower one first: there is room on top.
    bool isOld = areStackPair(buffers[*j], buffers[i]);
    if (isOld == (isOld ? buffers[*j] : buffers[i]).emptied.backwards)
      std::swap(paired.back(), paired[paired.size() - 2]);
  }
  return paired;
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// So few buffers are searched together; of more only the large ones, at most so many.
static constexpr size_t fewBuffers = 32, mostSearched = 256;
/// How often the search may choose: for one size of the arena, and in all. Some tens of milliseconds.
static constexpr int64_t mostNodes = 1000, mostNodesInAll = 24'000;
/// How much may be compared to place buffers in one order after the other.
static constexpr int64_t mostComparisons = 6'000'000, mostForBuffer = 256;
/// The search is for buffers of at least these fractions of the bound, one after the other.
static constexpr int64_t largeParts[] = {256, 2048, 1 << 17};
/// After the search, buffers of this part move in the order.
static constexpr int64_t movedPart = 2048;
/// A gap of a larger part of the bound is worth a few times as many comparisons.
static constexpr int64_t wantedPart = 512;
static constexpr unsigned mostBudgets = 4;
/// Once the search is at its limit, a smaller part of the bound is not worth another one.
static constexpr int64_t littleGain = 4096;

namespace {
class BufferPacker {
public:
  explicit BufferPacker(ArrayRef<Lifetime> buffers);
  Packing run();

private:
  using Outcome = PackingSearch::Outcome;
  /// What decides the order of buffers; less is earlier.
  using Key = std::pair<double, double>;

  template <typename KeyOf> SmallVector<unsigned> sortedBy(KeyOf key) const;
  bool isDone() const { return best.bytes <= best.bound; }
  /// Packs in this order if there is time and need.
  void tryOrder(SmallVector<unsigned> order);
  void tryOrders();
  void improveOrder(unsigned seed);
  /// Places the buffers without offsets in this order, and takes the packing if it is the best one. Returns its bytes;
  /// if they are more than `most`, some number above it.
  int64_t consider(PlacedBuffers placed, ArrayRef<unsigned> order, int64_t most);
  void search(ArrayRef<unsigned> large);
  SmallVector<unsigned> largest(int64_t leastBytes) const;
  PlacedBuffers noneYet() const { return {buffers, moments, static_cast<int>(fullest.size())}; }

  ArrayRef<Lifetime> buffers;
  SmallVector<int> fullest;     ///< `fullMoments`
  SmallVector<Moments> moments; ///< of each buffer
  SmallVector<unsigned> bySize, bestOrder;
  Packing best;
  int64_t orderBytes = std::numeric_limits<int64_t>::max(); ///< in the best order
  int64_t nodesLeft = mostNodesInAll, comparisonsLeft = mostComparisons;
};
} // namespace

template <typename KeyOf> SmallVector<unsigned> BufferPacker::sortedBy(KeyOf key) const {
  SmallVector<std::pair<Key, unsigned>> keys;
  for (auto [i, buffer] : llvm::enumerate(buffers))
    keys.push_back(
        {key(static_cast<double>(buffer.bytes), static_cast<double>(buffer.end - buffer.start + 1), buffer.start), i});
  llvm::sort(keys);
  return llvm::map_to_vector(keys, [](const auto &entry) { return entry.second; });
}

BufferPacker::BufferPacker(ArrayRef<Lifetime> buffers)
    : buffers(buffers), fullest(fullMoments(buffers)),
      bySize(sortedBy([](double bytes, double duration, int) { return Key(-bytes, -duration); })) {
  best.bytes = std::numeric_limits<int64_t>::max();
  best.bound = packingBound(buffers);
  auto number = [&](int moment) { return static_cast<int>(llvm::lower_bound(fullest, moment) - fullest.begin()); };
  for (const Lifetime &buffer : buffers) moments.push_back({number(buffer.start), number(buffer.end + 1) - 1});
}

int64_t BufferPacker::consider(PlacedBuffers placed, ArrayRef<unsigned> order, int64_t most) {
  int64_t count = buffers.size();
  for (unsigned i : order) {
    if (placed.getBytes() > most) break; // and more would follow
    if (!placed.isPlaced(i)) placed.place(i);
  }
  comparisonsLeft -= std::max(count * std::min(count, mostForBuffer), placed.getCompared());
  if (placed.getBytes() > most) return placed.getBytes();
  Packing packing = placed.get();
  int64_t bytes = packing.bytes;
  if (bytes >= best.bytes) return bytes;
  packing.bound = best.bound;
  best = std::move(packing);
  return bytes;
}

void BufferPacker::tryOrder(SmallVector<unsigned> order) {
  if (isDone() || comparisonsLeft <= 0) return;
  int64_t bytes = consider(noneYet(), order, orderBytes);
  if (bytes < orderBytes) orderBytes = bytes, bestOrder = std::move(order);
}

void BufferPacker::tryOrders() {
  SmallVector<unsigned> paired = inPairs(buffers, bySize);
  bool isNew = paired != bySize;
  tryOrder(std::move(paired));
  if (isNew) tryOrder(bySize);
  tryOrder(sortedBy([](double bytes, double duration, int) { return Key(-bytes * duration, 0); }));
  tryOrder(sortedBy([](double bytes, double duration, int) { return Key(-duration, -bytes); }));
  tryOrder(sortedBy([](double bytes, double, int start) { return Key(start, -bytes); }));
}

/// Moves large buffers in the best order, in a fixed random sequence, as long as that does no harm.
void BufferPacker::improveOrder(unsigned seed) {
  SmallVector<unsigned> places; // of large buffers in the order
  for (auto [place, i] : llvm::enumerate(bestOrder))
    if (buffers[i].bytes >= best.bytes / movedPart) places.push_back(place);
  if (places.size() < 2) return;
  std::minstd_rand chance(seed);
  while (!isDone() && comparisonsLeft > 0) {
    unsigned from = places[chance() % places.size()], to = places[chance() % places.size()];
    SmallVector<unsigned> changed(bestOrder);
    if (from < to)
      std::rotate(changed.begin() + from, changed.begin() + from + 1, changed.begin() + to + 1);
    else
      std::rotate(changed.begin() + to, changed.begin() + from, changed.begin() + from + 1);
    int64_t bytes = consider(noneYet(), changed, orderBytes);
    if (bytes <= orderBytes) orderBytes = bytes, bestOrder = std::move(changed);
  }
}

SmallVector<unsigned> BufferPacker::largest(int64_t leastBytes) const {
  SmallVector<unsigned> large;
  for (unsigned i : bySize)
    if (buffers[i].bytes >= leastBytes && large.size() < mostSearched) large.push_back(i);
  return large;
}

/// Halves the sizes in question. What is impossible for some buffers is impossible for all.
void BufferPacker::search(ArrayRef<unsigned> large) {
  SmallVector<Lifetime> lifetimes = llvm::map_to_vector(large, [&](unsigned i) { return buffers[i]; });
  PackingSearch search(lifetimes);
  int64_t nodes = nodesLeft / 2;
  // Below `low` nothing has been found, or nothing can be; at `high` a packing of the large buffers is known.
  int64_t low = best.bound, high = best.bytes, size = low, littleBytes = 0;
  while (low < high && high - low >= littleBytes && nodes > 0 && comparisonsLeft > 0) {
    Outcome outcome = Outcome::Unknown;
    for (auto preference : {PackingSearch::Preference::Area, PackingSearch::Preference::Duration}) {
      if (outcome != Outcome::Unknown) break;
      outcome = search.run(size, std::min(mostNodes, nodes), preference);
      nodes -= search.getNodes(), nodesLeft -= search.getNodes();
    }
    if (outcome == Outcome::Found) {
      PlacedBuffers placed = noneYet();
      for (auto [buffer, offset] : llvm::zip(large, search.getOffsets())) placed.place(buffer, offset);
      consider(std::move(placed), bySize, best.bytes);
    }
    (outcome == Outcome::Found ? high : low) = outcome == Outcome::Found ? size : size + bufferAlignment;
    if (outcome == Outcome::Impossible) best.bound = std::max(best.bound, low);
    if (outcome == Outcome::Unknown) littleBytes = best.bound / littleGain;
    size = low + (high - low) / 2 / bufferAlignment * bufferAlignment;
  }
}

Packing BufferPacker::run() {
  if (buffers.empty()) return {};
  tryOrders();
  bool areFew = buffers.size() <= fewBuffers;
  for (int64_t part : largeParts)
    if (!isDone() && !areFew) search(largest(best.bound / part));
  if (!isDone() && areFew) search(bySize);
  // More than one budget only where much could be gained, and soon.
  for (unsigned seed = 1; seed <= mostBudgets && !isDone(); ++seed) {
    improveOrder(seed);
    if (best.bytes - best.bound < best.bound / wantedPart || buffers.size() > mostSearched) break;
    comparisonsLeft = mostComparisons;
  }
  return best;
}

Packing tessera::packBuffers(ArrayRef<Lifetime> buffers) { return BufferPacker(buffers).run(); }
