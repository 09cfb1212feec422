//===- RankMachines.cpp - which ranks are on one machine ------------------===//

#include "runtime/ranks/RankMachines.h"

#include "runtime/ranks/PeerSockets.h"

#include <algorithm>
#include <array>
#include <map>

namespace tessera::runtime {

std::vector<int> machinesOfRanks(HostCommunicator &world) {
  using Name = std::array<char, sizeof(PeerCard::network)>;
  Name own = {};
  std::string name = networkName();
  std::copy_n(name.begin(), std::min(name.size(), own.size()), own.begin());
  std::vector<Name> names(world.size());
  world.allGather("machines of ranks", &own, names.data(), sizeof(own));
  std::map<Name, int> numbers;
  std::vector<int> machines;
  for (const Name &each : names) machines.push_back(numbers.try_emplace(each, numbers.size()).first->second);
  return machines;
}

} // namespace tessera::runtime
