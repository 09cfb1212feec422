//===- PlannedTime.h - how long a run will take ---------------------------===//

#ifndef TESSERA_TOOLS_PLANNEDTIME_H
#define TESSERA_TOOLS_PLANNEDTIME_H

#include "runtime/base/Json.h"
#include "runtime/program/Manifest.h"
#include "tools/PlannedRanks.h"

namespace tessera {

/// Follows figures of a plan for several devices.
inline constexpr const char *onOneDevice = "; of one, on which a program runs without --devices or --mesh";

/// What the times follow from, beside the manifest.
struct TimeOptions {
  std::optional<double> price;         ///< US dollars for an hour of the device
  std::optional<int64_t> trainingRows; ///< of a pass over the data; none: not known
  /// That were asked for. A program for one rank runs on one, and its times and costs are of that.
  int64_t devices = 1;
};

/// The predicted time of a step and what follows from it. The manifest must outlive it.
class PlannedTime {
public:
  PlannedTime(const runtime::Manifest &manifest, TimeOptions options)
      : manifest(manifest), ranks(manifest), options(options) {}

  /// "507 ms a step, 505.4 tokens/s"; empty if nothing is known of the device's speed.
  std::string summarize() const;
  /// Lines of text; empty if nothing is predicted.
  std::string describe() const;
  runtime::Json asJson() const;

private:
  const runtime::PredictedEntry *step() const;
  /// "tokens" or "samples", and how many of them a step takes; none without data.
  std::optional<std::pair<const char *, double>> unitsPerStep() const;
  double mfu() const;
  /// Devices that costs are of: each rank of a program for GPUs has one. Ranks on processors may share a machine.
  int64_t pricedDevices() const;
  std::optional<double> stepsOfPass() const;
  std::string describeParts() const;
  std::string describeRun() const;

  const runtime::Manifest &manifest;
  PlannedRanks ranks;
  TimeOptions options;
};

} // namespace tessera

#endif // TESSERA_TOOLS_PLANNEDTIME_H
