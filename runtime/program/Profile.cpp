//===- Profile.cpp - the time of each kernel and library call -------------===//

#include "runtime/program/Profile.h"

#include <algorithm>

namespace tessera::runtime {

void Profile::add(Kind kind, int64_t which, Clock::duration time) {
  if (!isInStep) return;
  Row &row = rows[{kind, which}];
  ++row.calls;
  row.seconds += std::chrono::duration<double>(time).count();
}

void Profile::addSent(int64_t which, int64_t bytes) {
  if (isInStep) rows[{Kind::Exchange, which}].sent += bytes;
}

int64_t Profile::sentBy(int64_t which) const {
  auto found = rows.find({Kind::Exchange, which});
  return found == rows.end() ? 0 : found->second.sentBefore;
}

void Profile::endStep(Clock::duration time) {
  for (auto &[key, row] : rows) {
    row.steps.push_back(row.seconds);
    row.callsBefore = row.calls, row.sentBefore = row.sent;
    row.calls = 0, row.seconds = 0, row.sent = 0;
  }
  steps.push_back(std::chrono::duration<double>(time).count());
  isInStep = false;
}

/// The median of all values but the first, which includes cold caches and page faults.
static double laterMedian(std::vector<double> values) {
  if (values.size() > 1) values.erase(values.begin());
  if (values.empty()) return 0;
  auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

static void describeContraction(const GemmSpec &gemm, Json &row) {
  row["work"] = gemm.work;
  GemmWork work = workOf(gemm);
  row["name"] = gemm.name;
  row["at"] = gemm.line;
  row["a"] = gemm.a.dims, row["b"] = gemm.b.dims;
  row["flops"] = work.flops, row["read"] = work.read, row["written"] = work.written;
}

/// What the manifest says: a rank sends as many bytes as it receives.
static Json describeExchange(const ExchangeSpec &exchange, const RanksSpec &ranks) {
  int64_t received = ranks.received(exchange);
  return {{"kind", "exchange"},   {"name", fmt::format("{} along {}", exchange.kindName(), exchange.along)},
          {"of", exchange.name},  {"at", exchange.line},
          {"flops", 0},           {"read", received},
          {"written", received},  {"received", received},
          {"work", exchange.work}};
}

/// Of one call, as the program's manifest says; none if nothing is known of the device's speed.
static std::optional<double> predictedSeconds(const Manifest &manifest, Profile::Kind kind, int64_t which) {
  if (manifest.predicted.isAssumed()) return std::nullopt;
  if (kind == Profile::Kind::Kernel) return manifest.kernels.at(which).seconds;
  if (kind == Profile::Kind::Contraction) return manifest.gemms.at(which).seconds;
  if (kind == Profile::Kind::Exchange) return manifest.target.ranks.exchanges.at(which).seconds;
  return std::nullopt;
}

Json Profile::describe(const Manifest &manifest) const {
  Json list = Json::array();
  for (const auto &[key, row] : rows) {
    auto [kind, which] = key;
    Json json = Json::object();
    switch (kind) {
    case Kind::Kernel: {
      const KernelSpec &kernel = manifest.kernels.at(which);
      json = {{"kind", "kernel"},    {"name", kernel.name},       {"of", kernel.of},
              {"at", kernel.line},   {"flops", kernel.flops},     {"contracts", kernel.contracts},
              {"read", kernel.read}, {"written", kernel.written}, {"ops", kernel.ops},
              {"work", kernel.work}};
      break;
    }
    case Kind::Contraction:
      json["kind"] = "contraction";
      describeContraction(gemms.count(which) ? gemms.at(which) : manifest.gemms.at(which), json);
      break;
    case Kind::Copy:
      json = {{"kind", "copy"}, {"name", "copy"}, {"flops", 0}, {"read", which}, {"written", which}};
      break;
    case Kind::Zero:
      json = {{"kind", "zero"}, {"name", "zero"}, {"flops", 0}, {"read", 0}, {"written", which}};
      break;
    case Kind::Exchange:
      json = describeExchange(manifest.target.ranks.exchanges.at(which), manifest.target.ranks);
      json["sent"] = row.sentBefore;
      break;
    }
    if (std::optional<double> one = predictedSeconds(manifest, kind, which))
      json["predicted"] = *one * static_cast<double>(row.callsBefore);
    json["calls"] = row.callsBefore;
    json["seconds"] = laterMedian(row.steps);
    list.push_back(std::move(json));
  }
  Json profile = {{"model", manifest.model}, {"steps", steps.size()}, {"seconds", laterMedian(steps)}};
  if (threads > 0) profile["threads"] = threads;
  if (!ranks.is_null()) profile["ranks"] = ranks;
  profile["rows"] = std::move(list);
  return profile;
}

} // namespace tessera::runtime
