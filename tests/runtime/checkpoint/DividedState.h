//===- DividedState.h - states, and the parts that ranks have of them -----===//

#ifndef TESSERA_TESTS_RUNTIME_CHECKPOINT_DIVIDEDSTATE_H
#define TESSERA_TESTS_RUNTIME_CHECKPOINT_DIVIDEDSTATE_H

#include "runtime/checkpoint/Checkpoint.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace tessera::tests {

using namespace runtime;

/// A state as one rank has it, and the mesh axes along which it is divided if the mesh has them.
struct WholeState {
  std::string path, kind;
  ElementType type;
  std::vector<AxisSpec> axes; ///< memory order
  std::vector<std::string> canonical;
  std::map<std::string, std::string> along = {}; ///< from axis to mesh axis
};

/// The manifest of a program for a mesh.
inline Manifest manifestFor(const std::vector<WholeState> &states, const std::vector<MeshAxisSpec> &mesh) {
  Manifest manifest;
  manifest.model = "m";
  manifest.target.ranks.mesh = mesh;
  for (const WholeState &state : states) {
    StateEntry entry{state.path, state.kind, state.type, state.axes, state.canonical, manifest.arena.bytes, 0};
    entry.bytes = bytesOf(state.type);
    for (AxisSpec &axis : entry.axes) {
      for (const MeshAxisSpec &ranks : mesh)
        if (auto along = state.along.find(axis.name); along != state.along.end() && along->second == ranks.name) {
          entry.divided.push_back({axis.name, ranks.name, axis.size});
          axis.size = (axis.size + ranks.size - 1) / ranks.size;
        }
      entry.bytes *= axis.size;
    }
    manifest.arena.bytes += (entry.bytes + 7) / 8 * 8;
    manifest.state.push_back(entry);
  }
  return manifest;
}

inline int ranksOf(const Manifest &manifest) {
  int ranks = 1;
  for (const MeshAxisSpec &axis : manifest.target.ranks.mesh) ranks *= static_cast<int>(axis.size);
  return ranks;
}

/// The position of a rank along a mesh axis; the last axis is the fastest.
inline int64_t positionOf(const Manifest &manifest, int rank, const std::string &along) {
  int64_t rest = rank, position = 0;
  const std::vector<MeshAxisSpec> &mesh = manifest.target.ranks.mesh;
  for (size_t i = mesh.size(); i-- > 0; rest /= mesh[i].size)
    if (mesh[i].name == along) position = rest % mesh[i].size;
  return position;
}

/// For each element in the memory of a rank: its number in the canonical order of the whole tensor; -1: padding.
inline std::vector<int64_t> wholeNumbers(const Manifest &manifest, const StateEntry &entry, int rank) {
  std::vector<AxisSpec> whole = entry.wholeAxes();
  std::vector<int64_t> numbers = {0};
  for (const AxisSpec &axis : entry.axes) {
    size_t place = std::find(entry.canonical.begin(), entry.canonical.end(), axis.name) - entry.canonical.begin();
    int64_t stride = 1, begin = 0;
    for (size_t i = place + 1; i < whole.size(); ++i) stride *= whole[i].size;
    for (const DividedAxis &part : entry.divided)
      if (part.axis == axis.name) begin = positionOf(manifest, rank, part.along) * axis.size;
    std::vector<int64_t> inner;
    inner.reserve(numbers.size() * axis.size);
    for (int64_t number : numbers)
      for (int64_t i = begin; i < begin + axis.size; ++i)
        inner.push_back(number < 0 || i >= whole[place].size ? -1 : number + i * stride);
    numbers = std::move(inner);
  }
  return numbers;
}

/// The memory of a rank: each element is made of its number and that of its state, padding of zeros.
inline std::vector<char> memoryOf(const Manifest &manifest, int rank) {
  std::vector<char> memory(manifest.arena.bytes);
  for (size_t i = 0; i < manifest.state.size(); ++i) {
    const StateEntry &entry = manifest.state[i];
    int64_t size = bytesOf(entry.type);
    std::vector<int64_t> numbers = wholeNumbers(manifest, entry, rank);
    for (size_t at = 0; at < numbers.size(); ++at) {
      uint64_t element = numbers[at] < 0 ? 0 : (numbers[at] + 1) * 0x9e3779b97f4a7c15ull + i;
      memcpy(memory.data() + entry.offset + at * size, &element, size);
    }
  }
  return memory;
}

inline StateAddress addressIn(std::vector<char> &memory) {
  return [&memory](const StateEntry &entry) { return memory.data() + entry.offset; };
}

} // namespace tessera::tests

#endif // TESSERA_TESTS_RUNTIME_CHECKPOINT_DIVIDEDSTATE_H
