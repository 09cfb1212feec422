//===- Trials.cpp - plans of a model with other options -------------------===//

#include "tools/Trials.h"
#include "frontend/diagnostics/Diagnostics.h"
#include "frontend/elaborate/FrontendOptions.h"
#include "ir/program/Program.h"
#include "runtime/base/DataFormat.h"
#include "runtime/base/Quantities.h"
#include "runtime/machine/MachineMemory.h"
#include "tools/Messages.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

std::string TrialOption::text() const {
  switch (kind) {
  case Set:
    return "--set " + value;
  case Precision:
    return "--precision " + value;
  case Prefer:
    return "--prefer " + value;
  case Memory:
    return "--memory " + value;
  }
  llvm_unreachable("all kinds are handled");
}

void TrialOption::applyTo(CommandOptions &options) const {
  switch (kind) {
  case Set:
    options.input.sets.push_back(value); // the last one wins
    return;
  case Precision:
    options.input.precision = value;
    return;
  case Prefer:
    options.prefer = value;
    return;
  case Memory:
    options.memory.memory = value;
    return;
  }
}

std::string tessera::textOf(const TrialOptions &options) {
  return llvm::join(llvm::map_to_vector(options, [](const TrialOption &option) { return option.text(); }), " ");
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

static std::string textOf(const tessera::Diagnostic &diagnostic) {
  return diagnostic.message + " (" + diagnosticCodeInfo(diagnostic.code).name.str() + ")";
}

/// Why there is no module or no program: the first error of the model, else the first line of what was said.
static std::string problemOf(const Input &input, StringRef said) {
  if (input.diagnostics)
    for (const tessera::Diagnostic &diagnostic : input.diagnostics->all())
      if (diagnostic.severity == Severity::Error) return textOf(diagnostic);
  StringRef line = said.split('\n').first;
  line.consume_front("error: ");
  return line.empty() ? "the compiler failed" : line.str();
}

static std::vector<std::string> warningsOf(const Input &input) {
  std::vector<std::string> warnings;
  if (!input.diagnostics) return warnings;
  for (const tessera::Diagnostic &diagnostic : input.diagnostics->all())
    if (diagnostic.severity == Severity::Warning) warnings.push_back(textOf(diagnostic));
  return warnings;
}

//===----------------------------------------------------------------------===//
// Trials
//===----------------------------------------------------------------------===//

/// What `compute.type` is.
static std::string computeTypeOf(ModuleOp module) {
  auto settings = module->getAttrOfType<DictionaryAttr>(attrs::settings);
  auto compute = settings ? settings.getAs<DictionaryAttr>("compute") : DictionaryAttr();
  auto type = compute ? compute.getAs<StringAttr>("type") : StringAttr();
  return type ? type.str() : computeTypes().front();
}

Trials::Trials(ModuleOp module, const CommandOptions &options, PlannedDevice device)
    : context(*module.getContext()), base(options), place(std::move(device)), compiledFor(Target::of(module)),
      type(computeTypeOf(module)), budget(MemorySettings::of(module).budget) {
  base.isTrial = base.takesLeast = true; // what is lacking is of interest
  base.input.jsonDiagnostics = false;    // messages are captured as text
  base.dumpDir = base.report = "";
  base.timing = false;
}

/// Data in the memory of a host; a GPU has none.
int64_t Trials::heldBytes() const { return held && !compiledFor.isGpu() ? held->held.bytes.value_or(0) : 0; }

PlannedDevice Trials::device() const {
  PlannedDevice device = place;
  if (budget && *budget + heldBytes() < *place.memoryBytes)
    device.memoryBytes = *budget + heldBytes(), device.name = "the budget of --memory", device.isBudget = true;
  return device;
}

CommandOptions Trials::optionsWith(const TrialOptions &changes) const {
  CommandOptions options = base;
  for (const TrialOption &change : changes) change.applyTo(options);
  return options;
}

/// The size of an axis in the inputs of an entry function that come from the data; 0 if they do not have it.
static int64_t sizeIn(ModuleOp module, StringRef entry, StringRef axis) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  for (unsigned i = 0; function && i < function.getNumArguments(); ++i) {
    auto input = function.getArgAttrOfType<DictionaryAttr>(i, attrs::input);
    auto role = input ? input.getAs<StringAttr>("role") : StringAttr();
    if (!role || role.getValue() != "data") continue;
    auto type = cast<NamedTensorType>(function.getArgumentTypes()[i]);
    if (int64_t at = type.findAxis(axis); at >= 0) return type.getAxes()[at].getSize();
  }
  return 0;
}

