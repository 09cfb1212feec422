//===- Largest.cpp - the largest batch or sequence that fits a device -----===//

#include "tools/Largest.h"
#include "runtime/base/Error.h"
#include "runtime/machine/MachineMemory.h"
#include "tools/LargestSize.h"

using namespace tessera;
using namespace tessera::runtime;

Largest tessera::findLargest(Trials &trials, const SizeSetting &setting) {
  LargestSize search({setting.size, setting.unit}, trials.limit(),
                     [&](int64_t size) { return trials.planWith(setting.with(size)).needed(); });
  Largest largest{setting, search.find(), {}, {}, {}};
  if (largest.size > 0) {
    largest.at = trials.planWith(largest.options());
    largest.warnings = trials.dataWarningsWith(largest.options());
  }
  largest.beyond = trials.planWith(setting.with(largest.next()));
  return largest;
}

/// "batch 14 needs 23.9 GiB; 1.1 GiB are lacking", or why there is no such batch.
static std::string describeBeyond(const Largest &largest) {
  std::string size = fmt::format("{} {}", largest.setting.axis, largest.next());
  if (!largest.beyond.fit) return fmt::format("{} is refused: {}", size, largest.beyond.problem);
  const MemoryFit &fit = *largest.beyond.fit;
  return fmt::format("{} needs {}; {} are lacking", size, formatBytes(fit.needed),
                     formatBytes(fit.needed - fit.available));
}

std::string tessera::describeLargest(const Largest &largest, const PlannedDevice &device) {
  const SizeSetting &setting = largest.setting;
  std::string text;
  if (largest.size > 0)
    text += fmt::format("largest     {} {}: {} of {}, {}{}{}\noptions     {}\n", setting.axis, largest.size,
                        formatBytes(largest.at.fit->needed), formatBytes(*device.memoryBytes), device.name,
                        largest.at.countsData ? "" : ", without the data", largest.at.whose, textOf(largest.options()));
  else
    text += fmt::format("largest     none: no size of {} fits into {}, {}\n", setting.axis,
                        formatBytes(*device.memoryBytes), device.name);
  text += fmt::format("beyond      {}\n", describeBeyond(largest));
  if (setting.unit > 1) text += fmt::format("            the model takes multiples of {}\n", setting.unit);
  return text + describeWarnings(largest.warnings);
}

static Json neededAsJson(const Trial &trial) { return trial.fit ? Json(trial.fit->needed) : Json(nullptr); }

Json tessera::largestAsJson(const Largest &largest, const PlannedDevice &device) {
  bool fits = largest.size > 0;
  Json beyond = {{"size", largest.next()}, {"needed", neededAsJson(largest.beyond)}};
  if (!largest.beyond.fit) beyond["problem"] = largest.beyond.problem;
  return {{"axis", largest.setting.axis},       {"size", fits ? Json(largest.size) : Json(nullptr)},
          {"unit", largest.setting.unit},       {"options", fits ? Json(textOf(largest.options())) : Json(nullptr)},
          {"needed", neededAsJson(largest.at)}, {"beyond", std::move(beyond)},
          {"device", deviceAsJson(device)},     {"warnings", largest.warnings}};
}
