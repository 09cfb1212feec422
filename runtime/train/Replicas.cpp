//===- Replicas.cpp - state that ranks hold equally -----------------------===//

#include "runtime/train/Replicas.h"

#include "runtime/base/Hash.h"
#include "runtime/ranks/Agreement.h"

#include <algorithm>

namespace tessera::runtime {

/// The first rank that holds the same part of a state as `rank`: at position 0 of all axes that do not divide it.
static int firstHolder(const StateEntry &entry, const Mesh &mesh, int rank) {
  std::vector<int> coordinates = mesh.coordinates(rank);
  for (size_t axis = 0; axis < coordinates.size(); ++axis) {
    bool divides = std::any_of(entry.divided.begin(), entry.divided.end(),
                               [&](const DividedAxis &part) { return part.along == mesh.axes()[axis].name; });
    if (!divides) coordinates[axis] = 0;
  }
  return mesh.rankAt(coordinates);
}

void checkReplicas(const Manifest &manifest, const Mesh &mesh, HostCommunicator &world,
                   const std::function<const char *(const StateEntry &)> &address) {
  constexpr size_t mostNamed = 5; // of states, in the message
  size_t count = manifest.state.size();
  std::vector<uint64_t> own, all(count * world.size());
  for (const StateEntry &entry : manifest.state) own.push_back(hashXxh64(address(entry), entry.bytes));
  world.allGather("hashes of replicas", own.data(), all.data(), count * sizeof(uint64_t));
  std::vector<std::string> differing;
  for (size_t i = 0; i < count; ++i) {
    std::vector<std::string> ranks;
    for (int rank = 0; rank < world.size(); ++rank) {
      int first = firstHolder(manifest.state[i], mesh, rank);
      if (all[rank * count + i] != all[first * count + i]) ranks.push_back(fmt::format("{} from {}", rank, first));
    }
    if (!ranks.empty())
      differing.push_back(fmt::format("{} (rank {})", printable(manifest.state[i].path), fmt::join(ranks, ", ")));
  }
  if (differing.empty()) return;
  size_t named = std::min(differing.size(), mostNamed);
  std::string text = fmt::format("{}", fmt::join(differing.begin(), differing.begin() + named, ", "));
  if (differing.size() > named) text += fmt::format(" and {} more", differing.size() - named);
  throw RankError(noRank, "states that ranks hold equally differ: " + text, ExitStatus::Fault);
}

} // namespace tessera::runtime
