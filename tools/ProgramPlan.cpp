//===- ProgramPlan.cpp - what a program will need, before it is made -------===//

#include "tools/ProgramPlan.h"
#include "runtime/base/Error.h"
#include "runtime/data/DataSource.h"
#include "runtime/machine/MachineMemory.h"
#include "tools/PlannedMemory.h"
#include "tools/PlannedRanks.h"
#include <map>

using namespace tessera;
using namespace tessera::runtime;

/// Of the list of buffers, unless all are listed.
static constexpr size_t largestBuffers = 15;

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

PlannedData tessera::readPlannedData(const std::string &text, const std::vector<std::string> &options) {
  Manifest manifest = parseManifest(text);
  try {
    DataFiles files(manifest.data, options);
    files.checkNamed();
    PlannedData data{heldData(manifest, files)};
    bool isFault = !data.held.bytes && !options.empty() && files.areThere();
    if (isFault) data.status = static_cast<int>(ExitStatus::Fault);
    return data;
  } catch (const Error &error) {
    return {{std::nullopt, error.what()}, static_cast<int>(error.exitStatus())};
  }
}

ProgramPlan tessera::planProgram(const std::string &manifest, PlannedDevice device, const HeldData &data,
                                 std::optional<double> price) {
  ProgramPlan plan;
  plan.manifest = parseManifest(manifest);
  plan.text = manifest;
  plan.device = std::move(device);
  if (plan.manifest.isForGpu()) plan.gpu = deviceMemory(plan.manifest);
  plan.host = hostMemory(plan.manifest, data);
  plan.time = {price, data.trainingRows, plan.device.count};
  plan.warnings = data.warnings;
  plan.disk = checkpointNeeds(plan.manifest);
  if (!plan.device.memoryBytes) return plan;
  MemoryFit fit{plan.gpu ? plan.gpu->total() : plan.host.total(), *plan.device.memoryBytes, 1};
  // A budget is not that of a device, of which there may be more.
  int64_t forState = fit.available - (plan.gpu ? contextBytes(plan.manifest) : 0);
  if (forState > 0 && !plan.device.isBudget)
    fit.devicesForState = std::max<int64_t>(1, (plan.manifest.wholeStateBytes() + forState - 1) / forState);
  plan.fit = fit;
  return plan;
}

//===----------------------------------------------------------------------===//
// As text
//===----------------------------------------------------------------------===//

static std::string describeSizes(const ProgramPlan &plan) {
  const Manifest &manifest = plan.manifest;
  std::string gap = describeGap(manifest.arena);
  std::string text =
      fmt::format("parameters  {}\nstate       {}\narena       {}, {} bytes{}{}\nlive        {} at most\n",
                  manifest.parameters(), formatBytes(manifest.stateBytes()), formatBytes(manifest.arena.bytes),
                  manifest.arena.bytes, gap.empty() ? "" : ", ", gap, formatBytes(plan.liveBytes));
  if (std::string again = describeRecomputation(manifest.arena); !again.empty())
    text += fmt::format("recomputes  {}\n", again);
  return plan.gpu ? text : text + fmt::format("threads     {}\n", manifest.target.threads);
}

std::string tessera::whoseMemory(const ProgramPlan &plan) {
  std::string ofRanks = PlannedRanks(plan.manifest).whose();
  return plan.device.count > 1 && ofRanks.empty() ? onOneDevice : ofRanks;
}

static std::string describeFit(const ProgramPlan &plan) {
  const PlannedDevice &device = plan.device;
  if (!plan.fit)
    return fmt::format("fits        not known: the description of {} does not say how much memory it has\n",
                       device.name);
  const MemoryFit &fit = *plan.fit;
  std::string text = fmt::format("fits        {}: {} of {}, {}", fit.fits() ? "yes" : "no", formatBytes(fit.needed),
                                 formatBytes(fit.available), device.name);
  if (!plan.countsData()) text += ", without the data";
  if (!fit.fits()) text += fmt::format("; {} are lacking", formatBytes(fit.needed - fit.available));
  text += whoseMemory(plan) + "\n";
  if (fit.devicesForState > 1)
    text += fmt::format("            the state alone, {}, takes {} of them at least\n",
                        formatBytes(plan.manifest.wholeStateBytes()), fit.devicesForState);
  return text;
}

static std::string describeLine(const std::string &name, const std::string &bytes, const std::string &note) {
  return fmt::format("  {:<28} {:>12}{}{}\n", name, bytes, note.empty() ? "" : "  ", note);
}
static std::string describeLine(const std::string &name, int64_t bytes, const std::string &note) {
  return describeLine(name, formatBytes(bytes), note);
}

static std::string describeNeeds(const char *title, const MemoryNeeds &needs) {
  std::string text = fmt::format("{}\n", title);
  for (const MemoryNeed &need : needs.lines)
    text += describeLine(need.name, need.isKnown ? formatBytes(need.bytes) : "?", need.note);
  return text + describeLine("total", needs.total(), fmt::format("{} bytes", needs.total()));
}

static std::string describeMemory(const ProgramPlan &plan) {
  std::string text;
  if (plan.gpu) text += describeNeeds("memory of the GPU", *plan.gpu);
  return text + describeNeeds(plan.gpu ? "memory of the host" : "memory", plan.host);
}

static std::string describeDisk(const DiskNeeds &disk) {
  std::string text = "disk\n" + describeLine("a checkpoint", disk.checkpointBytes, "");
  if (disk.mostCheckpoints > 0)
    text += describeLine("checkpoints at most", disk.mostCheckpoints * disk.checkpointBytes,
                         fmt::format("{} of them, one of which is being written", disk.mostCheckpoints));
  return text;
}

