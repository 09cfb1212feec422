//===- OccupiedSpace.cpp - which bytes are taken at which moments ---------===//

#include "passes/memory/OccupiedSpace.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tessera;
using llvm::SmallVectorImpl;

OccupiedSpace::OccupiedSpace(int momentCount) : lastMoment(llvm::PowerOf2Ceil(momentCount) - 1) {}

/// A list is faster than the tree up to about so many ranges.
static constexpr size_t mostInList = 256;

void OccupiedSpace::growTree() {
  nodes.resize(2 * lastMoment + 1);
  for (const Entry &entry : list) add(entry.range, entry.start, entry.end, 0, 0, lastMoment);
  list.clear();
}

void OccupiedSpace::insert(Ranges &ranges, ByteRange range) {
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

void OccupiedSpace::add(ByteRange range, int start, int end) {
  if (nodes.empty() && list.size() == mostInList) growTree();
  if (!nodes.empty()) return add(range, start, end, 0, 0, lastMoment);
  auto isBefore = [](const Entry &a, const Entry &b) { return a.range.begin < b.range.begin; };
  Entry entry{range, start, end};
  list.insert(llvm::upper_bound(list, entry, isBefore), entry);
}

void OccupiedSpace::add(ByteRange range, int start, int end, size_t node, int first, int last) {
  if (end < first || last < start) return;
  insert(nodes[node].sometimes, range);
  if (start <= first && last <= end) return insert(nodes[node].always, range);
  int middle = first + (last - first) / 2;
  add(range, start, end, 2 * node + 1, first, middle);
  add(range, start, end, 2 * node + 2, middle + 1, last);
}

void OccupiedSpace::cut(const Ranges &taken, int64_t least, SmallVectorImpl<ByteRange> &free) const {
  if (taken.empty()) return;
  pieces.clear();
  auto next = taken.begin();
  for (ByteRange range : free) {
    next = std::partition_point(next, taken.end(), [&](const ByteRange &other) { return other.end <= range.begin; });
    for (auto other = next; other != taken.end() && other->begin < range.end; ++other) {
      if (other->begin - range.begin >= least) pieces.push_back({range.begin, other->begin});
      range.begin = other->end;
    }
    if (range.end - range.begin >= least) pieces.push_back(range);
  }
  free.assign(pieces.begin(), pieces.end());
}

void OccupiedSpace::leaveFree(int start, int end, int64_t least, SmallVectorImpl<ByteRange> &free) const {
  if (!nodes.empty()) return leaveFree(start, end, least, free, 0, 0, lastMoment);
  taken.clear();
  for (const Entry &entry : list) {
    if (entry.start > end || start > entry.end) continue;
    if (taken.empty() || entry.range.begin > taken.back().end)
      taken.push_back(entry.range);
    else
      taken.back().end = std::max(taken.back().end, entry.range.end);
  }
  cut(taken, least, free);
}

void OccupiedSpace::leaveFree(int start, int end, int64_t least, SmallVectorImpl<ByteRange> &free, size_t node,
                              int first, int last) const {
  if (end < first || last < start || nodes[node].sometimes.empty()) return;
  if (start <= first && last <= end) return cut(nodes[node].sometimes, least, free);
  cut(nodes[node].always, least, free);
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
  llvm::SmallVector<ByteRange> free{everything};
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
