//===- StridedCopy.cpp - copies between orders of axes --------------------===//

#include "runtime/checkpoint/StridedCopy.h"

#include <algorithm>
#include <cstring>

namespace tessera::runtime {

int64_t elementsOf(const std::vector<StridedAxis> &axes) {
  int64_t count = 1;
  for (const StridedAxis &axis : axes) count *= axis.size;
  return count;
}

std::vector<StridedAxis> reversed(std::vector<StridedAxis> axes) {
  for (StridedAxis &axis : axes) std::swap(axis.from, axis.to);
  return axes;
}

std::vector<StridedAxis> toDense(std::vector<StridedAxis> axes) {
  int64_t stride = 1;
  for (size_t i = axes.size(); i-- > 0; stride *= axes[i].size) axes[i].to = stride;
  return axes;
}

std::vector<StridedAxis> fromDense(std::vector<StridedAxis> axes) {
  return reversed(toDense(reversed(std::move(axes))));
}

/// Sorts the axes such that the destination is written in order, and merges those that are one axis on both sides.
static std::vector<StridedAxis> simplified(std::vector<StridedAxis> axes) {
  std::erase_if(axes, [](const StridedAxis &axis) { return axis.size == 1; });
  std::sort(axes.begin(), axes.end(), [](const StridedAxis &a, const StridedAxis &b) { return a.to > b.to; });
  std::vector<StridedAxis> merged;
  for (const StridedAxis &axis : axes) {
    bool continues =
        !merged.empty() && merged.back().from == axis.from * axis.size && merged.back().to == axis.to * axis.size;
    if (continues)
      merged.back() = {merged.back().size * axis.size, axis.from, axis.to};
    else
      merged.push_back(axis);
  }
  return merged;
}

template <int64_t bytes>
static void copyAxes(const StridedAxis *axis, const StridedAxis *end, const char *from, char *to) {
  if (axis == end) {
    memcpy(to, from, bytes);
    return;
  }
  bool isInner = axis + 1 == end;
  if (isInner && axis->from == 1 && axis->to == 1) {
    memcpy(to, from, axis->size * bytes);
    return;
  }
  int64_t fromStep = axis->from * bytes, toStep = axis->to * bytes;
  for (int64_t i = 0; i < axis->size; ++i, from += fromStep, to += toStep) {
    if (isInner)
      memcpy(to, from, bytes);
    else
      copyAxes<bytes>(axis + 1, end, from, to);
  }
}

void copyStrided(std::vector<StridedAxis> axes, int64_t elementBytes, const char *from, char *to) {
  if (elementsOf(axes) == 0) return;
  axes = simplified(std::move(axes));
  auto copy = elementBytes == 1   ? copyAxes<1>
              : elementBytes == 2 ? copyAxes<2>
              : elementBytes == 4 ? copyAxes<4>
                                  : copyAxes<8>;
  copy(axes.data(), axes.data() + axes.size(), from, to);
}

static void visitRuns(const StridedAxis *axis, const StridedAxis *end, int64_t offset,
                      const std::function<void(int64_t, int64_t)> &visit) {
  if (axis == end) return visit(offset, 1);
  if (axis + 1 == end && axis->from == 1) return visit(offset, axis->size);
  for (int64_t i = 0; i < axis->size; ++i) visitRuns(axis + 1, end, offset + i * axis->from, visit);
}

void forEachSourceRun(std::vector<StridedAxis> axes, const std::function<void(int64_t, int64_t)> &visit) {
  if (elementsOf(axes) == 0) return;
  for (StridedAxis &axis : axes) axis.to = axis.from; // only the source counts
  axes = simplified(std::move(axes));
  visitRuns(axes.data(), axes.data() + axes.size(), 0, visit);
}

} // namespace tessera::runtime
