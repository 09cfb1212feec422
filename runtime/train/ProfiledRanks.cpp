//===- ProfiledRanks.cpp - what each rank of a profiled run did -----------===//

#include "runtime/train/ProfiledRanks.h"

namespace tessera::runtime {

Json profiledRanks(const Profile &profile, const RanksSpec &spec, int64_t arenaBytes, HostCommunicator &world) {
  // The arena, then what was sent: for each axis of the mesh, by kind. Equally many numbers on all ranks.
  std::vector<int64_t> own = {arenaBytes};
  for (const MeshAxisSpec &axis : spec.mesh)
    for (ExchangeSpec::Kind kind : ExchangeSpec::kinds) {
      int64_t sent = 0;
      for (size_t i = 0; i < spec.exchanges.size(); ++i)
        if (spec.exchanges[i].along == axis.name && spec.exchanges[i].kind == kind)
          sent += profile.sentBy(static_cast<int64_t>(i));
      own.push_back(sent);
    }
  std::vector<int64_t> all(own.size() * world.size());
  world.allGather("the profile of the ranks", own.data(), all.data(), own.size() * sizeof(int64_t));

  Json list = Json::array();
  for (auto next = all.begin(); next != all.end();) {
    Json rank = {{"arena", *next++}, {"sent", Json::object()}};
    for (const MeshAxisSpec &axis : spec.mesh)
      for (ExchangeSpec::Kind kind : ExchangeSpec::kinds) rank["sent"][axis.name][ExchangeSpec::nameOf(kind)] = *next++;
    list.push_back(std::move(rank));
  }
  return list;
}

} // namespace tessera::runtime
