//===- ProgramPlan.h - what a program will need, before it is made ---------===//

#ifndef TESSERA_TOOLS_PROGRAMPLAN_H
#define TESSERA_TOOLS_PROGRAMPLAN_H

#include "runtime/train/MemoryNeeds.h"
#include "tools/PeakMemory.h"
#include "tools/PlannedTime.h"
#include <optional>

namespace tessera {

/// The device that a plan is for.
struct PlannedDevice {
  std::string name;
  int64_t count = 1;
  std::optional<int64_t> memoryBytes; ///< of one; none: not known
  bool isBudget = false;              ///< `memoryBytes` is what `--memory` allows
};

/// Whether a run fits into the device's memory.
struct MemoryFit {
  int64_t needed = 0, available = 0; ///< bytes
  /// Devices that hold the state, if each holds an equal part of it and nothing else.
  int64_t devicesForState = 1;

  bool fits() const { return needed <= available; }
};

/// What a program needs. Text and JSON say the same.
struct ProgramPlan {
  runtime::Manifest manifest;
  std::string text;      ///< of the manifest
  int64_t liveBytes = 0; ///< most bytes of values that are live at once
  PeakMemory peak;
  PlannedDevice device;
  std::optional<runtime::MemoryNeeds> gpu; ///< none: the program runs on a processor
  runtime::MemoryNeeds host;
  runtime::DiskNeeds disk;
  std::optional<MemoryFit> fit; ///< none: the device's memory is not known
  TimeOptions time;
  std::vector<std::string> warnings; ///< of the data

  /// Whether `fit` contains what the data take, where they take the same memory.
  bool countsData() const { return gpu || host.isComplete(); }
};

/// The data of a plan.
struct PlannedData {
  runtime::HeldData held;
  /// If what the options name is wrong, the exit status of the error, which is `held.problem`. Files that the model
  /// names itself may be elsewhere.
  int status = 0;
};

/// Reads the data that the options (`--data`) or the model name.
PlannedData readPlannedData(const std::string &manifest, const std::vector<std::string> &dataOptions);

/// Plans the program of a manifest. `price`: US dollars for an hour of the device; none: not known.
ProgramPlan planProgram(const std::string &manifest, PlannedDevice device, const runtime::HeldData &data,
                        std::optional<double> price = std::nullopt);

/// Whose memory a plan counts, if there are several devices: the end of a line; else empty.
std::string whoseMemory(const ProgramPlan &plan);

/// Warnings about the data, as lines of a plan.
std::string describeWarnings(const std::vector<std::string> &warnings);

/// Parts of a plan as text that are listed on demand.
struct PlanParts {
  bool listsAll = false; ///< buffers, lines and what was rejected; else the most important ones
  bool values = false;   ///< what layers save and recompute
};
std::string describePlan(const ProgramPlan &plan, PlanParts parts);
runtime::Json planAsJson(const ProgramPlan &plan);
/// The same without the buffers, which the manifest lists too.
runtime::Json planSummaryAsJson(const ProgramPlan &plan);
runtime::Json deviceAsJson(const PlannedDevice &device);

} // namespace tessera

#endif // TESSERA_TOOLS_PROGRAMPLAN_H