/// The sizes that the sources of a module after `parse` give.
static DataSizes dataSizes(ModuleOp module) {
  DataSizes sizes;
  auto sources = module->getAttrOfType<ArrayAttr>(attrs::data);
  for (Attribute attribute : sources ? sources.getValue() : ArrayRef<Attribute>()) {
    auto source = cast<DictionaryAttr>(attribute);
    std::string name = source.getAs<StringAttr>(data_keys::name).str();
    for (auto [key, names] : {std::pair(data_keys::batch, &sizes.batched), {data_keys::seq, &sizes.sequences}})
      if (auto axis = source.getAs<ArrayAttr>(key)) {
        sizes.axes[key] = cast<IntegerAttr>(axis[1]).getInt();
        names->push_back(name);
      }
  }
  // `evaluate` works on one micro-batch.
  int64_t all = sizeIn(module, "step", data_keys::batch), part = sizeIn(module, "evaluate", data_keys::batch);
  if (part > 0) sizes.microBatches = std::max<int64_t>(1, all / part);
  return sizes;
}

std::optional<DataSizes> Trials::sizesWith(const TrialOptions &changes, std::string &problem) {
  CapturedMessages said;
  Input input = readForTarget(context, optionsWith(changes));
  if (input.module) return dataSizes(*input.module);
  problem = problemOf(input, said.text());
  return std::nullopt;
}

Trial Trials::tryPlan(const CommandOptions &options) {
  CapturedMessages said;
  Input input = readForTarget(context, options);
  Trial trial;
  FailureOr<std::string> manifest = input.module ? manifestOf(input, options) : FailureOr<std::string>(failure());
  if (failed(manifest)) {
    trial.problem = problemOf(input, said.text());
    return trial;
  }
  if (!held) held = readPlannedData(*manifest, options.data);
  ProgramPlan plan = planProgram(*manifest, device(), held->held);
  trial.fit = plan.fit, trial.countsData = plan.countsData(), trial.whose = whoseMemory(plan);
  trial.time = PlannedTime(plan.manifest, plan.time).summarize();
  trial.warnings = warningsOf(input);
  return trial;
}

/// Once it takes long.
void Trials::reportProgress(const TrialOptions &changes, const Trial &trial) const {
  constexpr std::chrono::seconds patience(20);
  auto taken = std::chrono::steady_clock::now() - begun;
  if (taken < patience) return;
  std::string text = changes.empty() ? "the options as they are" : tessera::textOf(changes);
  std::string found = !trial.fit ? "no plan" : "needs " + runtime::formatBytes(trial.fit->needed);
  if (trial.fit && !trial.fits()) found += ", too much";
  messages() << fmt::format("note: tried {}: {}; {} plans in {}\n", text, found, plans.size(),
                            runtime::formatDuration(std::chrono::duration<double>(taken).count()));
}

const Trial &Trials::planWith(const TrialOptions &changes) {
  auto [entry, isNew] = plans.try_emplace(tessera::textOf(changes));
  if (!isNew) return entry->second;
  entry->second = tryPlan(optionsWith(changes));
  reportProgress(changes, entry->second);
  return entry->second;
}

std::vector<std::string> Trials::dataWarningsWith(const TrialOptions &changes) {
  if (!held || !held->held.bytes) return {};
  CapturedMessages said;
  CommandOptions options = optionsWith(changes);
  Input input = readForTarget(context, options);
  FailureOr<std::string> manifest = input.module ? manifestOf(input, options) : FailureOr<std::string>(failure());
  return failed(manifest) ? std::vector<std::string>() : readPlannedData(*manifest, options.data).held.warnings;
}
