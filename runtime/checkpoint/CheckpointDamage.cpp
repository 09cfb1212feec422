//===- CheckpointDamage.cpp - errors and damage, alike on all ranks -------===//

#include "runtime/checkpoint/CheckpointDamage.h"

#include "runtime/ranks/Agreement.h"

#include <optional>

namespace tessera::runtime {

void onAllRanks(HostCommunicator &world, std::string_view what, const std::function<void()> &body) {
  if (world.size() == 1) return body();
  Agreement agreement(world);
  std::optional<std::string> damage;
  agreement.together(what, [&] {
    try {
      body();
    } catch (const CheckpointDamaged &found) {
      damage = found.what();
    }
  });
  if (damage) agreement.setError(*damage, ExitStatus::Fault);
  try {
    agreement.agree(what);
  } catch (const RankError &found) {
    throw CheckpointDamaged(found.what());
  }
}

void onFirstRank(HostCommunicator &world, std::string_view what, const std::function<void()> &body) {
  onAllRanks(world, what, [&] {
    if (world.rank() == 0) body();
  });
}

} // namespace tessera::runtime
