//===- PlannedMemory.cpp - memory against time, for a person --------------===//

#include "tools/PlannedMemory.h"
#include "runtime/base/Quantities.h"
#include "runtime/machine/MachineMemory.h"
#include <cmath>

using namespace tessera;
using namespace tessera::runtime;

/// Of the plans as text; JSON has all.
static constexpr size_t mostListed = 12;

std::optional<double> PlannedMemory::secondsOfStep() const {
  const PredictedEntry *entry = manifest.predicted.entry("step");
  return entry && entry->seconds > 0 ? std::optional(entry->seconds) : std::nullopt;
}

std::optional<double> PlannedMemory::secondsWith(const MemoryPlan &plan) const {
  std::optional<double> step = secondsOfStep();
  const MemoryPlan *own = spec.chosen();
  return step && own ? std::optional(*step + plan.seconds - own->seconds) : std::nullopt;
}

std::optional<double> PlannedMemory::longerWith(const MemoryPlan &plan) const {
  std::optional<double> seconds = secondsWith(plan);
  return seconds && *seconds > plan.seconds ? std::optional(plan.seconds / (*seconds - plan.seconds)) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// As text
//===----------------------------------------------------------------------===//

/// The first, the last, the chosen one and an even choice of the others. Of plans with the same amount only the fastest
/// is had.
std::vector<PlanMemory> PlannedMemory::listedPlans() const {
  std::vector<PlanMemory> different, listed;
  for (const PlanMemory &plan : plans) {
    bool isSame = !different.empty() && memoryAmount(different.back().bytes) == memoryAmount(plan.bytes);
    if (!isSame || plan.plan->isChosen) different.push_back(plan);
  }
  size_t count = different.size(), most = std::min(count, mostListed);
  std::vector<bool> isListed(count);
  for (size_t i = 0; i < most; ++i) isListed[most == 1 ? 0 : i * (count - 1) / (most - 1)] = true;
  for (size_t i = 0; i < count; ++i)
    if (isListed[i] || different[i].plan->isChosen) listed.push_back(different[i]);
  return listed;
}

std::string PlannedMemory::describe(const PlanMemory &option) const {
  const MemoryPlan &plan = *option.plan;
  std::optional<double> seconds = secondsWith(plan), longer = longerWith(plan);
  bool isKnown = seconds && !manifest.predicted.isAssumed();
  return fmt::format("  {} {:<10} {:>10}  {:>9}  {:>8}  {}\n", plan.isChosen ? ">" : " ", memoryAmount(option.bytes),
                     formatBytes(plan.arenaBytes), isKnown ? formatSeconds(*seconds) : "",
                     longer ? fmt::format("{:+.1f} %", 100 * *longer) : "", plan.what);
}

std::string PlannedMemory::describe() const {
  if (plans.size() < 2) return "";
  std::string text = fmt::format("memory against time, with --memory=AMOUNT; `>` is this program\n    {:<10} {:>10}  "
                                 "{:>9}  {:>8}  {}\n",
                                 "AMOUNT", "arena", "a step", "longer", "recomputes");
  for (const PlanMemory &option : listedPlans()) text += describe(option);
  return text;
}

static std::string describeLayers(const LayerValueSpec &value) {
  auto in = [&](int64_t layers) {
    return layers == value.layers ? fmt::format("{} x {}", value.axis, layers)
                                  : fmt::format("{} x {} of {}", value.axis, layers, value.layers);
  };
  if (value.saved == 0) return value.recomputed == 0 ? "neither" : "recomputed, " + in(value.recomputed);
  return "saved, " + in(value.saved);
}

static std::string describeAlternative(const LayerValueSpec &value) {
  if (!value.alternative) return "";
  const auto [seconds, bytes] = *value.alternative;
  std::string memory = bytes == 0 ? "no less memory" : formatBytes(std::abs(bytes)) + (bytes < 0 ? " less" : " more");
  return fmt::format("{}: {}{} a step, {}", value.saved > 0 ? "recompute" : "save", seconds < 0 ? "-" : "+",
                     formatSeconds(std::abs(seconds)), memory);
}

std::string PlannedMemory::describeValues() const {
  if (spec.values.empty()) return "values of layers: none are saved for a backward pass\n";
  size_t width = 0;
  for (const LayerValueSpec &value : spec.values) width = std::max(width, value.name.size());
  std::string text = "values of layers; --save and --recompute take their names without the last word\n";
  for (const LayerValueSpec &value : spec.values)
    text += fmt::format("  {:>14}  {:<{}}  {:<26}  {}\n", formatBytes(value.bytes), value.name, width,
                        describeLayers(value), describeAlternative(value));
  return text;
}

//===----------------------------------------------------------------------===//
// As JSON
//===----------------------------------------------------------------------===//

static Json orNull(const std::optional<double> &number) { return number ? Json(*number) : Json(nullptr); }

static Json asJson(const LayerValueSpec &value) {
  Json json = {{"name", value.name},   {"path", value.path.empty() ? Json(nullptr) : Json(value.path)},
               {"axis", value.axis},   {"layers", value.layers},
               {"saved", value.saved}, {"recomputed", value.recomputed},
               {"bytes", value.bytes}, {"alternative", nullptr}};
  if (value.alternative)
    json["alternative"] = {{"seconds", value.alternative->seconds}, {"bytes", value.alternative->bytes}};
  return json;
}

Json PlannedMemory::asJson() const {
  if (spec.frontier.empty()) return nullptr;
  Json frontier = Json::array(), values = Json::array();
  for (auto [plan, bytes] : plans)
    frontier.push_back({{"memory", memoryAmount(bytes)},
                        {"bytes", bytes},
                        {"arena", plan->arenaBytes},
                        {"seconds", orNull(secondsWith(*plan))},
                        {"longer", orNull(longerWith(*plan))},
                        {"what", plan->what},
                        {"chosen", plan->isChosen}});
  for (const LayerValueSpec &value : spec.values) values.push_back(::asJson(value));
  return {{"budget", spec.budget ? Json(*spec.budget) : Json(nullptr)},
          {"frontier", std::move(frontier)},
          {"values", std::move(values)}};
}
