//===- PackingSearch.cpp - the exact search for a packing -----------------===//

#include "passes/memory/PackingSearch.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>
#include <utility>

using namespace tessera;
using llvm::ArrayRef;
using llvm::SmallVector;

static constexpr unsigned noRank = ~0u;

static bool meet(const Lifetime &a, const Lifetime &b) { return a.start <= b.end && b.start <= a.end; }

static bool isStack(const Lifetime &buffer) { return buffer.emptied.loop >= 0 || buffer.filled.loop >= 0; }

PackingSearch::PackingSearch(ArrayRef<Lifetime> buffers)
    : lifetimes(buffers), offsets(buffers.size(), 0), lowest(buffers.size(), 0), isPlaced(buffers.size(), false),
      ranks(buffers.size(), 0), twins(buffers.size(), -1), neighbours(buffers.size()), needs(buffers.size()) {
  for (const Lifetime &buffer : buffers) sizes.push_back(alignedBytes(buffer.bytes));
  findNeighbours();
  findChecks();
  findTwins();
}

void PackingSearch::findNeighbours() {
  for (unsigned i = 0; i < lifetimes.size(); ++i)
    for (unsigned j = 0; j < lifetimes.size(); ++j)
      if (i != j && meet(lifetimes[i], lifetimes[j]))
        neighbours[i].push_back({j, leastDistance(lifetimes[i], lifetimes[j])});
}

/// A check is the sum of what buffers need at one moment. Where a loop has stacks there is one for each way to count
/// what they share.
void PackingSearch::findChecks() {
  std::vector<SmallVector<SharedPart>> shared;
  for (SharedCount count : {SharedCount::Divided, SharedCount::Old, SharedCount::Fresh})
    shared.push_back(mostShared(lifetimes, count));
  // In the order of moments, so that a buffer is in adjacent ones.
  for (int moment : fullMoments(lifetimes))
    for (const SmallVector<SharedPart> &parts : shared)
      if (&parts == &shared.front() || differ(parts, shared.front(), moment)) addCheck(moment, parts);
}

bool PackingSearch::differ(ArrayRef<SharedPart> some, ArrayRef<SharedPart> others, int moment) const {
  for (auto [buffer, a, b] : llvm::zip(lifetimes, some, others))
    if (buffer.start <= moment && moment <= buffer.end && a.at(moment) != b.at(moment)) return true;
  return false;
}

void PackingSearch::addCheck(int moment, ArrayRef<SharedPart> shared) {
  int check = tops.size();
  tops.push_back(0);
  for (unsigned i = 0; i < lifetimes.size(); ++i) {
    if (moment < lifetimes[i].start || lifetimes[i].end < moment) continue;
    if (needs[i].bytes.empty()) needs[i].first = check;
    needs[i].last = check;
    needs[i].bytes.push_back(sizes[i] - shared[i].at(moment));
  }
}

/// Of equal buffers the first one goes first.
void PackingSearch::findTwins() {
  for (unsigned i = 0; i < lifetimes.size(); ++i)
    for (unsigned j = 0; j < i; ++j)
      if (sizes[i] == sizes[j] && !isStack(lifetimes[i]) && !isStack(lifetimes[j]) &&
          needs[i].first == needs[j].first && needs[i].last == needs[j].last)
        twins[i] = j;
}

void PackingSearch::rank(Preference preference) {
  SmallVector<unsigned> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  auto key = [&](unsigned i) {
    double duration = needs[i].last - needs[i].first + 1;
    return preference == Preference::Area ? duration * static_cast<double>(sizes[i]) : duration;
  };
  llvm::stable_sort(order, [&](unsigned a, unsigned b) { return key(a) > key(b); });
  for (auto [place, buffer] : llvm::enumerate(order)) ranks[buffer] = place;
}

