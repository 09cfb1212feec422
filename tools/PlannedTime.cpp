//===- PlannedTime.cpp - how long a run will take -------------------------===//

#include "tools/PlannedTime.h"
#include "ir/dialect/Attributes.h"
#include "runtime/base/DataFormat.h"
#include "runtime/base/Quantities.h"
#include <cmath>

using namespace tessera;
using namespace tessera::runtime;

const PredictedEntry *PlannedTime::step() const {
  const PredictedEntry *entry = manifest.predicted.entry("step");
  return entry && entry->seconds > 0 ? entry : nullptr;
}

std::optional<std::pair<const char *, double>> PlannedTime::unitsPerStep() const {
  const EntryFunction &entry = manifest.entry("step");
  for (const DataSpec &data : manifest.data)
    for (const ValueSpec &input : entry.inputs)
      if (input.data == data.name && !input.axes.empty()) {
        auto rows = static_cast<double>(wholeSize(input.axes.front(), input.divided));
        if (infoOf(data.format).isSequence()) return std::pair("tokens", rows * static_cast<double>(data.seq));
        return std::pair("samples", rows);
      }
  return std::nullopt;
}

/// The share of the peak that the multiply-adds of the step have.
double PlannedTime::mfu() const {
  const PredictedEntry &entry = *step();
  return entry.peak > 0 ? entry.flops / entry.seconds / entry.peak : 0;
}

/// GPUs, or machines with processors.
int64_t PlannedTime::pricedDevices() const {
  const RanksSpec &ranks = manifest.target.ranks;
  if (manifest.isForGpu()) return ranks.count();
  return ranks.machines ? ranks.machines->count : 1;
}

