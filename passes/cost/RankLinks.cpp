//===- RankLinks.cpp - what the links between ranks carry -----------------===//

#include "passes/cost/RankLinks.h"
#include "runtime/ranks/SmallExchanges.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;

/// The class of an entry such as `memory`, or `memory.all_gather`.
static StringRef classOf(StringRef entry) {
  auto [name, collective] = entry.rsplit('.');
  return symbolizeExchangeKind(collective) ? name : entry;
}

std::string tessera::insideClass(const Target &target) {
  std::string inside = target.isGpu() ? "pcie" : "memory";
  double fastest = 0;
  for (const auto &[entry, bandwidth] : target.figures.linkBandwidths)
    if (classOf(entry) != networkClass && bandwidth > fastest) fastest = bandwidth, inside = classOf(entry).str();
  return inside;
}

static int64_t sharingOf(const Target &target, StringRef linkClass) {
  const FigureMap &devices = target.figures.linkDevices;
  auto found = devices.find(linkClass.str());
  return found == devices.end() ? 1 : std::max<int64_t>(1, std::llround(found->second));
}

//===----------------------------------------------------------------------===//
// What links carry
//===----------------------------------------------------------------------===//

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

/// Counts what the links carry if each rank has one byte for each other one of its group.
class GroupCounter {
public:
  GroupCounter(int64_t ranks, int64_t devices, bool isGpu, int64_t insideSharing, int64_t networkSharing)
      : insideRing(ranks, devices, insideSharing), insideDirect(insideRing),
        networkRing(ranks, devices, networkSharing), networkDirect(networkRing), devices(devices), isGpu(isGpu) {}

  /// Adds a group, whose members are in the order of their machines. Returns the number of these.
  int64_t add(ArrayRef<int64_t> members) {
    int64_t machines = 0;
    for (size_t begin = 0, end = 0; begin < members.size(); begin = end, ++machines) {
      while (end < members.size() && areTogether(members[begin], members[end])) ++end;
      for (size_t i = begin; i < end; ++i) addMember(members, i, double(end - begin));
    }
    return machines;
  }

  Links insideRing, insideDirect, networkRing, networkDirect;

private:
  bool areTogether(int64_t rank, int64_t other) const { return rank / devices == other / devices; }

  static void carry(Links &links, int64_t rank, double bytes) { links.send(rank, bytes), links.receive(rank, bytes); }

  /// `near`: members on its machine.
  void addMember(ArrayRef<int64_t> members, size_t i, double near) {
    int64_t rank = members[i], next = members[(i + 1) % members.size()];
    double all = double(members.size()), aroundRing = all - 1;
    carry(insideDirect, rank, near - 1);
    carry(networkDirect, rank, all - near);
    if (!isGpu) {
      Links &links = areTogether(rank, next) ? insideRing : networkRing;
      links.send(rank, aroundRing), links.receive(next, aroundRing);
      return;
    }
    // A ring through the adapter of each member: it carries a part of the bytes between machines.
    double between = near < all ? aroundRing / near : 0;
    carry(networkRing, rank, between);
    carry(insideRing, rank, aroundRing - between);
  }

  int64_t devices;
  bool isGpu;
};

} // namespace

RankLinks::AxisLoads RankLinks::loadsOf(int64_t stride, int64_t size) const {
  GroupCounter counter(ranks, devices, isGpu, insideSharing, networkSharing);
  AxisLoads axis;
  axis.ranks = size;
  SmallVector<int64_t> members(size);
  for (int64_t first = 0; first < ranks; ++first) {
    if (first / stride % size != 0) continue;
    for (int64_t i = 0; i < size; ++i) members[i] = first + i * stride;
    axis.machines = std::max(axis.machines, counter.add(members));
  }
  axis.ring = {counter.insideRing.busiest(), counter.networkRing.busiest()};
  axis.direct = {counter.insideDirect.busiest(), counter.networkDirect.busiest()};
  return axis;
}

RankLinks::RankLinks(const Target &target, ArrayRef<int64_t> mesh, std::optional<Machines> machines)
    : isGpu(target.isGpu()), insideSharing(sharingOf(target, insideClass(target))),
      networkSharing(sharingOf(target, networkClass)) {
  for (int64_t size : mesh) ranks *= size;
  devices = machines ? machines->devices : ranks;
  int64_t stride = ranks;
  for (int64_t size : mesh) {
    stride /= size;
    loads.push_back(loadsOf(stride, size));
  }
}

bool RankLinks::isReorderingOf(const RankLinks &other) const {
  return loads.size() == other.loads.size() && std::is_permutation(loads.begin(), loads.end(), other.loads.begin());
}

RankLinks RankLinks::of(ModuleOp module) {
  ProgramMesh mesh = ProgramMesh::of(module);
  auto sizes = llvm::map_to_vector(mesh.getAxes(), [](AxisAttr axis) { return axis.getSize(); });
  RankLinks links(Target::of(module), sizes, Machines::of(module));
  for (AxisAttr axis : mesh.getAxes()) links.axisNames.push_back(axis.getName().str());
  return links;
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

std::pair<int64_t, int64_t> RankLinks::roundsOf(ExchangeKind kind, const AxisLoads &axis, int64_t bytes) const {
  bool crosses = axis.machines > 1;
  if (axis.ranks == 1) return {0, 0};
  if (isGpu && kind == ExchangeKind::AllToAll) return crosses ? std::pair(0, 1) : std::pair(1, 0);
  // Around a ring, from machine to machine as often as there are others.
  if (isGpu) return {axis.ranks - axis.machines, axis.machines - 1};
  bool isSmall = axis.ranks * bytes <= static_cast<int64_t>(runtime::smallExchangeBytes);
  int64_t rounds = isSmall ? llvm::Log2_64_Ceil(axis.ranks) : axis.ranks - 1;
  return crosses ? std::pair<int64_t, int64_t>(0, rounds) : std::pair<int64_t, int64_t>(rounds, 0);
}

ExchangeWork RankLinks::workOf(ExchangeKind kind, size_t axis, int64_t bytes) const {
  const AxisLoads &load = loads[axis];
  const PerByte &perByte = kind == ExchangeKind::AllToAll ? load.direct : load.ring;
  auto [inside, network] = roundsOf(kind, load, bytes);
  auto each = static_cast<double>(bytes);
  return {kind, (load.ranks - 1) * bytes, {perByte.inside * each, inside}, {perByte.network * each, network}};
}

ExchangeWork RankLinks::workOf(StartOp start) const {
  const auto *found = llvm::find(axisNames, start.getAlong());
  assert(found != axisNames.end() && "the mesh lacks the axis");
  return workOf(start.getKind(), found - axisNames.begin(), start.countBytes());
}
