//===- MemoryOption.cpp - the options about memory ------------------------===//

#include "tools/MemoryOption.h"
#include "ir/dialect/Attributes.h"
#include "ir/program/ShardSettings.h"
#include "passes/Pipeline.h"
#include "passes/cost/MachineShare.h"
#include "runtime/base/PathPattern.h"
#include "runtime/machine/MachineMemory.h"
#include <cmath>

using namespace mlir;
using namespace tessera;

namespace {
struct Amount {
  double number = 0;
  double unit = 0; ///< bytes; 0: percent

  bool isInRange() const { return number > 0 && (unit == 0 ? number <= 100 : number * unit < 0x1p62); }
};
} // namespace

/// A number with a unit, in range or not.
static std::optional<Amount> parseAmount(StringRef text) {
  static constexpr std::pair<StringLiteral, double> units[] = {
      {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"KB", 1e3},
      {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},    {"%", 0},        {"B", 1}};
  for (auto [name, bytes] : units) {
    StringRef digits = text;
    if (!digits.consume_back_insensitive(name)) continue;
    Amount amount{0, bytes};
    bool isNumber = !digits.rtrim().getAsDouble(amount.number) && std::isfinite(amount.number);
    return isNumber ? std::optional(amount) : std::nullopt;
  }
  return std::nullopt;
}

std::string tessera::checkMemoryText(const std::string &text) {
  std::optional<Amount> amount = parseAmount(text);
  if (text == "auto" || (amount && amount->isInRange())) return "";
  if (amount)
    return "expected more than 0 and at most " + std::string(amount->unit == 0 ? "100%" : "2^62 bytes") + ", got `" +
           text + "`";
  return "expected an amount of memory such as 8GiB, a part of the device's such as 80%, or auto, got `" + text + "`";
}

/// All of the device's memory, if it is this machine or described; on processors a rank's share of it.
static std::optional<int64_t> memoryOf(ModuleOp module, const Target &device, bool isNamed) {
  int64_t ranks = device.isGpu() ? 1 : ranksOfMachine(module);
  if (device.figures.memoryBytes) return *device.figures.memoryBytes / ranks;
  if (isNamed || device.isGpu() || !device.called.empty()) return std::nullopt;
  return runtime::totalMemory().bytes / ranks;
}

/// A sharding that is searched for is one that fits, by recomputation too, as far as the memory is known.
static void setMemoryOfSearch(ModuleOp module, const Target &device, bool isNamed) {
  auto reached = module->getAttrOfType<StringAttr>(attrs::phase);
  bool isOpen = reached && phaseIndex(reached.getValue()) < phaseIndex("shard");
  MemorySettings settings = MemorySettings::of(module);
  if (!isOpen || ShardSettings::of(module).devices < 2 || settings != MemorySettings()) return;
  settings.budget = memoryOf(module, device, isNamed), settings.isWish = settings.budget.has_value();
  settings.record(module);
}

std::string tessera::setMemory(ModuleOp module, const MemoryOptions &options, const Target &device, bool isNamed) {
  if (!options.isGiven()) return setMemoryOfSearch(module, device, isNamed), "";
  MemorySettings settings;
  settings.saved = options.saved, settings.recomputed = options.recomputed;
  for (const auto *patterns : {&options.saved, &options.recomputed})
    for (const std::string &pattern : *patterns)
      if (std::string problem = misplacedStar(pattern); !problem.empty()) return problem;
  if (!options.remat.empty()) settings.mode = parseRematMode(options.remat);
  std::string memory = options.memory;
  if (memory.empty() && settings.mode == RematMode::Auto) memory = "auto";
  if (std::optional<Amount> amount = parseAmount(memory.empty() ? "" : memory); amount && amount->unit > 0) {
    settings.budget = static_cast<int64_t>(amount->number * amount->unit);
  } else if (!memory.empty()) {
    std::optional<int64_t> all = memoryOf(module, device, isNamed);
    if (!all)
      return "--memory=" + memory + ": the description of " + device.name().str() +
             " does not say how much memory it has; name an amount such as 40GiB";
    settings.budget = amount ? static_cast<int64_t>(static_cast<double>(*all) * amount->number / 100) : *all;
  }
  auto reached = module->getAttrOfType<StringAttr>(attrs::phase);
  MemorySettings recorded = MemorySettings::of(module);
  recorded.arena = std::nullopt;
  if (reached && phaseIndex(reached.getValue()) >= phaseIndex("rematerialize") && !(settings == recorded))
    return "the module was taken through `rematerialize` with other options about memory; compile the model again, or "
           "leave out --memory, --remat, --save and --recompute";
  settings.record(module);
  return "";
}
