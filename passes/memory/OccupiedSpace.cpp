//===- OccupiedSpace.cpp - which bytes are taken at which moments ---------===//

#include "passes/memory/OccupiedSpace.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tessera;

/// A list is faster than the tree up to about so many ranges.
static constexpr size_t mostInList = 256;
/// Of a leaf: with fewer, a query comes to more nodes.
static constexpr int leafMoments = 64;

OccupiedSpace::OccupiedSpace(int momentCount)
    : lastMoment(leafMoments * llvm::PowerOf2Ceil(llvm::divideCeil(momentCount, leafMoments)) - 1) {}

void OccupiedSpace::growTree() {
  nodes.resize(2 * ((lastMoment + 1) / leafMoments) - 1);
  for (const Entry &entry : list) add(entry.range, entry.start, entry.end, 0, 0, lastMoment);
  list.clear();
}

void OccupiedSpace::insert(ByteRanges &ranges, ByteRange range) {
  // All that it touches becomes one range.
  auto first = llvm::partition_point(ranges, [&](const ByteRange &other) { return other.end < range.begin; });
  auto last = first;
  for (; last != ranges.end() && last->begin <= range.end; ++last) {
    range.begin = std::min(range.begin, last->begin);
    range.end = std::max(range.end, last->end);
  }
  if (first == last) {
    ranges.insert(first, range);
    return;
  }
  *first = range;
  ranges.erase(first + 1, last);
}

void OccupiedSpace::insert(Entries &entries, const Entry &entry) {
  auto isBefore = [](const Entry &a, const Entry &b) { return a.range.begin < b.range.begin; };
  entries.insert(llvm::upper_bound(entries, entry, isBefore), entry);
}

void OccupiedSpace::add(ByteRange range, int start, int end) {
  if (nodes.empty() && list.size() == mostInList) growTree();
  if (!nodes.empty()) return add(range, start, end, 0, 0, lastMoment);
  insert(list, {range, start, end});
}

void OccupiedSpace::add(ByteRange range, int start, int end, size_t node, int first, int last) {
  if (end < first || last < start) return;
  insert(nodes[node].sometimes, range);
  if (start <= first && last <= end) return insert(nodes[node].always, range);
  if (last - first < leafMoments) return insert(nodes[node].others, {range, start, end});
  int middle = first + (last - first) / 2;
  add(range, start, end, 2 * node + 1, first, middle);
  add(range, start, end, 2 * node + 2, middle + 1, last);
}

/// Of ranges in order. In steps that double, since it is mostly one of the first few.
static const ByteRange *firstEndingAfter(int64_t offset, const ByteRange *begin, const ByteRange *end) {
  auto isBefore = [&](const ByteRange &range) { return range.end <= offset; };
  for (const ByteRange *near = std::min(begin + 4, end); begin != near; ++begin)
    if (!isBefore(*begin)) return begin;
  ptrdiff_t step = 4;
  for (; step < end - begin && isBefore(begin[step]); step *= 2) begin += step + 1;
  return std::partition_point(begin, begin + std::min(step, end - begin), isBefore);
}

int64_t tessera::leaveGaps(llvm::ArrayRef<ByteRange> taken, int64_t least, ByteRanges &free, ByteRanges &pieces) {
  if (taken.empty() || free.empty() || taken.back().end <= free.front().begin) return 1;
  auto compared = static_cast<int64_t>(free.size());
  pieces.resize_for_overwrite(taken.size() + free.size() + 1);
  ByteRange *piece = pieces.data();
  auto keep = [&](int64_t begin, int64_t end) {
    *piece = {begin, end};
    piece += static_cast<int>(end - begin >= least);
  };
  const ByteRange *next = taken.begin();
  for (ByteRange range : free) {
    next = firstEndingAfter(range.begin, next, taken.end());
    const ByteRange *other = next;
    for (; other != taken.end() && other->begin < range.end; ++other) {
      keep(range.begin, other->begin);
      range.begin = other->end;
    }
    keep(range.begin, range.end);
    compared += other - next;
  }
  pieces.truncate(piece - pieces.data());
  std::swap(free, pieces);
  return compared;
}

void OccupiedSpace::leaveFree(const Entries &entries, int start, int end, int64_t least, ByteRanges &free) const {
  taken.clear();
  for (const Entry &entry : entries)
    if (entry.start <= end && start <= entry.end) appendRange(taken, entry.range);
  compared += static_cast<int64_t>(entries.size()) + leaveGaps(taken, least, free, pieces);
}

void OccupiedSpace::leaveFree(int start, int end, int64_t least, ByteRanges &free) const {
  if (nodes.empty()) return leaveFree(list, start, end, least, free);
  leaveFree(start, end, least, free, 0, 0, lastMoment);
}

void OccupiedSpace::leaveFree(int start, int end, int64_t least, ByteRanges &free, size_t node, int first,
                              int last) const {
  if (end < first || last < start || nodes[node].sometimes.empty()) return;
  bool isWhole = start <= first && last <= end;
  compared += leaveGaps(isWhole ? nodes[node].sometimes : nodes[node].always, least, free, pieces);
  if (isWhole) return;
  if (last - first < leafMoments) return leaveFree(nodes[node].others, start, end, least, free);
  int middle = first + (last - first) / 2;
  leaveFree(start, end, least, free, 2 * node + 1, first, middle);
  leaveFree(start, end, least, free, 2 * node + 2, middle + 1, last);
}

ByteRange tessera::tightestOf(llvm::ArrayRef<ByteRange> free) {
  auto room = [](const ByteRange &range) { return range.end - range.begin; };
  return *llvm::min_element(free, [&](auto &a, auto &b) { return room(a) < room(b); });
}

int64_t OccupiedSpace::tightest(int start, int end, int64_t bytes) const {
  if (nodes.empty() && bytes > 0) return tightestInList(start, end, bytes);
  ByteRanges free{everything};
  leaveFree(start, end, bytes, free);
  return tightestOf(free).begin;
}

/// The same in one pass, in which few branches depend on data: most of the time of packing is spent here.
int64_t OccupiedSpace::tightestInList(int start, int end, int64_t bytes) const {
  int64_t top = 0, best = -1, bestRoom = std::numeric_limits<int64_t>::max();
  for (const Entry &entry : list) {
    bool isTaken = static_cast<int>(entry.start <= end) & static_cast<int>(start <= entry.end);
    int64_t room = entry.range.begin - top;
    if (room >= bytes && room < bestRoom && isTaken) best = top, bestRoom = room;
    top = std::max(top, isTaken ? entry.range.end : 0);
  }
  return best < 0 ? top : best;
}
