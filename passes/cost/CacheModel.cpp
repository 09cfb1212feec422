//===- CacheModel.cpp - which bytes are in which cache --------------------===//

#include "passes/cost/CacheModel.h"
#include <algorithm>

using namespace tessera;

/// How much of [begin, end), the bytes by the time of their last access, is within the first `capacity` of them.
static int64_t within(int64_t begin, int64_t end, int64_t capacity) {
  return std::clamp<int64_t>(capacity - begin, 0, end - begin);
}

llvm::SmallVector<double, 4> CacheModel::access(int64_t offset, int64_t span) {
  llvm::SmallVector<double, 4> parts(capacities.size() + 1, 0.0);
  if (span <= 0) return parts;
  int64_t begin = offset, end = offset + span, distance = 0;
  llvm::SmallVector<int64_t, 4> held(capacities.size(), 0); // by a cache or a smaller one
  for (auto interval = recent.begin(); interval != recent.end();) {
    int64_t first = std::max(begin, interval->begin), last = std::min(end, interval->end);
    int64_t size = interval->end - interval->begin;
    if (first >= last) {
      distance += size, ++interval;
      continue;
    }
    // Of an interval, the end was accessed last.
    int64_t later = distance + interval->end - last;
    for (size_t level = 0; level < capacities.size(); ++level)
      held[level] += within(later, later + (last - first), capacities[level]);
    distance += size;
    Interval before{interval->begin, first}, after{last, interval->end};
    interval = recent.erase(interval);
    if (after.begin < after.end) recent.insert(interval, after);
    if (before.begin < before.end) recent.insert(interval, before);
  }
  recent.push_front({begin, end});
  int64_t total = 0, most = capacities.empty() ? 0 : capacities.back();
  for (auto interval = recent.begin(); interval != recent.end();) {
    int64_t room = most - total, size = interval->end - interval->begin;
    if (room <= 0) {
      interval = recent.erase(interval);
      continue;
    }
    if (size > room) interval->begin = interval->end - room;
    total += std::min(size, room), ++interval;
  }
  int64_t before = 0;
  for (size_t level = 0; level < capacities.size(); ++level) {
    parts[level] = double(held[level] - before) / double(span);
    before = held[level];
  }
  parts.back() = double(span - before) / double(span);
  return parts;
}
