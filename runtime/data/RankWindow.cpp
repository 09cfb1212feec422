//===- RankWindow.cpp - what a rank reads of a batch ----------------------===//

#include "runtime/data/RankWindow.h"

#include <cstring>

namespace tessera::runtime {

/// What the manifest says of an axis; null: all ranks have all of it.
static const DividedAxis *dividedAxis(const ValueSpec &value, const std::string &axis) {
  auto found = std::find_if(value.divided.begin(), value.divided.end(),
                            [&](const DividedAxis &part) { return part.axis == axis; });
  return found == value.divided.end() ? nullptr : &*found;
}

AxisWindow windowOf(const ValueSpec &value, size_t axis, const RankPositions &positions) {
  const AxisSpec &spec = value.axes.at(axis);
  const DividedAxis *part = dividedAxis(value, spec.name);
  if (!part) return {spec.size, spec.size};
  auto position = positions.find(part->along);
  return {spec.size, part->whole, part->blocks, position == positions.end() ? 0 : position->second};
}

std::vector<AxisSpec> wholeAxes(const ValueSpec &value) {
  std::vector<AxisSpec> axes = value.axes;
  for (AxisSpec &axis : axes)
    if (const DividedAxis *part = dividedAxis(value, axis.name)) axis.size = part->whole;
  return axes;
}

RowWindow::RowWindow(const ValueSpec &value, const RankPositions &positions) {
  std::vector<AxisWindow> windows;
  bool isWindow = false;
  for (size_t axis = 1; axis < value.axes.size(); ++axis) {
    windows.push_back(windowOf(value, axis, positions));
    elements *= windows.back().whole;
    isWindow |= !windows.back().isWhole();
  }
  if (!isWindow) return;
  int64_t bytes = bytesOf(value.type), own = value.elements() / value.axes[0].size;
  for (int64_t place = 0; place < own; ++place) {
    int64_t from = 0, rest = place, stride = 1;
    for (size_t i = windows.size(); i-- > 0; rest /= windows[i].size, stride *= windows[i].whole)
      from += windows[i].padded(rest % windows[i].size) * stride;
    bool continues = !runs.empty() && runs.back().from + runs.back().bytes == from * bytes;
    if (!continues) runs.push_back({from * bytes, place * bytes, 0});
    runs.back().bytes += bytes;
  }
  memory = std::make_unique<char[]>(elements * bytes);
}

void RowWindow::copyTo(char *part) const {
  for (const Run &run : runs) memcpy(part + run.to, memory.get() + run.from, run.bytes);
}

} // namespace tessera::runtime
