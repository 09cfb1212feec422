//===- PlannedRanks.cpp - what ranks share and exchange, for a person -----===//

#include "tools/PlannedRanks.h"
#include "runtime/base/Quantities.h"
#include "runtime/machine/MachineMemory.h"
#include <algorithm>

using namespace tessera;
using namespace tessera::runtime;

/// Of the exchanges as text; JSON has all.
static constexpr size_t mostListed = 15;
/// Exchanges below this share of the bytes of a step are added up in one row.
static constexpr double leastShare = 0.01;

PlannedRanks::PlannedRanks(const Manifest &manifest)
    : manifest(manifest), ranks(manifest.target.ranks), sharding(ranks) {
  for (const ExchangeSpec &exchange : ranks.exchanges)
    if (exchange.callsIn("step") > 0) addExchange(exchange);
  std::stable_sort(rows.begin(), rows.end(), [](const Row &a, const Row &b) { return a.bytes > b.bytes; });
}

void PlannedRanks::addExchange(const ExchangeSpec &exchange) {
  int64_t calls = exchange.callsIn("step");
  Row own{&exchange, calls, calls * ranks.received(exchange)};
  if (exchange.seconds) own.seconds = static_cast<double>(calls) * *exchange.seconds;
  auto found = std::find_if(rows.begin(), rows.end(), [&](const Row &row) {
    const ExchangeSpec &first = *row.first;
    return first.name == exchange.name && first.line == exchange.line && first.along == exchange.along &&
           first.kind == exchange.kind;
  });
  if (found == rows.end()) return rows.push_back(own);
  found->calls += own.calls, found->bytes += own.bytes;
  if (found->seconds) found->seconds = own.seconds ? std::optional(*found->seconds + *own.seconds) : std::nullopt;
}

std::optional<double> PlannedRanks::exchangeSeconds() const {
  double seconds = 0;
  for (const Row &row : rows) {
    if (!row.seconds) return std::nullopt;
    seconds += *row.seconds;
  }
  return rows.empty() ? std::nullopt : std::optional(seconds);
}

int64_t PlannedRanks::callsAlong(const std::string &axis, ExchangeSpec::Kind kind) const {
  int64_t calls = 0;
  for (const Row &row : rows)
    if (row.first->along == axis && row.first->kind == kind) calls += row.calls;
  return calls;
}

int64_t PlannedRanks::bytesAlong(const std::string &axis) const {
  int64_t bytes = 0;
  for (const Row &row : rows)
    if (row.first->along == axis) bytes += row.bytes;
  return bytes;
}

bool PlannedRanks::crossesMachines(const std::string &axis) const {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const Row &row) { return row.first->along == axis && row.first->crossesMachines(); });
}

std::vector<PlannedRanks::StateKind> PlannedRanks::stateKinds() const {
  std::vector<StateKind> kinds;
  for (const StateEntry &entry : manifest.state) {
    auto found =
        std::find_if(kinds.begin(), kinds.end(), [&](const StateKind &kind) { return kind.name == entry.kind; });
    StateKind &kind = found == kinds.end() ? kinds.emplace_back(StateKind{entry.kind}) : *found;
    ++kind.count;
    kind.rankBytes += entry.bytes, kind.wholeBytes += entry.wholeBytes();
    for (const MeshAxisSpec &axis : ranks.mesh)
      kind.divided[axis.name] += std::any_of(entry.divided.begin(), entry.divided.end(),
                                             [&](const DividedAxis &part) { return part.along == axis.name; });
  }
  return kinds;
}

//===----------------------------------------------------------------------===//
// As text
//===----------------------------------------------------------------------===//

std::string PlannedRanks::whose() const {
  return ranks.mesh.empty() ? "" : fmt::format("; of one of {} rank{}", ranks.count(), ranks.count() == 1 ? "" : "s");
}

/// " on 2 machines with 4 devices each".
static std::string describeMachines(const std::optional<MachinesSpec> &machines) {
  if (!machines) return "";
  auto [count, devices] = *machines;
  return fmt::format(" on {} machine{} with {} device{}{}", count, count == 1 ? "" : "s", devices,
                     devices == 1 ? "" : "s", count == 1 ? "" : " each");
}

/// By how much the search for a sharding may have missed the best one, by its own estimate.
static std::string describeSearch(const SearchSpec &search) {
  double percent = 100 * search.gap();
  std::string gap = percent < 0.05 ? "no sharding that it knows takes less"
                                   : fmt::format("at most {:.1f} % above the least of those that it knows", percent);
  std::string limit = search.memory ? "within " + formatBytes(*search.memory) : "without a limit of memory";
  std::string text = fmt::format("  {:<28} {:>12}  by the estimate of the search: {}, {}\n", "found: a step takes",
                                 formatSeconds(search.seconds), gap, limit);
  if (!search.unpinned) return text;
  double price = *search.unpinned > 0 ? 100 * (search.seconds / *search.unpinned - 1) : 0;
  std::string costs = price < 0.05 ? "--mesh, --shard and --zero cost nothing"
                                   : fmt::format("--mesh, --shard and --zero cost {:.1f} %", price);
  return text + fmt::format("  {:<28} {:>12}  {}\n", "with all of it found", formatSeconds(*search.unpinned), costs);
}

