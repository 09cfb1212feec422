//===- CalibratedLinks.cpp - measures the links between ranks -------------===//

#include "tools/CalibratedLinks.h"
#include "ir/program/DeviceFields.h"
#include "runtime/ranks/Agreement.h"
#include "runtime/ranks/RankMachines.h"
#include "runtime/ranks/RankShare.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <chrono>

using namespace mlir;
using namespace tessera;
using runtime::HostCommunicator;

/// Bytes from a rank for another one: a message, a gradient of some megabytes, and one that no cache holds.
static constexpr int64_t blockSizes[] = {256, 1 << 20, 8 << 20};
/// Of all blocks of a rank.
static constexpr int64_t mostBuffer = 64 << 20;
/// Of a measurement of one size: how long it takes, and the most exchanges in it. The lower quartile of some
/// measurements counts: a rank that the system interrupts delays all others, and a message by a thousandfold. So those
/// of messages are short and many.
static constexpr double measuredSeconds = 0.02;
static constexpr int mostExchanges = 8, measurements = 7, measurementsOfMessages = 61;
/// No larger block is measured after an exchange that took so long.
static constexpr double longest = 0.1;

static constexpr ExchangeKind collectives[] = {ExchangeKind::AllToAll, ExchangeKind::AllGather};

namespace {

class LinkMeasurement {
public:
  explicit LinkMeasurement(HostCommunicator &world) : world(world) {}
  CalibratedLinks run();

private:
  void findMachines();
  /// Measures links of a class: `axis` of the mesh [machines, devices], along which `group` is.
  void measureClass(const std::string &linkClass, size_t axis, HostCommunicator &group);
  /// How many devices of a machine share a link: some of the ranks exchange alone, then all do. `atOnce`: of those that
  /// exchange alone, the devices of one machine.
  int64_t findSharing(HostCommunicator &part, bool isAlone, int64_t atOnce);
  /// The seconds that an exchange takes the slowest rank; `takesPart`: this rank is one of those that exchange.
  double secondsOf(HostCommunicator &group, ExchangeKind kind, int64_t bytes, bool takesPart = true);
  double timeBatch(HostCommunicator &group, ExchangeKind kind, int64_t bytes, bool takesPart, int repeats);

  HostCommunicator &world;
  CalibratedLinks links;
  int machine = 0, device = 0; ///< of this rank
  std::vector<char> sent, received;
};

} // namespace

void LinkMeasurement::findMachines() {
  std::vector<int> machineOf = runtime::machinesOfRanks(world);
  int count = *std::max_element(machineOf.begin(), machineOf.end()) + 1, each = world.size() / count;
  links.machines = {count, each};
  runtime::Agreement(world).together("machines", [&] {
    for (int rank = 0; rank < world.size(); ++rank)
      if (each * count != world.size() || machineOf[rank] != rank / each)
        runtime::failUsage(
            "{} ranks are on {} machines, rank {} on machine {}: start equally many on each, adjacent ranks "
            "on one",
            world.size(), count, rank, machineOf[rank]);
  });
  machine = world.rank() / each, device = world.rank() % each;
}

double LinkMeasurement::timeBatch(HostCommunicator &group, ExchangeKind kind, int64_t bytes, bool takesPart,
                                  int repeats) {
  world.barrier("start");
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; takesPart && i < repeats; ++i) {
    if (kind == ExchangeKind::AllToAll)
      group.allToAll("all_to_all", sent.data(), received.data(), bytes);
    else
      group.allGather("all_gather", sent.data(), received.data(), bytes);
  }
  std::chrono::duration<double> own = std::chrono::steady_clock::now() - start;
  double seconds = own.count() / repeats;
  std::vector<double> all(world.size());
  world.allGather("times", &seconds, all.data(), sizeof(seconds));
  return *std::max_element(all.begin(), all.end());
}

double LinkMeasurement::secondsOf(HostCommunicator &group, ExchangeKind kind, int64_t bytes, bool takesPart) {
  sent.resize(std::max<size_t>(sent.size(), group.size() * bytes), 1);
  received.resize(sent.size(), 2);
  timeBatch(group, kind, bytes, takesPart, 1); // connections are made, pages come to be
  double first = timeBatch(group, kind, bytes, takesPart, 1);
  if (first < longest) first = std::min(first, timeBatch(group, kind, bytes, takesPart, 1));
  int repeats = std::clamp(static_cast<int>(measuredSeconds / first), 1, mostExchanges);
  int count = bytes == blockSizes[0] ? measurementsOfMessages : first > longest ? 1 : measurements;
  std::vector<double> times;
  for (int i = 0; i < count; ++i) times.push_back(timeBatch(group, kind, bytes, takesPart, repeats));
  std::nth_element(times.begin(), times.begin() + times.size() / 4, times.end());
  return times[times.size() / 4];
}

