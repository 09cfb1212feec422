//===- GroupLoads.cpp - what links carry for groups of ranks --------------===//

#include "passes/cost/GroupLoads.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <numeric>
#include <vector>

using namespace tessera;

namespace {

/// The links of one class: so many ranks share each of them.
class Links {
public:
  Links(int64_t ranks, int64_t devices, int64_t sharing)
      : devices(devices), sharing(sharing), ofMachine(llvm::divideCeil(devices, sharing)),
        sent(llvm::divideCeil(ranks, devices) * ofMachine, 0.0), received(sent.size(), 0.0) {}

  void send(int64_t rank, double bytes) { sent[linkOf(rank)] += bytes; }
  void receive(int64_t rank, double bytes) { received[linkOf(rank)] += bytes; }
  double busiest() const {
    return std::max(*std::max_element(sent.begin(), sent.end()), *std::max_element(received.begin(), received.end()));
  }

private:
  size_t linkOf(int64_t rank) const { return rank / devices * ofMachine + rank % devices / sharing; }

  int64_t devices, sharing, ofMachine;
  std::vector<double> sent, received;
};

/// Counts what the links carry, one group after the other.
class GroupCounter {
public:
  /// `leftOut`: so many more members does each group have, on machines that none of the others is on.
  GroupCounter(const GroupsOnMachines &groups, int64_t leftOut)
      : groups(groups), all(static_cast<double>(groups.size + leftOut)),
        insideRing(groups.ranks, groups.devices, groups.insideSharing), insideDirect(insideRing),
        networkRing(groups.ranks, groups.devices, groups.networkSharing), networkDirect(networkRing) {}

  GroupLoads count() {
    GroupLoads loads;
    std::vector<int64_t> members(groups.size);
    for (int64_t first = 0; first < groups.ranks; ++first) {
      if (first / groups.stride % groups.size != 0) continue;
      for (int64_t i = 0; i < groups.size; ++i) members[i] = first + i * groups.stride;
      loads.machines = std::max(loads.machines, add(members));
    }
    loads.ring = {insideRing.busiest(), networkRing.busiest()};
    loads.direct = {insideDirect.busiest(), networkDirect.busiest()};
    return loads;
  }

private:
  bool areTogether(int64_t rank, int64_t other) const { return rank / groups.devices == other / groups.devices; }

  static void carry(Links &links, int64_t rank, double bytes) { links.send(rank, bytes), links.receive(rank, bytes); }

  /// Adds a group, whose members are in the order of their machines. Returns the number of these.
  int64_t add(const std::vector<int64_t> &members) {
    int64_t machines = 0;
    for (size_t begin = 0, end = 0; begin < members.size(); begin = end, ++machines) {
      while (end < members.size() && areTogether(members[begin], members[end])) ++end;
      for (size_t i = begin; i < end; ++i) addMember(members, i, double(end - begin));
    }
    return machines;
  }

  /// `near`: members on its machine.
  void addMember(const std::vector<int64_t> &members, size_t i, double near) {
    int64_t rank = members[i], next = members[(i + 1) % members.size()];
    double aroundRing = all - 1;
    carry(insideDirect, rank, near - 1);
    carry(networkDirect, rank, all - near);
    if (!groups.hasRingOfAdapters) {
      Links &links = areTogether(rank, next) ? insideRing : networkRing;
      links.send(rank, aroundRing), links.receive(next, aroundRing);
      return;
    }
    // A ring through the adapter of each member: it carries a part of the bytes between machines.
    double between = near < all ? aroundRing / near : 0;
    carry(networkRing, rank, between);
    carry(insideRing, rank, aroundRing - between);
  }

  const GroupsOnMachines &groups;
  double all; ///< members of a group
  Links insideRing, insideDirect, networkRing, networkDirect;
};

} // namespace

GroupLoads tessera::countGroupLoads(const GroupsOnMachines &groups) { return GroupCounter(groups, 0).count(); }

/// All ranks carry the same over one class of links, and nothing over the other one.
static GroupLoads evenLoads(const GroupsOnMachines &groups, bool isInside) {
  int64_t sharing = std::min({isInside ? groups.insideSharing : groups.networkSharing, groups.devices, groups.ranks});
  auto busiest = static_cast<double>(sharing * (groups.size - 1));
  GroupLoads::PerByte load = isInside ? GroupLoads::PerByte{busiest, 0} : GroupLoads::PerByte{0, busiest};
  return {isInside ? 1 : groups.size, load, load};
}

GroupLoads tessera::groupLoads(const GroupsOnMachines &groups) {
  int64_t devices = groups.devices, stride = groups.stride, span = stride * groups.size;
  if (groups.size == 1 || devices >= groups.ranks || devices % span == 0) return evenLoads(groups, /*isInside=*/true);
  if (stride >= devices) return evenLoads(groups, /*isInside=*/false);

  // The first and the last member of a group send to each other in a CPU's ring, so the machines that they or another
  // group are on differ from those in the middle: a group keeps at least the length of four machines.
  GroupsOnMachines kept = groups;
  int64_t period = devices / std::gcd(stride, devices), least = llvm::divideCeil(4 * devices, stride);
  if (groups.size > least) kept.size -= (groups.size - least) / period * period;
  int64_t leftOut = groups.size - kept.size;
  kept.ranks = std::min(groups.ranks / span, devices / std::gcd(span, devices)) * stride * kept.size;
  GroupLoads loads = GroupCounter(kept, leftOut).count();
  loads.machines += leftOut * stride / devices;
  return loads;
}