std::string PlannedRanks::describeAxes() const {
  std::string mesh, text;
  for (const MeshAxisSpec &axis : ranks.mesh) {
    mesh += fmt::format("{}{}={}", mesh.empty() ? "" : ", ", axis.name, axis.size);
    std::string counts; // "6 all_to_all, 4 all_gather"
    for (ExchangeSpec::Kind kind : ExchangeSpec::kinds)
      if (int64_t calls = callsAlong(axis.name, kind); calls > 0 || kind != ExchangeSpec::Kind::ReduceScatter)
        counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", calls, ExchangeSpec::nameOf(kind));
    text += fmt::format("  {:<28} {:>12}  {}{}\n", "received along " + axis.name, formatBytes(bytesAlong(axis.name)),
                        counts, crossesMachines(axis.name) ? ", between machines" : "");
  }
  if (ranks.search) text = describeSearch(*ranks.search) + text;
  return fmt::format("ranks       mesh {}: {} rank{}{}; memory is that of one rank, exchanges are those of a step\n{}",
                     mesh, ranks.count(), ranks.count() == 1 ? "" : "s", describeMachines(ranks.machines), text);
}

std::string PlannedRanks::describeState() const {
  std::string text =
      fmt::format("state of ranks\n  {:<10} {:>12}  {:>12}  {:>14}\n", "kind", "a rank", "all ranks", "without copies");
  for (const StateKind &kind : stateKinds()) {
    std::string divided;
    for (const MeshAxisSpec &axis : ranks.mesh)
      if (int64_t count = kind.divided.at(axis.name); count > 0)
        divided +=
            fmt::format("{}{} of {} along {}", divided.empty() ? "  divided: " : ", ", count, kind.count, axis.name);
    text += fmt::format("  {:<10} {:>12}  {:>12}  {:>14}{}\n", kind.name, formatBytes(kind.rankBytes),
                        formatBytes(ranks.count() * kind.rankBytes), formatBytes(kind.wholeBytes), divided);
  }
  return text;
}

/// "  1.0 MiB  x 12  1.2 ms  all_to_all along data: gradient of h.mlp.up, gpt.tsr:33:21".
std::string PlannedRanks::describe(const Row &row) const {
  const ExchangeSpec &first = *row.first;
  bool isTimed = row.seconds && !manifest.predicted.isAssumed();
  return fmt::format("  {:>14}  {:>8}  {:>9}  {} along {}: {}{}{}\n", formatBytes(row.bytes),
                     fmt::format("x {}", row.calls), isTimed ? formatSeconds(*row.seconds) : "", first.kindName(),
                     first.along, first.name, first.line.empty() ? "" : ", ", first.line);
}

std::string PlannedRanks::describeExchanges() const {
  if (rows.empty()) return "exchanges of a step: none\n";
  int64_t whole = 0;
  for (const Row &row : rows) whole += row.bytes;
  std::string text = "exchanges of a step, by the bytes that a rank receives\n";
  size_t listed = 0;
  auto isLarge = [&](const Row &row) { return double(row.bytes) >= leastShare * double(whole); };
  while (listed < rows.size() && listed < mostListed && isLarge(rows[listed])) text += describe(rows[listed++]);
  if (listed + 1 == rows.size()) return text + describe(rows[listed]); // a sum of one takes a row, too
  int64_t bytes = 0, calls = 0;
  for (size_t i = listed; i < rows.size(); ++i) bytes += rows[i].bytes, calls += rows[i].calls;
  if (calls == 0) return text;
  return text + fmt::format("  {:>14}  {:>8}  {:>9}  of {} more\n", formatBytes(bytes), fmt::format("x {}", calls), "",
                            rows.size() - listed);
}

std::string PlannedRanks::describeLeaves() const {
  if (ranks.leaves == 0) return "";
  return fmt::format("leaves      {}, whose gradients add in a binary tree\n", ranks.leaves);
}

std::string PlannedRanks::describe(bool listsAll) const {
  if (ranks.mesh.empty()) return describeLeaves();
  return describeLeaves() + describeAxes() + sharding.describeRejected(listsAll) + sharding.describeLines(listsAll) +
         describeState() + describeExchanges();
}

//===----------------------------------------------------------------------===//
// As JSON
//===----------------------------------------------------------------------===//

Json PlannedRanks::stateAsJson() const {
  Json list = Json::array();
  for (const StateKind &kind : stateKinds())
    list.push_back({{"kind", kind.name},
                    {"count", kind.count},
                    {"rank", kind.rankBytes},
                    {"all", ranks.count() * kind.rankBytes},
                    {"whole", kind.wholeBytes},
                    {"divided", kind.divided}});
  return list;
}

Json PlannedRanks::asJson() const {
  if (ranks.mesh.empty()) return nullptr;
  Json mesh = Json::array(), exchanges = Json::array();
  for (const MeshAxisSpec &axis : ranks.mesh) {
    Json entry{{"name", axis.name},
               {"size", axis.size},
               {"received", bytesAlong(axis.name)},
               {"crosses_machines", crossesMachines(axis.name)}};
    for (ExchangeSpec::Kind kind : ExchangeSpec::kinds) entry[ExchangeSpec::nameOf(kind)] = callsAlong(axis.name, kind);
    mesh.push_back(std::move(entry));
  }
  for (const Row &row : rows)
    exchanges.push_back({{"of", row.first->name},
                         {"at", row.first->line},
                         {"kind", row.first->kindName()},
                         {"along", row.first->along},
                         {"calls", row.calls},
                         {"received", row.bytes},
                         {"seconds", row.seconds ? Json(*row.seconds) : Json(nullptr)}});
  std::optional<double> seconds = exchangeSeconds();
  Json machines = nullptr;
  if (ranks.machines) machines = {{"count", ranks.machines->count}, {"devices", ranks.machines->devices}};
  return {{"count", ranks.count()},
          {"machines", std::move(machines)},
          {"search", sharding.searchAsJson()},
          {"mesh", std::move(mesh)},
          {"state", stateAsJson()},
          {"lines", sharding.linesAsJson()},
          {"exchanges", std::move(exchanges)},
          {"seconds", seconds ? Json(*seconds) : Json(nullptr)}};
}