std::optional<double> PlannedTime::stepsOfPass() const {
  const EntryFunction &entry = manifest.entry("step");
  for (const ValueSpec &input : entry.inputs)
    if (options.trainingRows && !manifest.data.empty() && input.data == manifest.data.front().name &&
        !input.axes.empty() && *options.trainingRows > 0)
      return static_cast<double>(*options.trainingRows) /
             static_cast<double>(wholeSize(input.axes.front(), input.divided));
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string describePart(const std::string &name, double seconds, double whole) {
  return fmt::format("  {:<28} {:>12}  {:.1f} %\n", name, formatSeconds(seconds), 100 * seconds / whole);
}

/// The steps that the settings ask for; 0: not said.
static double stepsOfRun(const Manifest &manifest) {
  if (!manifest.settings.contains("stop") || !manifest.settings["stop"].contains("after")) return 0;
  return manifest.settings["stop"]["after"].get<double>();
}

static std::string formatPrice(double dollars) {
  return dollars > 0 && dollars < 0.01 ? "less than 0.01 USD" : fmt::format("{:.2f} USD", dollars);
}

std::string PlannedTime::describeRun() const {
  std::string text;
  auto addLine = [&](const std::string &name, double steps) {
    double seconds = steps * step()->seconds;
    text +=
        fmt::format("  {:<28} {:>12}  {} step{}", name, seconds < 60 ? formatSeconds(seconds) : formatDuration(seconds),
                    std::llround(steps), std::llround(steps) == 1 ? "" : "s");
    int64_t devices = pricedDevices();
    bool hasOthers = options.devices > 1 || manifest.target.ranks.count() > 1;
    if (options.price) text += ", " + formatPrice(static_cast<double>(devices) * *options.price * seconds / 3600);
    if (options.price && hasOthers) text += devices == 1 ? " for one device" : fmt::format(" for {} devices", devices);
    text += "\n";
  };
  if (std::optional<double> steps = stepsOfPass()) addLine("one pass over the data", *steps);
  if (double steps = stepsOfRun(manifest); steps > 0) addLine("the run", steps);
  return text;
}

static std::string formatRate(double flops) {
  return flops < 1e12 ? fmt::format("{:.4g} GFLOP/s", flops / 1e9) : fmt::format("{:.4g} TFLOP/s", flops / 1e12);
}

/// As `--precision` names it.
static std::string typeName(const std::string &type) {
  std::optional<ElementType> known = elementTypeNamed(type);
  return known && isFp8(*known) ? "fp8" : type == "f16" ? "fp16" : type;
}

std::string PlannedTime::summarize() const {
  const PredictedEntry *entry = step();
  if (!entry || manifest.predicted.isAssumed()) return "";
  std::string text = formatSeconds(entry->seconds) + " a step";
  if (auto units = unitsPerStep())
    text += fmt::format(", {} {}/s", formatCount(units->second / entry->seconds), units->first);
  return text;
}

/// Whether a repeat contains repeats of another pass, as that of micro-batches does.
static bool spansPasses(const std::vector<PredictedRepeat> &repeats, size_t index) {
  for (size_t inner = index + 1; inner < repeats.size() && repeats[inner].depth > repeats[index].depth; ++inner)
    if (repeats[inner].pass != repeats[index].pass) return true;
  return false;
}

/// The passes of the step, with the repeats in them.
std::string PlannedTime::describeParts() const {
  const PredictedEntry &entry = *step();
  std::string text;
  auto addRepeats = [&](const char *indent, auto isChosen) {
    for (size_t i = 0; i < entry.repeats.size(); ++i)
      if (const PredictedRepeat &repeat = entry.repeats[i]; isChosen(i))
        text += describePart(fmt::format("{}{} x {}, in all", indent, repeat.axis, repeat.iterations), repeat.seconds,
                             entry.seconds);
  };
  for (StepPass value : {StepPass::Forward, StepPass::Backward, StepPass::Optimizer}) {
    std::string pass = stringifyStepPass(value).str();
    auto found = entry.passes.find(pass);
    if (found == entry.passes.end()) continue;
    text += describePart(pass, found->second, entry.seconds);
    addRepeats("  ", [&](size_t i) {
      const std::string &own = entry.repeats[i].pass;
      bool isIn = own.empty() ? value == StepPass::Forward : own == pass;
      return isIn && !spansPasses(entry.repeats, i);
    });
  }
  addRepeats("", [&](size_t i) { return spansPasses(entry.repeats, i); });
  if (std::optional<double> exchanges = ranks.exchangeSeconds())
    text += describePart("exchanges, in all", *exchanges, entry.seconds);
  if (entry.beside > 0) text += describePart("  beside kernels", entry.beside, entry.seconds);
  return text;
}

/// "; assumed: link_bandwidth.network": figures that the description lacks, by their keys.
static std::string describeAssumed(const PredictedEntry &entry) {
  std::string text;
  for (const std::string &linkClass : entry.assumedLinks)
    text += fmt::format("{}link_bandwidth.{}", text.empty() ? "; assumed: " : ", ", linkClass);
  return text;
}

std::string PlannedTime::describe() const {
  const PredictedEntry *entry = step();
  if (!entry) return "";
  const std::string &source = manifest.predicted.source;
  if (manifest.predicted.isAssumed())
    return fmt::format(
        "time        not calibrated: {} to {} a step; `tessera calibrate -o MACHINE.device` measures this "
        "machine, for --on=./MACHINE.device\n",
        formatSeconds(entry->least), formatSeconds(entry->most));
  bool isOfOne = options.devices > 1 && ranks.whose().empty();
  std::string text = fmt::format("time        {} a step, {} to {} are likely ({}{}){}\n", formatSeconds(entry->seconds),
                                 formatSeconds(entry->least), formatSeconds(entry->most),
                                 source == "calibrated" ? "the device is calibrated" : "from the device's data sheet",
                                 describeAssumed(*entry), isOfOne ? onOneDevice : "");
  std::string speed;
  if (auto units = unitsPerStep())
    speed = fmt::format("{} {}/s", formatCount(units->second / entry->seconds), units->first);
  if (entry->peak > 0)
    speed += fmt::format("{}MFU {:.1f} %: of {} in {}", speed.empty() ? "" : ", ", 100 * mfu(), formatRate(entry->peak),
                         typeName(entry->type));
  if (!speed.empty()) text += "            " + speed + "\n";
  return text + describeParts() + describeRun();
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

Json PlannedTime::asJson() const {
  const PredictedEntry *entry = step();
  if (!entry) return nullptr;
  Json json = {{"source", manifest.predicted.source},
               {"devices", pricedDevices()},
               {"seconds", entry->seconds},
               {"least", entry->least},
               {"most", entry->most},
               {"beside", entry->beside},
               {"assumed_links", entry->assumedLinks},
               {"passes", entry->passes}};
  Json repeats = Json::array();
  for (const PredictedRepeat &repeat : entry->repeats)
    repeats.push_back({{"axis", repeat.axis},
                       {"iterations", repeat.iterations},
                       {"depth", repeat.depth},
                       {"pass", repeat.pass},
                       {"seconds", repeat.seconds}});
  json["repeats"] = std::move(repeats);
  json["mfu"] = entry->peak > 0 ? Json(mfu()) : Json();
  auto units = unitsPerStep();
  json["unit"] = units ? Json(units->first) : Json();
  json["per_second"] = units ? Json(units->second / entry->seconds) : Json();
  auto ofSteps = [&](std::optional<double> steps) -> Json {
    if (!steps || *steps <= 0) return nullptr;
    double seconds = *steps * entry->seconds;
    return {{"steps", *steps},
            {"seconds", seconds},
            {"price",
             options.price ? Json(static_cast<double>(pricedDevices()) * *options.price * seconds / 3600) : Json()}};
  };
  json["data"] = ofSteps(stepsOfPass());
  json["run"] = ofSteps(stepsOfRun(manifest));
  return json;
}
