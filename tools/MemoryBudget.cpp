//===- MemoryBudget.cpp - a program within a given memory -----------------===//

#include "tools/MemoryBudget.h"
#include "ir/dialect/Attributes.h"
#include "ir/program/MemorySettings.h"
#include "ir/program/Program.h"
#include "passes/sharding/search/ShardingPlan.h"
#include "runtime/machine/MachineMemory.h"
#include "runtime/train/MemoryNeeds.h"
#include "tools/Messages.h"
#include "tools/PeakMemory.h"
#include <limits>

using namespace mlir;
using namespace tessera;

std::optional<int64_t> tessera::budgetToFind(ModuleOp module, const CommandOptions &options) {
  MemorySettings settings = MemorySettings::of(module);
  auto reached = module->getAttrOfType<StringAttr>(attrs::phase);
  int last = phaseIndex(options.compileTo.empty() ? "schedule" : options.compileTo);
  int phase = phaseIndex("rematerialize");
  bool isOpen = reached && phaseIndex(reached.getValue()) < phase && last >= phase;
  return isOpen && !settings.arena ? settings.budget : std::nullopt;
}

void tessera::limitArena(ModuleOp module, int64_t bytes) {
  MemorySettings settings = MemorySettings::of(module);
  settings.arena = bytes;
  settings.record(module);
}

/// The bytes of the program of a scheduled module. Prints errors.
static FailureOr<int64_t> plannedProgramBytes(ModuleOp module, const CommandOptions &options) {
  FailureOr<std::string> manifest = describeProgram(module, codegenOptions(module, options));
  if (failed(manifest)) return failure();
  return runtime::programBytes(runtime::parseManifest(*manifest));
}

/// Why no more of a program is recomputed, as a note; empty if all is that helps.
static std::string whyNoMore(ModuleOp module) {
  if (hasShadow(module)) return "note: a program for audits of its precision recomputes nothing\n";
  if (MemorySettings::of(module).getMode() != RematMode::Auto) return "";
  auto frontier = module->getAttrOfType<ArrayAttr>(attrs::frontier);
  bool hasChoice = frontier && frontier.size() > 1;
  return hasChoice ? "" : "note: it recomputes nothing: what stacks of layers (`repeat`) save could be recomputed\n";
}

/// The program does not fit into the budget however much is recomputed.
static int refuseBudget(ModuleOp module, int64_t budget, int64_t bytes, const CommandOptions &options) {
  const std::string &given = options.memory.memory;
  bool isLeast = MemorySettings::of(module).getMode() == RematMode::Auto && !hasShadow(module);
  std::string text = options.input.path + ": " + (given.empty() ? "its budget of memory" : "--memory=" + given) +
                     " is " + runtime::formatBytes(budget) + ", and " +
                     (isLeast ? "the least that the program takes is " : "with these options the program takes ") +
                     runtime::formatBytes(bytes) + ", " + std::to_string(bytes) + " bytes\n" + whyNoMore(module);
  PeakMemory peak = peakMemory(module);
  text +=
      "note: where a step holds most, " + peak.pass + (peak.running.empty() ? "" : ", " + peak.running) + ", it holds";
  for (const auto &[kind, held] : peak.kinds) text += "\n  " + runtime::formatBytes(held) + " of " + kind;
  printError(text + "\nnote: `tessera plan --suggest` looks for a batch, a precision or a length that fits");
  return ExitInput;
}

/// The bytes that the next search for a sharding may count, if one with less memory may be found: as much less than
/// what was counted of the last one as that takes too much; in the end none, which finds the least. None if that was
/// done, or if nothing was searched for, as with a plan.
static std::optional<int64_t> nextSearch(ModuleOp input, ModuleOp last, int64_t budget, int64_t bytes, bool isEnd) {
  if (input->hasAttr(planAttr)) return std::nullopt;
  auto found = last->getAttrOfType<DictionaryAttr>(attrs::foundSharding);
  if (!found || !found.contains("memory")) return std::nullopt;
  if (isEnd) return 0;
  constexpr double margin = 0.98;
  double ratio = margin * static_cast<double>(budget) / static_cast<double>(bytes);
  return static_cast<int64_t>(ratio * found.getAs<FloatAttr>("bytes").getValueAsDouble());
}

int tessera::runPhasesWithin(int64_t budget, Input &input, const CommandOptions &options, PhaseRun &run) {
  constexpr int mostRounds = 4;
  CommandOptions quiet = options;
  quiet.compileTo = quiet.dumpDir = quiet.report = "", quiet.timing = false;
  run.common->keepsTiled = true;
  bool stopsEarly = !options.compileTo.empty() && options.compileTo != "schedule";
  bool isComplete = !stopsEarly && options.dumpDir.empty() && options.report.empty() && !options.timing;
  std::optional<int64_t> arena;
  OwningOpRef<ModuleOp> smallest; // of those that do not fit: less in the arena may be more in tables of the process
  int64_t leastBytes = std::numeric_limits<int64_t>::max();
  bool triesLeast = false;
  int searches = 0;
  for (int round = 0;; ++round) {
    Input trial{OwningOpRef<ModuleOp>(input.module->clone()), ExitDone, input.files, input.diagnostics};
    if (arena) limitArena(*trial.module, *arena);
    PhaseRun unseen(quiet, run.common);
    unseen.printsWarnings = !arena && searches == 0;
    if (int status = runPhasesAndPredict(trial, quiet, unseen)) return status;
    FailureOr<int64_t> bytes = plannedProgramBytes(*trial.module, quiet);
    if (failed(bytes)) return ExitInternal;
    if (*bytes <= budget) {
      if (!isComplete) break;
      input = std::move(trial);
      run.hasWarned = unseen.hasWarned;
      return ExitDone;
    }
    bool canRecompute = MemorySettings::of(*trial.module).getMode() == RematMode::Auto;
    int64_t within = (*trial.module)->getAttrOfType<IntegerAttr>(attrs::arena).getInt() + budget - *bytes;
    ModuleOp lastModule = *trial.module;
    if (*bytes <= leastBytes) smallest = std::move(trial.module), leastBytes = *bytes;
    if (!canRecompute || triesLeast) {
      std::optional<int64_t> counted =
          nextSearch(*input.module, lastModule, budget, *bytes, searches + 1 == mostRounds);
      if (counted && ++searches <= mostRounds) {
        (*input.module)->setAttr(attrs::searchMemory, Builder(input.module->getContext()).getI64IntegerAttr(*counted));
        round = -1, triesLeast = false, arena = std::nullopt;
        run.common->tiled.clear();
        continue;
      }
      if (!options.takesLeast) return refuseBudget(*smallest, budget, leastBytes, options);
      input.module = std::move(smallest);
      return ExitDone;
    }
    // A plan that was chosen because it nearly fits is not the last word: that has the one with the least memory.
    triesLeast = round >= mostRounds || within <= 0 || (arena && within >= *arena);
    arena = triesLeast ? 0 : within;
  }
  if (arena) limitArena(*input.module, *arena);
  run.printsWarnings = false; // again
  return runPhasesAndPredict(input, options, run);
}
