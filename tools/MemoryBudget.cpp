//===- MemoryBudget.cpp - a program within a given memory -----------------===//

#include "tools/MemoryBudget.h"
#include "ir/dialect/Attributes.h"
#include "ir/program/MemorySettings.h"
#include "ir/program/Program.h"
#include "ir/program/ShardSettings.h"
#include "passes/sharding/search/ShardingPlan.h"
#include "runtime/machine/MachineMemory.h"
#include "runtime/train/MemoryNeeds.h"
#include "tools/Messages.h"
#include "tools/PeakMemory.h"
#include "tools/PhaseWarnings.h"
#include <cmath>
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;

/// Whether a sharding is to be searched for.
static bool searches(ModuleOp module) {
  auto reached = module->getAttrOfType<StringAttr>(attrs::phase);
  return ShardSettings::of(module).devices > 1 && !module->hasAttr(planAttr) && reached &&
         phaseIndex(reached.getValue()) < phaseIndex("shard");
}

std::optional<int64_t> tessera::budgetToFind(ModuleOp module, const CommandOptions &options) {
  MemorySettings settings = MemorySettings::of(module);
  auto reached = module->getAttrOfType<StringAttr>(attrs::phase);
  int last = phaseIndex(options.compileTo.empty() ? "schedule" : options.compileTo);
  int phase = phaseIndex("rematerialize");
  bool isOpen = reached && phaseIndex(reached.getValue()) < phase;
  // What is found depends on what all phases make of it.
  bool isReached = last >= (searches(module) ? phaseIndex("shard") : phase);
  // A dump has what the arena may take. It is found anew, since the budget may have been edited, but not by another
  // search for a sharding, which takes long.
  bool isKept = settings.arena && searches(module);
  return isOpen && isReached && !isKept ? settings.budget : std::nullopt;
}

/// As the limit of a search: none.
static constexpr int64_t unlimited = -1;
/// Of a mesh whose program may be the faster one: the estimate beside that of the fastest one.
static constexpr double nearMesh = 1.03;

namespace {
/// What a search for a sharding is told.
struct SearchLimit {
  std::optional<int64_t> bytes; ///< that it may count; none: what follows from the options
  std::vector<Mesh> notTaken;

  void record(ModuleOp module) const {
    auto attribute = bytes ? Builder(module.getContext()).getI64IntegerAttr(*bytes) : IntegerAttr();
    setOrRemoveAttr(module, attrs::searchMemory, attribute);
    setMeshesNotTaken(module, notTaken);
  }
};
} // namespace

/// Has what the arena may take follow from the budget alone.
static void forgetArena(ModuleOp module) {
  MemorySettings settings = MemorySettings::of(module);
  settings.arena = std::nullopt, settings.exchanges = 0;
  settings.record(module);
}

/// Tells a module what its arena may take, and how much of that recomputation leaves to exchanges beside kernels.
static void limitArena(ModuleOp module, std::optional<int64_t> bytes, int64_t exchanges) {
  if (!bytes) return;
  MemorySettings settings = MemorySettings::of(module);
  settings.arena = bytes, settings.exchanges = exchanges;
  settings.record(module);
}

namespace {
/// A program that the phases made within limits, and what it takes.
struct PlannedProgram {
  Input input;
  SearchLimit searched;
  std::optional<int64_t> arena; ///< what the arena may take; none: no limit
  int64_t exchanges = 0;        ///< what of it recomputation leaves to exchanges beside kernels
  int64_t bytes = std::numeric_limits<int64_t>::max();
  int64_t ofArena = 0;             ///< of these bytes
  runtime::MemoryNeeds needs = {}; ///< what they are for
  double seconds = INFINITY;       ///< of a step; infinite: not known
  double recomputation = 0;        ///< of these seconds, by the estimate of `rematerialize`
  std::vector<mlir::Diagnostic> warnings = {};
  std::optional<ShardingPlan> sharding = {}; ///< to be written

  bool isBelow(const PlannedProgram &other) const { return bytes < other.bytes; }
  /// What a budget leaves the arena, with what this program takes beside it.
  int64_t arenaWithin(int64_t budget) const { return ofArena + budget - bytes; }
  /// Bytes of the arena more than `rematerialize` counted when it chose the plan; 0 where it had no limit to choose by.
  int64_t uncounted() const;
};

/// The sharding that a search found: the phase `shard` notes it.
struct SearchResult {
  double bytes = 0;   ///< by its own count
  double seconds = 0; ///< by its own estimate
  double other = 0;   ///< the same on the next mesh; infinite if there is none
  Mesh mesh;
  bool isWithin = false; ///< the limit

