//===- Ledger.cpp - predicted beside measured -----------------------------===//

#include "runtime/train/Ledger.h"

#include "runtime/base/Quantities.h"
#include "runtime/machine/MachineMemory.h"
#include "runtime/train/MemoryNeeds.h"

#include <algorithm>

namespace tessera::runtime {

/// Of so many steps the times are kept: of a longer run the last ones.
static constexpr size_t keptTimes = 4096;

void StepTimes::add(std::chrono::steady_clock::duration time) {
  auto value = std::chrono::duration<float>(time).count();
  if (seconds.size() < keptTimes)
    seconds.push_back(value);
  else
    seconds[next] = value;
  next = (next + 1) % keptTimes;
}

void Ledger::step() {
  Clock::time_point now = Clock::now();
  if (last) times.add(now - *last);
  last = now;
}

void Ledger::ran(Clock::duration time) {
  if (last) inCode.add(time);
}

std::optional<double> StepTimes::median() const {
  std::vector<float> sorted = seconds;
  if (sorted.empty()) return std::nullopt;
  auto middle = sorted.begin() + sorted.size() / 2;
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

/// ", 3.0 % below the predicted 520 ms"
static std::string compare(double measured, double predicted) {
  constexpr double farApart = 1.5;
  double ratio = measured / predicted;
  if (ratio > farApart || ratio < 1 / farApart)
    return fmt::format(", {:.3g} times the predicted {}", ratio, formatSeconds(predicted));
  return fmt::format(", {:.1f} % {} the predicted {}", 100 * std::abs(ratio - 1), ratio < 1 ? "below" : "above",
                     formatSeconds(predicted));
}

std::string Ledger::describe(const Manifest &manifest) const {
  std::optional<double> measured = seconds();
  if (!measured) return "";
  std::string text = formatSeconds(*measured) + " a step";
  // Small steps take less time than what a run does between them, which no prediction is about.
  constexpr double mostBetween = 0.05;
  if (std::optional<double> code = inCode.median(); code && *code < (1 - mostBetween) * *measured)
    text += fmt::format(", {} of them in compiled code", formatSeconds(*code)), measured = code;
  if (const PredictedEntry *step = manifest.predicted.entry("step"); step && step->seconds > 0)
    text += manifest.predicted.isAssumed() ? fmt::format(", predicted {} to {}: the device is not calibrated",
                                                         formatSeconds(step->least), formatSeconds(step->most))
                                           : compare(*measured, step->seconds);
  int64_t bytes = anonymousMemory();
  if (bytes == 0) return text;
  // What MPI or NCCL allocate depends on the library and on the hosts.
  return text + fmt::format("; {} of memory{}, predicted {} at most{}", formatBytes(bytes),
                            manifest.isForGpu() ? " of the host" : "",
                            formatBytes(hostMemory(manifest, HeldData{heldBytes}).total()),
                            manifest.target.ranks.count() > 1 ? ", not counting what MPI or NCCL allocate" : "");
}

} // namespace tessera::runtime
