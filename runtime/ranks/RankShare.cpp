//===- RankShare.cpp - what of a machine one rank uses --------------------===//

#include "runtime/ranks/RankShare.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sched.h>
#include <tuple>
#include <unistd.h>

namespace tessera::runtime {

RankShare shareOf(const Processors &processors, int64_t memory, int localRank, int localSize) {
  int count = static_cast<int>(processors.size()), each = count / localSize;
  RankShare share;
  share.memory = memory / localSize;
  if (each == 0)
    share.processors = {processors[static_cast<size_t>(localRank) * count / localSize]};
  else
    share.processors.assign(processors.begin() + localRank * each, processors.begin() + (localRank + 1) * each);
  return share;
}

/// A number that the system says of a processor; 0 if it says none.
static int topologyOf(int processor, const char *what) {
  std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/{}", processor, what));
  int value = 0;
  return file >> value ? value : 0;
}

/// 0: this thread.
static Processors processorsOf(pid_t process) {
  cpu_set_t set;
  CPU_ZERO(&set);
  Processors processors;
  if (sched_getaffinity(process, sizeof(set), &set) == 0)
    for (int processor = 0; processor < CPU_SETSIZE; ++processor)
      if (CPU_ISSET(processor, &set)) processors.push_back(processor);
  if (processors.empty()) return {0};
  // Numbers alone would give the first threads of all cores to one rank and the second ones to another.
  std::vector<std::tuple<int, int, int>> order;
  for (int processor : processors)
    order.emplace_back(topologyOf(processor, "physical_package_id"), topologyOf(processor, "core_id"), processor);
  std::sort(order.begin(), order.end());
  std::transform(order.begin(), order.end(), processors.begin(), [](auto &entry) { return std::get<2>(entry); });
  return processors;
}

Processors allowedProcessors() { return processorsOf(0); }

Processors processorsOfRank(const RankLaunch &launch) {
  // Set for ranks that are bound, and for ranks whose binding was asked for.
  bool isBound = getenv("OMPI_MCA_orte_bound_at_launch"), isAsked = getenv("OMPI_MCA_hwloc_base_binding_policy");
  Processors own = allowedProcessors();
  if (launch.launcher != RankLauncher::Mpirun || !isBound || isAsked) return own;
  Processors all = processorsOf(getppid());
  // Unless the parent is a shell that mpirun bound.
  return all.size() > own.size() ? all : own;
}

namespace {
/// What a rank says of itself.
struct MachineCard {
  char machine[64]; ///< the same for ranks that share processors
  int32_t count;
  int32_t processors[CPU_SETSIZE]; ///< in order; unused ones are -1
  int64_t memory;

  bool sharesMachine(const MachineCard &other) const { return memcmp(machine, other.machine, sizeof(machine)) == 0; }
  bool sharesProcessors(const MachineCard &other) const {
    return sharesMachine(other) && memcmp(processors, other.processors, sizeof(processors)) == 0;
  }
};
} // namespace

static MachineCard ownCard(const Processors &processors, int64_t memory) {
  MachineCard card = {};
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  memcpy(card.machine, id.data(), std::min(id.size(), sizeof(card.machine)));
  card.count = static_cast<int32_t>(processors.size());
  std::fill_n(card.processors, CPU_SETSIZE, -1);
  std::copy(processors.begin(), processors.end(), card.processors);
  card.memory = memory;
  return card;
}

RankShare agreeOnShare(HostCommunicator &world, const Processors &processors, int64_t memory) {
  std::vector<MachineCard> cards(world.size());
  MachineCard own = ownCard(processors, memory);
  world.allGather("processors of each rank", &own, cards.data(), sizeof(own));
  // Among the cards that `isLike` holds for, the position of rank `rank`, and their number.
  auto placeAmong = [&](int rank, auto isLike) {
    std::pair<int, int> place = {0, 0};
    for (int other = 0; other < world.size(); ++other)
      if ((cards[other].*isLike)(cards[rank])) place.first += other < rank, ++place.second;
    return place;
  };
  int threads = CPU_SETSIZE;
  for (int rank = 0; rank < world.size(); ++rank) {
    int sharing = placeAmong(rank, &MachineCard::sharesProcessors).second;
    threads = std::min(threads, std::max(1, cards[rank].count / sharing));
  }
  auto [place, sharing] = placeAmong(world.rank(), &MachineCard::sharesProcessors);
  RankShare share = shareOf(processors, 0, place, sharing);
  share.processors.resize(threads);
  // The least that one of them saw: another may have begun to allocate.
  int64_t least = memory;
  for (const MachineCard &card : cards)
    if (card.sharesMachine(own)) least = std::min(least, card.memory);
  share.memory = least / placeAmong(world.rank(), &MachineCard::sharesMachine).second;
  return share;
}

void restrictTo(const Processors &processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int processor : processors) CPU_SET(processor, &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0)
    fail("cannot run on processors {} only: {}", fmt::format("{}", fmt::join(processors, ", ")), strerror(errno));
}

} // namespace tessera::runtime
