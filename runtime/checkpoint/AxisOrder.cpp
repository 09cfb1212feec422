//===- AxisOrder.cpp - memory order and canonical order -----------------------===//

#include "runtime/checkpoint/AxisOrder.h"

#include <algorithm>
#include <cstring>

namespace tessera::runtime {

bool isCanonical(const StateEntry &entry) {
  std::vector<std::string> memory, canonical;
  for (const Axis &axis : entry.axes)
    if (axis.size > 1) memory.push_back(axis.name);
  for (const Axis &axis : entry.canonicalAxes())
    if (axis.size > 1) canonical.push_back(axis.name);
  return memory == canonical;
}

/// For each canonical axis, its stride in memory in bytes.
static std::vector<int64_t> memoryStrides(const StateEntry &entry) {
  std::vector<int64_t> strides;
  for (const std::string &name : entry.canonical) {
    int64_t stride = elementBytes(entry.type);
    for (size_t i = entry.axes.size(); i-- > 0 && entry.axes[i].name != name;) stride *= entry.axes[i].size;
    strides.push_back(stride);
  }
  return strides;
}

/// Calls visit(offset in memory, offset in canonical order, elements, stride in memory) for each row of the
/// innermost canonical axis.
template <typename Visit> static void forEachRow(const StateEntry &entry, Visit visit) {
  std::vector<Axis> axes = entry.canonicalAxes();
  std::vector<int64_t> strides = memoryStrides(entry), index(axes.size(), 0);
  int64_t row = axes.back().size, rowBytes = row * elementBytes(entry.type);
  for (int64_t at = 0, memory = 0; at < entry.bytes; at += rowBytes) {
    visit(memory, at, row, strides.back());
    for (size_t i = axes.size() - 1; i-- > 0;) {
      memory += strides[i];
      if (++index[i] < axes[i].size) break;
      memory -= index[i] * strides[i];
      index[i] = 0;
    }
  }
}

void toCanonical(const StateEntry &entry, const char *memory, char *canonical) {
  if (isCanonical(entry)) {
    memcpy(canonical, memory, entry.bytes);
    return;
  }
  int64_t size = elementBytes(entry.type);
  forEachRow(entry, [&](int64_t from, int64_t to, int64_t count, int64_t stride) {
    for (int64_t i = 0; i < count; ++i) memcpy(canonical + to + i * size, memory + from + i * stride, size);
  });
}

void fromCanonical(const StateEntry &entry, const char *canonical, char *memory) {
  if (isCanonical(entry)) {
    memcpy(memory, canonical, entry.bytes);
    return;
  }
  int64_t size = elementBytes(entry.type);
  forEachRow(entry, [&](int64_t to, int64_t from, int64_t count, int64_t stride) {
    for (int64_t i = 0; i < count; ++i) memcpy(memory + to + i * stride, canonical + from + i * size, size);
  });
}

} // namespace tessera::runtime