  /// None if nothing was searched for.
  static std::optional<SearchResult> of(ModuleOp module) {
    auto found = module->getAttrOfType<DictionaryAttr>(attrs::foundSharding);
    if (!found) return std::nullopt;
    auto number = [&](StringRef key) { return found.getAs<FloatAttr>(key).getValueAsDouble(); };
    auto other = module->getAttrOfType<FloatAttr>(searchOtherAttr);
    const ProgramMesh mesh = ProgramMesh::of(module);
    Mesh ranks(llvm::map_range(mesh.getAxes(), [](AxisAttr axis) { return axis.getSize(); }));
    return SearchResult{number("bytes"), number("seconds"), other ? other.getValueAsDouble() : INFINITY,
                        std::move(ranks), found.contains("memory")};
  }
};
} // namespace

int64_t PlannedProgram::uncounted() const {
  auto frontier = (*input.module)->getAttrOfType<ArrayAttr>(attrs::frontier);
  if (!arena || !frontier) return 0;
  for (auto point : frontier.getAsRange<DictionaryAttr>())
    if (point.contains("chosen")) return std::max<int64_t>(0, ofArena - point.getAs<IntegerAttr>("arena").getInt());
  return 0;
}

/// Why no more of a program is recomputed, as a note; empty if all is that helps.
static std::string whyNoMore(ModuleOp module) {
  MemorySettings settings = MemorySettings::of(module);
  if (hasShadow(module)) return "note: a program for audits of its precision recomputes nothing\n";
  if (settings.getMode() != RematMode::Auto) return "";
  if (settings.hasPins()) return "note: that is with --save and --recompute; without them it may take less\n";
  auto frontier = module->getAttrOfType<ArrayAttr>(attrs::frontier);
  bool hasChoice = frontier && frontier.size() > 1;
  return hasChoice ? "" : "note: it recomputes nothing: what stacks of layers (`repeat`) save could be recomputed\n";
}

/// What holds the memory of a program: at the peak of a step, and beside the arena.
static std::string holders(ModuleOp module, const runtime::MemoryNeeds &needs, int64_t budget) {
  PeakMemory peak = peakMemory(module);
  std::string running = peak.running.empty() ? "" : " (" + peak.pass + ", " + peak.running + ")";
  auto line = [](int64_t bytes, const std::string &name) {
    return fmt::format("\n  {:>10}  {}", runtime::formatBytes(bytes), name);
  };
  std::string text = "note: at its peak" + running + " a step holds", lines;
  for (const auto &[kind, held] : peak.kinds) text += line(held, kind);
  int64_t besideArena = 0;
  for (const runtime::MemoryNeed &need : needs.lines) {
    if (need.isPart || need.bytes == 0 || need.name == runtime::arenaNeed) continue;
    besideArena += need.bytes, lines += line(need.bytes, need.name);
  }
  return text + fmt::format("\nnote: beside its arena the program takes {}{}{}", runtime::formatBytes(besideArena),
                            besideArena > budget ? ", more than the budget" : "", lines);
}

namespace {
/// The runs of the phases that find a program within a budget.
class BudgetRuns {
public:
  BudgetRuns(int64_t budget, Input &input, const CommandOptions &options, PhaseRun &run)
      : budget(budget), input(input), options(options), quiet(options), run(run) {
    quiet.compileTo = quiet.dumpDir = quiet.report = "", quiet.timing = quiet.json = quiet.listsValues = false;
    if (searches(*input.module)) quiet.plansDevices = false; // prices take as long as a search, and are of the last one
    run.common->keepsTiled = true;
    forgetArena(*input.module), setMeshesNotTaken(*input.module, {});
  }

  int find();

private:
  int planOnce(PlannedProgram &program);
  int planWithin(PlannedProgram &program);
  int tryFaster(PlannedProgram &program);
  int leaveRoom(PlannedProgram &program);
  int planOtherShardings();
  int planOtherMeshes();
  int keepIfBetter(const SearchLimit &searched);
  int finish();
  int refuse();

