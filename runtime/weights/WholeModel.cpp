//===- WholeModel.cpp - the parameters of a model, without its program ----===//

#include "runtime/weights/WholeModel.h"

#include "runtime/weights/WeightLayout.h"

namespace tessera::runtime {

/// Elements of all types are aligned.
static constexpr int64_t alignment = 8;

WholeModel::WholeModel(const Manifest &program) {
  description.model = program.model;
  for (const StateEntry *part : modelEntries(program)) {
    StateEntry &entry = description.state.emplace_back(*part);
    for (AxisSpec &axis : entry.axes)
      for (const DividedAxis &divided : part->divided)
        if (divided.axis == axis.name) axis.size = divided.whole;
    entry.divided.clear();
    entry.offset = description.arena.bytes;
    entry.bytes = part->wholeElements() * bytesOf(entry.type);
    description.arena.bytes += (entry.bytes + alignment - 1) / alignment * alignment;
  }
  memory = std::make_unique_for_overwrite<char[]>(description.arena.bytes);
}

} // namespace tessera::runtime
