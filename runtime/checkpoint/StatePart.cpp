//===- StatePart.cpp - the part of a state that a rank has ----------------===//

#include "runtime/checkpoint/StatePart.h"

#include <algorithm>
#include <cstring>

namespace tessera::runtime {

static Mesh meshOf(const RanksSpec &ranks) {
  std::vector<MeshAxis> axes;
  for (const MeshAxisSpec &axis : ranks.mesh) axes.push_back({axis.name, static_cast<int>(axis.size)});
  return Mesh(std::move(axes));
}

MeshPlace::MeshPlace(const RanksSpec &ranks, const HostCommunicator &world) : mesh(meshOf(ranks)) {
  mesh.requireRanks(world.size());
  coordinates = mesh.coordinates(world.rank());
}

PartHolder MeshPlace::holderOf(const StateEntry &entry) const {
  PartHolder holder;
  for (size_t i = 0; i < coordinates.size(); ++i) {
    const MeshAxis &axis = mesh.axes()[i];
    bool isDivided = std::any_of(entry.divided.begin(), entry.divided.end(),
                                 [&](const DividedAxis &part) { return part.along == axis.name; });
    if (isDivided) continue;
    holder.number = holder.number * axis.size + coordinates[i];
    holder.count *= axis.size;
  }
  return holder;
}

std::vector<PartAxis> partAxes(const StateEntry &entry, const MeshPlace &place) {
  std::vector<PartAxis> axes;
  for (const AxisSpec &axis : entry.canonicalAxes()) {
    int64_t stride = 1;
    for (size_t i = entry.axes.size(); i-- > 0 && entry.axes[i].name != axis.name;) stride *= entry.axes[i].size;
    PartAxis part{axis.size, 0, axis.size, stride};
    for (const DividedAxis &divided : entry.divided)
      if (divided.axis == axis.name) {
        part.whole = divided.whole;
        part.begin = std::min(place.along(divided.along) * axis.size, divided.whole);
        part.count = std::min(axis.size, divided.whole - part.begin);
      }
    axes.push_back(part);
  }
  return axes;
}

StatePart::StatePart(const StateEntry &entry, const MeshPlace &place)
    : elementBytes(bytesOf(entry.type)), memoryBytes(entry.bytes) {
  std::vector<PartAxis> parts = partAxes(entry, place);
  int64_t stride = 1;
  for (size_t i = parts.size(); i-- > 0; stride *= parts[i].whole) {
    fileOffset += parts[i].begin * stride;
    count *= parts[i].count;
    axes.insert(axes.begin(), {parts[i].count, stride, parts[i].stride});
  }
  inFile = walked(axes, &StridedAxis::from);
  inMemory = walked(axes, &StridedAxis::to);
}

/// The axes with their strides on one side; those that are one axis there are merged. At least one.
std::vector<StatePart::WalkedAxis> StatePart::walked(const std::vector<StridedAxis> &axes, int64_t StridedAxis::*side) {
  std::vector<WalkedAxis> result;
  for (const StridedAxis &axis : axes) {
    if (axis.size == 1) continue;
    int64_t stride = axis.*side;
    if (!result.empty() && result.back().stride == axis.size * stride)
      result.back() = {result.back().size * axis.size, stride};
    else
      result.push_back({axis.size, stride});
  }
  if (result.empty()) result.push_back({1, 1});
  return result;
}

/// Visits the elements [first, end), in runs along the last axis: visit(element, its offset, elements).
template <typename Visit>
void StatePart::forEachRun(const std::vector<WalkedAxis> &axes, int64_t first, int64_t end, Visit visit) {
  if (first >= end) return; // an axis may have no elements
  std::vector<int64_t> index(axes.size(), 0);
  int64_t offset = 0, rest = first;
  for (size_t i = axes.size(); i-- > 0; rest /= axes[i].size)
    offset += (index[i] = rest % axes[i].size) * axes[i].stride;
  for (int64_t at = first; at < end;) {
    int64_t run = std::min(axes.back().size - index.back(), end - at);
    visit(at, offset, run);
    at += run;
    offset -= index.back() * axes.back().stride;
    index.back() = 0;
    for (size_t i = axes.size() - 1; i-- > 0;) {
      offset += axes[i].stride;
      if (++index[i] < axes[i].size) break;
      offset -= index[i] * axes[i].stride;
      index[i] = 0;
    }
  }
}

const char *StatePart::dense(const char *memory, int64_t first, int64_t number, std::vector<char> &buffer) const {
  int64_t size = elementBytes, step = inMemory.back().stride * size;
  if (inMemory.size() == 1 && step == size) return memory + first * size;
  buffer.resize(number * size);
  forEachRun(inMemory, first, first + number, [&](int64_t at, int64_t offset, int64_t run) {
    char *to = buffer.data() + (at - first) * size;
    const char *from = memory + offset * size;
    if (step == size)
      memcpy(to, from, run * size);
    else
      for (int64_t i = 0; i < run; ++i) memcpy(to + i * size, from + i * step, size);
  });
  return buffer.data();
}

void StatePart::forEachFileRun(int64_t first, int64_t number,
                               const std::function<void(int64_t, int64_t)> &visit) const {
  forEachRun(inFile, first, first + number, [&](int64_t, int64_t offset, int64_t run) {
    if (inFile.back().stride == 1) return visit(fileOffset + offset, run);
    for (int64_t i = 0; i < run; ++i) visit(fileOffset + offset + i * inFile.back().stride, 1);
  });
}

void StatePart::read(const char *whole, char *memory) const {
  if (count * elementBytes < memoryBytes) memset(memory, 0, memoryBytes);
  if (count > 0) copyStrided(axes, elementBytes, whole + fileOffset * elementBytes, memory);
}

} // namespace tessera::runtime