PackingSearch::Outcome PackingSearch::run(int64_t bytes, int64_t nodeLimit, Preference preference) {
  rank(preference);
  capacity = bytes, mostNodes = nodeLimit, nodes = 0;
  lowest.assign(lifetimes.size(), 0);
  isPlaced.assign(lifetimes.size(), false);
  changes.clear();
  Buffers all;
  for (unsigned i = 0; i < lifetimes.size(); ++i)
    if (sizes[i] > 0) all.push_back(i);
  if (placeAll(std::move(all), 0, noRank)) return Outcome::Found;
  return nodes > mostNodes ? Outcome::Unknown : Outcome::Impossible;
}

bool PackingSearch::placeAll(Buffers buffers, int64_t floor, unsigned lastRank) {
  llvm::sort(buffers,
             [&](unsigned a, unsigned b) { return std::pair(needs[a].first, a) < std::pair(needs[b].first, b); });
  size_t before = changes.size();
  for (size_t begin = 0; begin < buffers.size();) {
    size_t end = begin + 1;
    for (int last = needs[buffers[begin]].last; end < buffers.size() && needs[buffers[end]].first <= last; ++end)
      last = std::max(last, needs[buffers[end]].last);
    if (!placeGroup(ArrayRef(buffers).slice(begin, end - begin), floor, lastRank)) {
      for (unsigned placed : ArrayRef(buffers).take_front(begin)) isPlaced[placed] = false;
      restore(before);
      return false;
    }
    begin = end;
  }
  return true;
}

/// At each check in the order of least offsets: so they need least room.
bool PackingSearch::fits(ArrayRef<unsigned> buffers, int64_t floor) {
  SmallVector<std::pair<int64_t, unsigned>, 64> order;
  for (unsigned i : buffers) {
    int64_t offset = std::max(lowest[i], floor);
    if (offset + sizes[i] > capacity) return false;
    order.push_back({offset, i});
    std::fill(tops.begin() + needs[i].first, tops.begin() + needs[i].last + 1, 0);
  }
  llvm::sort(order);
  for (auto [offset, i] : order) {
    int64_t *top = tops.begin() + needs[i].first;
    for (int64_t bytes : needs[i].bytes) {
      *top = std::max(*top, offset) + bytes;
      if (*top++ > capacity) return false;
    }
  }
  return true;
}

void PackingSearch::place(unsigned buffer) {
  isPlaced[buffer] = true;
  offsets[buffer] = lowest[buffer];
  for (const Neighbour &other : neighbours[buffer]) {
    int64_t above = offsets[buffer] + other.distance;
    if (isPlaced[other.buffer] || lowest[other.buffer] >= above) continue;
    changes.push_back({other.buffer, lowest[other.buffer]});
    lowest[other.buffer] = above;
  }
}

void PackingSearch::restore(size_t changesBefore) {
  for (; changes.size() > changesBefore; changes.pop_back()) lowest[changes.back().buffer] = changes.back().lowest;
}

bool PackingSearch::placeGroup(ArrayRef<unsigned> buffers, int64_t floor, unsigned lastRank) {
  if (++nodes > mostNodes || !fits(buffers, floor)) return false;
  int64_t below = capacity; // what begins here or above leaves room for another buffer below it
  for (unsigned i : buffers) below = std::min(below, lowest[i] + sizes[i]);
  struct Choice {
    int64_t offset;
    unsigned rank, buffer;
  };
  SmallVector<Choice> choices;
  for (unsigned i : buffers) {
    bool isNext = lowest[i] > floor || (lowest[i] == floor && (lastRank == noRank || ranks[i] > lastRank));
    if (isNext && lowest[i] < below && (twins[i] < 0 || isPlaced[twins[i]]))
      choices.push_back({lowest[i], ranks[i], i});
  }
  llvm::sort(choices, [](const Choice &a, const Choice &b) {
    return std::pair(a.offset, a.rank) < std::pair(b.offset, b.rank);
  });
  for (const Choice &choice : choices) {
    Buffers others;
    for (unsigned i : buffers)
      if (i != choice.buffer) others.push_back(i);
    size_t before = changes.size();
    place(choice.buffer);
    if (placeAll(std::move(others), choice.offset, choice.rank)) return true;
    isPlaced[choice.buffer] = false;
    restore(before);
    if (nodes > mostNodes) return false;
  }
  return false;
}