static std::string describePeak(const PeakMemory &peak) {
  if (peak.kinds.empty()) return "";
  std::string text = "peak of step";
  if (!peak.running.empty()) text += fmt::format(": {}, {}", peak.pass, peak.running);
  text += "\n";
  for (const auto &[kind, bytes] : peak.kinds) text += fmt::format("  {:>14}  {}\n", formatBytes(bytes), kind);
  return text;
}

/// "saved       step      h.mlp.up out [layer: 4, ff: 768] f32, gpt.tsr:33:21"
static std::string describe(const BufferSpec &buffer) {
  return fmt::format("{:<11} {:<9} {} {}{}{}", buffer.kind, buffer.entry, buffer.name, buffer.type,
                     buffer.line.empty() ? "" : ", ", buffer.line);
}

static std::string describeBuffers(const Manifest &manifest, bool listsAll) {
  std::string text = "largest buffers\n";
  std::map<std::string, int> counts; // of what is said of buffers
  for (const BufferSpec &buffer : manifest.buffers) ++counts[describe(buffer)];
  size_t count = listsAll ? manifest.buffers.size() : std::min(largestBuffers, manifest.buffers.size());
  for (size_t i = 0; i < count; ++i) {
    const BufferSpec &buffer = manifest.buffers[i];
    std::string what = describe(buffer);
    text += fmt::format("  {:>14}  {}{}\n", formatBytes(buffer.bytes), what,
                        counts[what] > 1 ? fmt::format(", at byte {}", buffer.offset) : "");
  }
  return text;
}

std::string tessera::describeWarnings(const std::vector<std::string> &warnings) {
  std::string text;
  for (const std::string &warning : warnings) text += fmt::format("warning     {}\n", warning);
  return text;
}

std::string tessera::describePlan(const ProgramPlan &plan, PlanParts parts) {
  PlannedMemory memory(plan.manifest);
  return describeSizes(plan) + describeFit(plan) + describeWarnings(plan.warnings) +
         PlannedTime(plan.manifest, plan.time).describe() + PlannedRanks(plan.manifest).describe(parts.listsAll) +
         memory.describe() + (parts.values ? memory.describeValues() : "") + describeMemory(plan) +
         describeDisk(plan.disk) + describePeak(plan.peak) + describeBuffers(plan.manifest, parts.listsAll);
}

//===----------------------------------------------------------------------===//
// As JSON
//===----------------------------------------------------------------------===//

static Json asJson(const MemoryNeeds &needs) {
  Json lines = Json::array();
  for (const MemoryNeed &need : needs.lines) {
    size_t start = need.name.find_first_not_of(' '); // parts are indented
    Json line = {{"name", need.name.substr(start)}, {"bytes", need.bytes}, {"part", need.isPart}};
    if (!need.isKnown) line["bytes"] = nullptr, line["problem"] = need.note;
    lines.push_back(std::move(line));
  }
  return {{"total", needs.total()}, {"lines", std::move(lines)}};
}

static Json asJson(const BufferSpec &buffer) {
  return {{"name", buffer.name}, {"entry", buffer.entry},   {"kind", buffer.kind},  {"type", buffer.type},
          {"at", buffer.line},   {"offset", buffer.offset}, {"bytes", buffer.bytes}};
}

Json tessera::deviceAsJson(const PlannedDevice &device) {
  return {{"name", device.name},
          {"count", device.count},
          {"memory", device.memoryBytes ? Json(*device.memoryBytes) : Json(nullptr)}};
}

Json tessera::planSummaryAsJson(const ProgramPlan &plan) {
  Json json = {{"model", plan.manifest.model},
               {"parameters", plan.manifest.parameters()},
               {"state", plan.manifest.stateBytes()},
               {"arena", plan.manifest.arena.bytes},
               {"bound", plan.manifest.arena.bound ? Json(*plan.manifest.arena.bound) : Json(nullptr)},
               {"live", plan.liveBytes},
               {"threads", plan.gpu ? Json(nullptr) : Json(plan.manifest.target.threads)},
               {"host", asJson(plan.host)},
               {"warnings", plan.warnings}};
  if (plan.gpu) json["gpu"] = asJson(*plan.gpu);
  json["disk"] = {{"checkpoint", plan.disk.checkpointBytes}, {"most_checkpoints", plan.disk.mostCheckpoints}};
  Json kinds = Json::object();
  for (const auto &[kind, bytes] : plan.peak.kinds) kinds[kind] = bytes;
  json["peak"] = {{"pass", plan.peak.pass}, {"running", plan.peak.running}, {"kinds", std::move(kinds)}};
  json["time"] = PlannedTime(plan.manifest, plan.time).asJson();
  json["leaves"] = plan.manifest.target.ranks.leaves;
  json["ranks"] = PlannedRanks(plan.manifest).asJson();
  json["memory"] = PlannedMemory(plan.manifest).asJson();
  json["device"] = deviceAsJson(plan.device);
  json["fits"] = json["needed"] = json["devices_for_state"] = nullptr; // not known
  if (plan.fit) {
    json["fits"] = plan.fit->fits();
    json["needed"] = plan.fit->needed;
    json["devices_for_state"] = plan.fit->devicesForState;
  }
  return json;
}

Json tessera::planAsJson(const ProgramPlan &plan) {
  Json json = planSummaryAsJson(plan);
  Json buffers = Json::array();
  for (const BufferSpec &buffer : plan.manifest.buffers) buffers.push_back(asJson(buffer));
  json["buffers"] = std::move(buffers);
  json["manifest"] = parseJson(plan.text, "manifest", 0, deepestManifest); // for `tessera diff`
  return json;
}