int64_t LinkMeasurement::findSharing(HostCommunicator &part, bool isAlone, int64_t atOnce) {
  double alone = 0, together = 0;
  for (int64_t bytes : blockSizes) {
    if (bytes * part.size() > mostBuffer) break;
    alone = secondsOf(part, ExchangeKind::AllToAll, bytes, isAlone);
    together = secondsOf(part, ExchangeKind::AllToAll, bytes);
    if (together > longest) break;
  }
  int64_t sharing = devicesOnLink(alone, together, links.machines.devices / atOnce);
  return sharing == 1 ? 1 : sharing * atOnce;
}

void LinkMeasurement::measureClass(const std::string &linkClass, size_t axis, HostCommunicator &group) {
  Target target = Target::ofKind(Target::Kind::Cpu);
  target.figures.linkDevices[linkClass] = double(links.devices[linkClass]);
  const Machines &machines = links.machines;
  RankLinks geometry(target, {machines.count, machines.devices}, machines);
  for (ExchangeKind kind : collectives) {
    std::vector<TimedExchange> times;
    for (int64_t bytes : blockSizes) {
      if (bytes * group.size() > mostBuffer) break;
      double seconds = secondsOf(group, kind, bytes);
      ExchangeWork work = geometry.workOf(kind, axis, bytes);
      times.push_back({linkClass == networkClass ? work.network : work.inside, seconds});
      if (seconds > longest) break;
    }
    if (std::optional<LinkFigures> figures = fitLink(times))
      links.figures[linkClass + "." + stringifyExchangeKind(kind).str()] = *figures;
  }
}

CalibratedLinks LinkMeasurement::run() {
  findMachines();
  // Before groups of other ranks: all have the same order of collectives.
  std::unique_ptr<HostCommunicator> near = world.split("machine", machine, device);
  std::unique_ptr<HostCommunicator> across = world.split("network", device, machine);
  std::unique_ptr<HostCommunicator> pair = world.split("pair", machine * world.size() + device / 2, device);
  auto [count, devices] = links.machines;
  std::string inside = insideClass(Target::ofKind(Target::Kind::Cpu)), network = networkClass.str();
  if (devices > 1) {
    bool havePairs = devices >= 4 && devices % 2 == 0; // of two ranks nothing is seen
    links.devices[inside] = havePairs ? findSharing(*pair, device < 2, 2) : 1;
    measureClass(inside, 1, *near);
  }
  if (count > 1) {
    links.devices[network] = devices > 1 ? findSharing(*across, device == 0, 1) : 1;
    measureClass(network, 0, *across);
  }
  return std::move(links);
}

CalibratedLinks tessera::calibrateLinks(HostCommunicator &world) { return LinkMeasurement(world).run(); }

void tessera::useAllProcessors() {
  try {
    runtime::restrictTo(runtime::processorsOfRank(runtime::findRankLaunch()));
  } catch (const runtime::Error &) {
  }
}

//===----------------------------------------------------------------------===//
// The figures
//===----------------------------------------------------------------------===//

std::string CalibratedLinks::ranks() const {
  std::string count = std::to_string(machines.allDevices()) + " ranks on ";
  return count + (machines.count == 1 ? "one machine" : std::to_string(machines.count) + " machines");
}

std::string CalibratedLinks::describe() const {
  std::string text;
  for (const auto &[name, link] : figures)
    text += llvm::formatv("{0}: {1:f2} GB/s, {2:f1} us\n", name, link.bandwidth / 1e9, 1e6 * link.latency);
  for (const auto &[name, count] : devices)
    if (count > 1) text += llvm::formatv("{0}: {1} ranks of a machine share a link\n", name, count);
  return text;
}

/// Enters a figure, unless it is out of range.
static void enterFigure(Target &target, const std::string &key, double value) {
  FieldKey found = findDeviceField(key);
  if (checkValue(*found.field, value).empty()) assign(target, found, value);
}

void CalibratedLinks::enter(Target &target) const {
  for (const auto &[name, link] : figures) {
    enterFigure(target, "link_bandwidth." + name, link.bandwidth);
    enterFigure(target, "link_latency." + name, link.latency);
  }
  for (const auto &[name, count] : devices)
    if (count > 1 || target.figures.linkDevices.count(name)) // 1 is the default
      enterFigure(target, "link_devices." + name, double(count));
}
