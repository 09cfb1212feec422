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

RankLinks::RankLinks(const Target &target, ArrayRef<int64_t> mesh, std::optional<Machines> machines)
    : isGpu(target.isGpu()) {
  GroupsOnMachines groups;
  for (int64_t size : mesh) groups.ranks *= size;
  groups.devices = machines ? machines->devices : groups.ranks;
  groups.insideSharing = sharingOf(target, insideClass(target));
  groups.networkSharing = sharingOf(target, networkClass);
  groups.hasRingOfAdapters = isGpu;
  groups.stride = groups.ranks;
  for (int64_t size : mesh) {
    groups.size = size, groups.stride /= size;
    axes.push_back({size, groupLoads(groups)});
  }
}

bool RankLinks::isReorderingOf(const RankLinks &other) const {
  return axes.size() == other.axes.size() && std::is_permutation(axes.begin(), axes.end(), other.axes.begin());
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

std::pair<int64_t, int64_t> RankLinks::roundsOf(ExchangeKind kind, const Axis &axis, int64_t bytes) const {
  bool crosses = axis.loads.machines > 1;
  if (axis.ranks == 1) return {0, 0};
  if (isGpu && kind == ExchangeKind::AllToAll) return crosses ? std::pair(0, 1) : std::pair(1, 0);
  // Around a ring, from machine to machine as often as there are others.
  if (isGpu) return {axis.ranks - axis.loads.machines, axis.loads.machines - 1};
  bool isSmall = axis.ranks * bytes <= static_cast<int64_t>(runtime::smallExchangeBytes);
  int64_t rounds = isSmall ? llvm::Log2_64_Ceil(axis.ranks) : axis.ranks - 1;
  return crosses ? std::pair<int64_t, int64_t>(0, rounds) : std::pair<int64_t, int64_t>(rounds, 0);
}

ExchangeWork RankLinks::workOf(ExchangeKind kind, size_t axis, int64_t bytes) const {
  auto [ranks, loads] = axes[axis];
  const GroupLoads::PerByte &perByte = kind == ExchangeKind::AllToAll ? loads.direct : loads.ring;
  auto [inside, network] = roundsOf(kind, axes[axis], bytes);
  auto each = static_cast<double>(bytes);
  return {kind, (ranks - 1) * bytes, {perByte.inside * each, inside}, {perByte.network * each, network}};
}

ExchangeWork RankLinks::workOf(StartOp start) const {
  const auto *found = llvm::find(axisNames, start.getAlong());
  assert(found != axisNames.end() && "the mesh lacks the axis");
  return workOf(start.getKind(), found - axisNames.begin(), start.countBytes());
}