  int64_t budget;
  Input &input;
  const CommandOptions &options;
  CommandOptions quiet; ///< whose runs leave nothing but a module
  PhaseRun &run;
  PlannedProgram best;               ///< the fastest one within the budget, or the smallest one
  std::optional<SearchResult> found; ///< by the last search
};
} // namespace

/// Plans a program within its limits; prints errors.
int BudgetRuns::planOnce(PlannedProgram &program) {
  Input trial{OwningOpRef<ModuleOp>(input.module->clone()), ExitDone, input.files, input.diagnostics};
  program.searched.record(*trial.module);
  limitArena(*trial.module, program.arena, program.exchanges);
  PhaseRun unseen(quiet, run.common);
  unseen.heldWarnings = &program.warnings;
  if (int status = runPhasesAndPredict(trial, quiet, unseen)) return status;
  FailureOr<std::string> text = describeProgram(*trial.module, codegenOptions(*trial.module, quiet));
  if (failed(text)) return ExitInternal;
  runtime::Manifest manifest = runtime::parseManifest(*text);
  const runtime::PredictedEntry *step = manifest.predicted.entry("step");
  program.ofArena = (*trial.module)->getAttrOfType<IntegerAttr>(attrs::arena).getInt();
  program.input = std::move(trial), program.needs = runtime::programNeeds(manifest);
  program.bytes = program.needs.total();
  program.seconds = step && step->seconds > 0 ? step->seconds : INFINITY;
  const runtime::MemoryPlan *chosen = manifest.memory.chosen();
  program.recomputation = chosen ? chosen->seconds : 0;
  return ExitDone;
}

/// The same, with less and less in the arena until the program is within the
/// budget, or as small as it can be.
int BudgetRuns::planWithin(PlannedProgram &program) {
  constexpr int mostRounds = 4;
  run.common->tiled.clear(), run.common->predict.clear(); // they are those of a sharding
  PlannedProgram smallest;                                // less in the arena may be more in tables of the process
  std::vector<mlir::Diagnostic> warnings;
  bool triesLeast = false;
  for (int round = 0;; ++round) {
    if (int status = planOnce(program)) return status;
    if (round == 0) warnings = std::move(program.warnings); // later rounds have the same
    if (program.bytes <= budget) break;
    bool canRecompute = MemorySettings::of(*program.input.module).getMode() == RematMode::Auto;
    // What is counted when a plan is chosen is not all that its arena takes.
    int64_t within = program.arenaWithin(budget) - program.uncounted();
    std::optional<int64_t> arena = program.arena;
    SearchLimit searched = program.searched;
    if (program.isBelow(smallest)) smallest = std::move(program);
    program = {}, program.searched = searched;
    if (!canRecompute || triesLeast) break;
    // A plan that was chosen because it nearly fits is not the last word: that
    // has the one with the least memory.
    triesLeast = round >= mostRounds || within <= 0 || (arena && within >= *arena);
    program.arena = triesLeast ? 0 : within;
  }
  if (program.bytes > budget) program = std::move(smallest);
  program.warnings = std::move(warnings);
  return ExitDone;
}

/// A program is within the budget. What plans take is an upper bound before `schedule` moves ops: faster ones that take
/// little more than there is may be within it, too.
int BudgetRuns::tryFaster(PlannedProgram &program) {
  constexpr int64_t nearDivisor = 32;
  constexpr size_t mostTries = 3;
  auto frontier = (*program.input.module)->getAttrOfType<ArrayAttr>(attrs::frontier);
  if (!program.arena || program.exchanges > 0 || !frontier) return ExitDone;
  int64_t room = program.arenaWithin(budget);
  SmallVector<int64_t> arenas; // of those that are faster and near, from the fastest one
  for (auto point : frontier.getAsRange<DictionaryAttr>()) {
    if (point.contains("chosen")) break;
    int64_t arena = point.getAs<IntegerAttr>("arena").getInt();
    if (arena > *program.arena && arena - arena / nearDivisor <= room) arenas.push_back(arena);
  }
  for (int64_t arena : ArrayRef(arenas).take_back(mostTries)) {
    PlannedProgram other;
    other.searched = program.searched, other.arena = arena;
    if (int status = planOnce(other)) return status;
    if (other.bytes > budget || other.seconds >= program.seconds) continue;
    other.warnings = std::move(program.warnings);
    program = std::move(other);
    return ExitDone;
  }
  return ExitDone;
}

