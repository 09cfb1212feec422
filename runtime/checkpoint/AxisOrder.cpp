//===- AxisOrder.cpp - memory order and canonical order -------------------===//

#include "runtime/checkpoint/AxisOrder.h"

#include <algorithm>
#include <cstring>

namespace tessera::runtime {

bool isCanonical(const StateEntry &entry) {
  std::vector<std::string> memory, canonical;
  for (const AxisSpec &axis : entry.axes)
    if (axis.size > 1) memory.push_back(axis.name);
  for (const AxisSpec &axis : entry.canonicalAxes())
    if (axis.size > 1) canonical.push_back(axis.name);
  return memory == canonical;
}

std::vector<int64_t> memoryStrides(const StateEntry &entry) {
  std::vector<int64_t> strides;
  for (const std::string &name : entry.canonical) {
    int64_t stride = 1;
    for (size_t i = entry.axes.size(); i-- > 0 && entry.axes[i].name != name;) stride *= entry.axes[i].size;
    strides.push_back(stride);
  }
  return strides;
}

/// Visits the elements [first, end) of the canonical order, in runs along the innermost canonical axis: visit(byte
/// offset in memory, element of the canonical order, elements, byte stride in memory).
template <typename Visit> static void forEachRun(const StateEntry &entry, int64_t first, int64_t end, Visit visit) {
  std::vector<AxisSpec> axes = entry.canonicalAxes();
  std::vector<int64_t> strides = memoryStrides(entry), index(axes.size(), 0);
  for (int64_t &stride : strides) stride *= bytesOf(entry.type);
  int64_t memory = 0;
  for (int64_t i = axes.size(), rest = first; i-- > 0; rest /= axes[i].size)
    memory += (index[i] = rest % axes[i].size) * strides[i];
  for (int64_t at = first; at < end;) {
    int64_t run = std::min(axes.back().size - index.back(), end - at);
    visit(memory, at, run, strides.back());
    at += run;
    memory -= index.back() * strides.back();
    index.back() = 0;
    for (size_t i = axes.size() - 1; i-- > 0;) {
      memory += strides[i];
      if (++index[i] < axes[i].size) break;
      memory -= index[i] * strides[i];
      index[i] = 0;
    }
  }
}

void toCanonical(const StateEntry &entry, const char *memory, int64_t first, int64_t count, char *canonical) {
  int64_t size = bytesOf(entry.type);
  if (isCanonical(entry)) {
    memcpy(canonical, memory + first * size, count * size);
    return;
  }
  forEachRun(entry, first, first + count, [&](int64_t from, int64_t at, int64_t run, int64_t stride) {
    char *to = canonical + (at - first) * size;
    for (int64_t i = 0; i < run; ++i) memcpy(to + i * size, memory + from + i * stride, size);
  });
}

void fromCanonical(const StateEntry &entry, const char *canonical, char *memory) {
  if (isCanonical(entry)) {
    memcpy(memory, canonical, entry.bytes);
    return;
  }
  int64_t size = bytesOf(entry.type);
  forEachRun(entry, 0, entry.bytes / size, [&](int64_t to, int64_t at, int64_t run, int64_t stride) {
    for (int64_t i = 0; i < run; ++i) memcpy(memory + to + i * stride, canonical + (at + i) * size, size);
  });
}

} // namespace tessera::runtime