/// A program is within the budget. But a plan that recomputes as little as fits may leave no room for exchanges beside
/// kernels, and what is lost as kernels wait for them may be more than what is recomputed in the next smaller plans. So
/// some of these are tried.
int BudgetRuns::leaveRoom(PlannedProgram &program) {
  auto lacking = (*program.input.module)->getAttrOfType<IntegerAttr>(attrs::arenaLacking);
  bool canRecompute = MemorySettings::of(*program.input.module).getMode() == RematMode::Auto;
  if (!lacking || !canRecompute) return ExitDone;
  int64_t room = program.arenaWithin(budget), arena = std::min(room, program.arena.value_or(room));
  for (int64_t parts : {4, 2, 1}) {
    PlannedProgram other;
    other.searched = program.searched, other.arena = arena, other.exchanges = lacking.getInt() / parts;
    if (int status = planOnce(other)) return status;
    if (other.bytes > budget || other.seconds >= program.seconds) continue;
    other.warnings = std::move(program.warnings);
    program = std::move(other);
  }
  return ExitDone;
}

/// Plans with what a search within so many bytes finds.
int BudgetRuns::keepIfBetter(const SearchLimit &searched) {
  constexpr double nearly = 1.05;
  PlannedProgram program;
  program.searched = searched;
  if (int status = planWithin(program)) return status;
  bool fits = program.bytes <= budget, doesBest = best.bytes <= budget;
  if (fits && (!doesBest || program.seconds < nearly * best.seconds)) {
    if (int status = tryFaster(program)) return status;
    if (int status = leaveRoom(program)) return status;
  }
  found = SearchResult::of(*program.input.module), program.sharding = run.common->found;
  if (fits != doesBest ? fits : fits ? program.seconds < best.seconds : program.isBelow(best))
    best = std::move(program);
  return ExitDone;
}

/// Of the state that a rank has at least.
static int64_t leastStateBytes(ModuleOp module) {
  int64_t bytes = 0;
  for (StateOp state : stateTable(module)) bytes += state.getTensorType().getNumBytes();
  return bytes / ShardSettings::of(module).devices;
}

/// The count of a search is not what the arena takes: what recomputation saves
/// later may be more, and what takes memory at the peak less. So its limit is
/// lowered step by step from a little more than the budget leaves the arena,
/// and the fastest of the programs is taken by what the phases predict for
/// them. Where none fits, down to the fewest bytes.
int BudgetRuns::planOtherShardings() {
  constexpr double first = 1.4, last = 0.7, ratio = 0.84,
                   margin = 1.2;   // about half as much after four steps
  constexpr double hopeless = 1.1; // estimates are mostly lower than what is predicted later
  constexpr int mostSearches = 8, mostSlower = 3;
  int64_t besideArena = best.bytes - best.ofArena;
  auto within = static_cast<double>(std::max<int64_t>(budget - besideArena, 0));
  double limit = first * within;
  int slower = 0;
  std::vector<Mesh> notTaken = best.bytes <= budget ? best.searched.notTaken : std::vector<Mesh>();
  bool isHopeless = leastStateBytes(*input.module) > budget;
  for (int searches = 0; searches < mostSearches; ++searches, limit *= ratio) {
    bool fits = best.bytes <= budget;
    if (!fits) limit = std::min(limit, margin * found->bytes * within / static_cast<double>(best.ofArena));
    while (limit >= found->bytes) limit *= ratio; // until then nothing else is found
    if (fits && (slower == mostSlower || limit < last * within)) break;
    if (!fits && (isHopeless || searches + 1 == mostSearches)) limit = 0;
    double before = best.seconds;
    if (int status = keepIfBetter({static_cast<int64_t>(limit), notTaken})) return status;
    if (best.seconds >= before) ++slower;
    if (!found->isWithin) break; // that was the least
    if (best.bytes <= budget && found->seconds > hopeless * best.seconds) break;
  }
  return ExitDone;
}

/// The estimate of a search is not the time of the program: ops are fused later, and not all exchanges run beside
/// kernels that may. So where other meshes are nearly as good by the estimate, the fastest of the programs is taken.
int BudgetRuns::planOtherMeshes() {
  constexpr int mostTries = 2;
  SearchResult last = *SearchResult::of(*best.input.module);
  double least = last.seconds;
  SearchLimit searched = best.searched;
  for (int tries = 0; tries < mostTries && last.other < nearMesh * least; ++tries) {
    if (llvm::is_contained(searched.notTaken, last.mesh)) break; // no other one suits
    searched.notTaken.push_back(last.mesh);
    int status = ExitDone;
    std::string text;
    {
      CapturedMessages said;
      status = keepIfBetter(searched), text = said.text();
    }
    if (status == ExitInternal) return messages() << text, status;
    if (status != ExitDone) break; // what the user says does not suit that mesh
    last = *found;
  }
  found = SearchResult::of(*best.input.module);
  return ExitDone;
}

int BudgetRuns::find() {
  bool mayChoose = searches(*input.module);
  if (int status = keepIfBetter({mayChoose ? std::optional(unlimited) : std::nullopt, {}})) return status;
  bool fits = best.bytes <= budget;
  if (mayChoose && fits)
    if (int status = planOtherMeshes()) return status;
  // One that recomputes nothing, and whose exchanges all have room beside
  // kernels, is the fastest one, and one that recomputes very little nearly.
  constexpr double little = 0.001;
  bool isFastest =
      fits && best.recomputation <= little * best.seconds && !(*best.input.module)->hasAttr(attrs::arenaLacking);
  if (mayChoose && !isFastest)
    if (int status = planOtherShardings()) return status;
  if (mayChoose && !fits && best.bytes <= budget)
    if (int status = planOtherMeshes()) return status;
  return finish();
}

/// The program does not fit into the budget however much is recomputed.
int BudgetRuns::refuse() {
  ModuleOp module = *best.input.module;
  const std::string &given = options.memory.memory;
  bool isLeast = MemorySettings::of(module).getMode() == RematMode::Auto && !hasShadow(module);
  std::string text = fmt::format(
      "{}: {} is {} bytes, and {} {}, {} bytes\n{}{}", options.input.path,
      given.empty() ? "its budget of memory" : "--memory=" + given, budget,
      isLeast ? "the least that the program takes is" : "with these options the program takes",
      runtime::memoryAmount(best.bytes), best.bytes, whyNoMore(module), holders(module, best.needs, budget));
  if (!isModule(options))
    text +=
        "\nnote: `tessera plan` with these options and --suggest looks for a batch, a precision or a length that fits";
  printError(text);
  return ExitInput;
}

/// Takes the program; where more of it is seen than its last module, the phases
/// run again.
int BudgetRuns::finish() {
  for (mlir::Diagnostic &warning : best.warnings)
    printPhaseWarning(warning, input.diagnostics.get(), options.input.jsonDiagnostics);
  run.hasWarned = !best.warnings.empty(), run.common->found = best.sharding;
  bool fits = best.bytes <= budget;
  bool takesLeast = options.takesLeast || MemorySettings::of(*input.module).isWish;
  if (!fits && !takesLeast) return refuse();
  bool stopsEarly = !options.compileTo.empty() && options.compileTo != "schedule";
  bool isComplete = !stopsEarly && options.dumpDir.empty() && !options.pricesValues() && !options.timing &&
                    options.plansDevices == quiet.plansDevices;
  if (isComplete) {
    input = std::move(best.input);
    return ExitDone;
  }
  best.searched.record(*input.module);
  limitArena(*input.module, best.arena, best.exchanges);
  run.printsWarnings = false; // again
  run.common->tiled.clear();  // it is not explained
  return runPhasesAndPredict(input, options, run);
}

int tessera::runPhasesWithin(int64_t budget, Input &input, const CommandOptions &options, PhaseRun &run) {
  return BudgetRuns(budget, input, options, run).find();
}

bool tessera::warnAboveBudget(ModuleOp module, const runtime::Manifest &manifest, const CommandOptions &options) {
  MemorySettings settings = MemorySettings::of(module);
  int64_t bytes = runtime::programBytes(manifest);
  if (!settings.budget || settings.isWish || options.takesLeast || bytes <= *settings.budget) return false;
  messages() << fmt::format("warning: {}: the program takes {} bytes, more than its budget in `tsr.memory`, {}: the "
                            "module was changed behind `rematerialize`, or its lines have longer names than the "
                            "model's; compile the model again to stay within it\n",
                            options.input.path, bytes, *settings.budget);
  return true;
}
