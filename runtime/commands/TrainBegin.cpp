//===- TrainBegin.cpp - begins or resumes a run ---------------------------===//
//
//   1. open the data and start the machine
//   2. lock the folder of checkpoints
//   3. initialise, load weights, or resume the newest checkpoint
//   4. compare with the run that is resumed
//   5. open what the run writes
//
// What may fail on one rank only is inside of `RunRanks::together`, without collectives. What is around that fails on
// all ranks or on none.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/SharedFolder.h"
#include "runtime/commands/Training.h"
#include "runtime/data/ColumnWarnings.h"
#include "runtime/data/DataWarnings.h"
#include "runtime/data/SourceRecord.h"
#include "runtime/ranks/Comparison.h"
#include "runtime/train/RunDifferences.h"
#include "runtime/train/SourceChanges.h"

#include <filesystem>

namespace fs = std::filesystem;

namespace tessera::runtime {

/// The number of micro-batches of a batch, of which `evaluate` takes one.
static int64_t microBatchesOf(const Manifest &manifest) {
  if (!manifest.hasEntry("evaluate")) return 1;
  auto rowsOf = [&](const char *entry) {
    const ValueSpec *input = manifest.entry(entry).input("data");
    return input && !input->axes.empty() ? std::max<int64_t>(1, wholeAxes(*input)[0].size) : 1;
  };
  return std::max<int64_t>(1, rowsOf("step") / rowsOf("evaluate"));
}

Training::Training(LoadedProgram &program, const Options &options, RunRanks &ranks)
    : program(program), options(options), ranks(ranks),
      settings(program.manifest().settings, microBatchesOf(program.manifest())), files({}, {}),
      requests(ranks.world()) {
  RunRanks::LongWork start(ranks);
  ranks.together("settings and data", [&] {
    files = DataFiles(manifest().data, options.data);
    for (const std::string &assignment : options.set) settings.set(assignment);
    findLength();
    requests.setMinutes(settings.real("save.minutes", 0));
    set = openDataSet(manifest(), stepEntry(), files, Split::Train, program.positions());
  });
  this->program.start(options.threads, options.bind);
  ranks.requireSameData(files, set, Split::Train, manifest());
  ranks.together("the beginning of the run", [&] {
    openFolder();
    begin();
    openOutputs();
  });
}

void Training::findLength() {
  lastStep = options.train.steps.value_or(settings.integer("stop.after", 0));
  if (lastStep < 0 || (lastStep == 0 && !options.train.steps))
    failUsage("the model file does not say when to stop{}; give --steps N",
              settings.integer("stop.patience", 0) > 0 ? " at the latest, beside stop.patience" : "");
}

void Training::openFolder() {
  std::string path = options.train.checkpointDir;
  if (path.empty() && settings.has("save")) path = defaultCheckpointFolder(manifest());
  if (path.empty()) return;
  checkpoints.folder.emplace(path);
  ranks.onFirst("the checkpoint folder", [&] { checkpoints.folder->lock(); });
  requireSharedFolder(*checkpoints.folder, ranks.world());
  ranks.logTo(path);
}

/// Initialises, loads weights, or resumes.
void Training::begin() {
  info.model = manifest().model;
  info.seed = options.seed.value_or(defaultSeed);
  info.data = asWritten(files.describe());
  info.settings = asWritten(settings.json());
  info.batch = set.batch;
  info.program = program.hash();
  info.source = manifest().source;
  if (!manifest().isForGpu()) info.parallelism.threads = program.threads();
  info.parallelism.mesh = ranks.mesh().text();
  info.parallelism.leaves = manifest().target.ranks.leaves;
  ranks.together("the record of the data", [&] { recordData(); });
  if (options.train.resume != "auto" && options.train.resume != "never") return resumeFrom(options.train.resume);
  if (checkpoints.folder && options.train.resume == "never" && !stepsIn(*checkpoints.folder, ranks.world()).empty())
    fail("{} has checkpoints already and --resume=never forbids to resume them; choose another --checkpoint-dir",
         checkpoints.folder->path());
  if (checkpoints.folder)
    if (auto saved = loadOwn()) {
      if (!options.train.init.empty())
        warn("note: resuming from {}; --init is not read again", checkpoints.folder->path());
      return resumeOwn(*saved);
    }
  moveTo(0, options.train.skipBatches);
  ranks.together("initial values", [&] { initialise(program, info.seed); });
  if (!options.train.init.empty()) loadModelFrom(program, options.train.init, "--init", ranks.world(), options.partial);
}

/// What a checkpoint says of the data.
void Training::recordData() {
  info.rowOrder = static_cast<int>(files.rowOrder());
  info.sources = recordSources(manifest(), files, set);
}

/// A run keeps the order of rows that it began with.
void Training::continueRowOrder(const CheckpointInfo &saved, const std::string &path) {
  if (saved.rowOrder == info.rowOrder) return;
  Json before = info.sources;
  ranks.together("the order of rows", [&] {
    files.takeRowOrder(saved.rowOrder, path);
    set = openDataSet(manifest(), stepEntry(), files, Split::Train, program.positions());
    recordData();
  });
  if (before != info.sources)
    output.differences.push_back("the checkpoint is of a version that held out the last rows for validation, and the "
                                 "run goes on with them; a new run holds out rows from everywhere");
  if (set.names.size() > 1)
    output.differences.push_back("the checkpoint is of a version that shuffled each source in an order of its own, and "
                                 "the run goes on with it; in a new run sources with equally many rows are in one "
                                 "order");
}

/// Whether evaluations of the checkpoint's run are of the same rows as those of this one.
bool Training::hasSameEvaluation(const CheckpointInfo &saved) const {
  bool isSame = saved.data == info.data;
  for (const auto &[name, source] : info.sources.items()) {
    const Json before = saved.sources.value(name, Json::object());
    isSame &= heldOutChange(before, source, name).empty();
    if (source.contains("validation")) isSame &= contentChange(before, source, name).empty();
  }
  return isSame;
}

/// The newest checkpoint of the run itself. If the program does not fit to it, the error says what changed since.
std::optional<CheckpointInfo> Training::loadOwn() {
  try {
    return loadNewest(program, *checkpoints.folder, "start again in another --checkpoint-dir", ranks.world());
  } catch (const CheckpointDamaged &) {
    throw;
  } catch (const Error &e) {
    std::optional<CheckpointInfo> saved = newestInfo(*checkpoints.folder);
    auto changes = saved ? sourceChanges(saved->source, info.source) : std::nullopt;
    if (!changes || changes->empty()) throw;
    throw Error(fmt::format("{}; the model changed since that checkpoint: {}", e.what(), fmt::join(*changes, "; ")),
                e.exitStatus());
  }
}

/// `path` is where this branch begins. The same command, run again, resumes what the first one saved.
void Training::resumeFrom(const std::string &path) {
  auto whole = [](const std::string &path) { return asWritten(fs::weakly_canonical(fs::absolute(path)).string()); };
  std::string from, ownPath;
  ranks.together("the path of --resume",
                 [&] { from = whole(path), ownPath = checkpoints.folder ? whole(checkpoints.folder->path()) : ""; });
  bool isInOwn =
      ranks.asOnFirst("where the run resumes", checkpoints.folder && fs::path(from).parent_path() == ownPath);
  if (checkpoints.folder && !stepsIn(*checkpoints.folder, ranks.world()).empty()) {
    std::optional<CheckpointInfo> saved = loadOwn();
    bool isOwn = saved->resumedFrom == from || from == ownPath;
    if (ranks.asOnFirst("which run resumes", isOwn)) return resumeOwn(*saved);
    if (!isInOwn)
      fail("{} has the checkpoints of a run that did not begin at {}; choose another --checkpoint-dir, or leave out "
           "--resume to resume that run",
           checkpoints.folder->path(), path);
  }
  std::string checkpoint = path;
  CheckpointInfo saved;
  bool isFolder = false;
  ranks.together("what --resume names", [&] { isFolder = isFolderOfCheckpoints(path, "--resume"); });
  if (ranks.asOnFirst("what --resume names", isFolder)) {
    CheckpointFolder other(path);
    saved = *loadNewest(program, other, "give --resume another checkpoint", ranks.world());
    checkpoint = other.pathOf(saved.step);
  } else {
    saved = loadCheckpoint(path, manifest(), stateIn(program), ranks.world());
    program.pushState();
  }
  saved.resumedFrom = from;
  resumeAt(saved, checkpoint, options.train.skipBatches);
  if (isInOwn) checkpoints.savedStep = step;
}

/// Resumes the newest checkpoint of the run itself. The first run has skipped the batches already.
void Training::resumeOwn(const CheckpointInfo &saved) {
  if (options.train.skipBatches > 0)
    output.differences.push_back(
        "--skip-batches is for new runs and for --resume PATH: running again does not skip again");
  resumeAt(saved, checkpoints.folder->pathOf(saved.step), 0);
  checkpoints.savedStep = step;
}

/// Sets the data position. Checks that the numbers of all rows up to the last step fit into 64 bits.
void Training::moveTo(int64_t position, int64_t skipped) {
  // The loader is two batches ahead.
  int64_t end = 0, left = std::max<int64_t>(0, lastStep - step) + 3;
  if (__builtin_add_overflow(position, skipped, &info.position) || __builtin_add_overflow(info.position, left, &end) ||
      __builtin_mul_overflow(end, set.batch, &end))
    fail("the data position, {} batches and {} skipped, is too far for {} rows a batch up to step {}", position,
         skipped, set.batch, lastStep);
}

/// Takes over step, data position and seed of the checkpoint at `path`.
void Training::resumeAt(const CheckpointInfo &saved, const std::string &path, int64_t skipped) {
  continueRowOrder(saved, path);
  for (std::string &change : differencesSince(saved, info, path)) output.differences.push_back(std::move(change));
  for (std::string &line : otherColumnWarnings(manifest(), set, saved.sources))
    output.differences.push_back(std::move(line));
  if (options.seed && *options.seed != saved.seed)
    output.differences.push_back(fmt::format("the run continues with its seed {}; --seed is for new runs", saved.seed));
  info.step = step = started = saved.step;
  moveTo(saved.position, skipped);
  info.seed = saved.seed;
  info.evaluated = saved.evaluated;
  info.resumedFrom = saved.resumedFrom;
  // Else evaluations cannot be compared. Paths of data may differ among ranks.
  if (ranks.asOnFirst("whether evaluations compare", hasSameEvaluation(saved))) info.best = saved.best;
  checkpoints.lastGood = checkpoints.last = path;
  int64_t counted = program.readCounter("step", step);
  if (counted != step)
    fail("the checkpoint of step {} holds the state of step {}: its files are from different checkpoints", step,
         counted);
}

void Training::openOutputs() {
  const DataSpec *first = set.names.empty() ? nullptr : manifest().dataNamed(set.names[0]);
  bool tokens = first && infoOf(first->format).isSequence();
  output.setUnit(tokens ? "tokens" : "samples", static_cast<double>(set.batch) * (tokens ? first->seq : 1));

  Progress::Plan plan;
  plan.firstStep = step, plan.lastStep = lastStep;
  plan.logEvery = options.train.logEvery;
  plan.perStep = output.perStep(), plan.unit = output.unitName(), plan.flops = stepEntry().flops * ranks.count();
  plan.arenaBytes = manifest().arena.bytes, plan.quiet = options.train.quiet;
  plan.isForwarded = ranks.count() > 1;
  if (options.train.metrics == "-" && ranks.isFirst()) plan.out = stderr;
  output.progress.emplace(plan);
  output.progress->note(fmt::format("{}: {}, {}, arena {} bytes, seed {}", manifest().model, ranks.describe(),
                                    program.describeMachine(), manifest().arena.bytes, info.seed));
  if (step > 0) output.progress->note(fmt::format("resumed at step {}", step));
  if (!checkpoints.folder)
    output.progress->note("nothing will be saved; name a folder with --checkpoint-dir to save checkpoints");
  openEvaluation();
  openBest();
  divergence.lossGrowth().begin(output.perStep());
  output.rates.begin(lastStep);
  HeldMemory held;
  set.addHeld(held);
  if (evaluation.over) evaluation.over->data().addHeld(held);
  output.ledger.setHeld(totalOf(held));
  // All ranks time their calls if the first one writes a profile: so they run their steps in the same way.
  bool wantsProfile = !options.train.profile.empty() || options.train.profileTable;
  if (ranks.asOnFirst("the profile", wantsProfile)) output.profile = &program.startProfile();
  ranks.onFirst("what the run writes", [&] {
    warnOfData();
    refuseFilesInUse();
    if (!options.train.profile.empty()) output.openProfile(options.train.profile);
    output.hasProfileTable = options.train.profileTable;
    // Last: a run that fails before leaves the file as it is.
    output.records.open(options.train.metrics, options.train.tensorboard, step, info.evaluated);
  });
  output.showDifferences(step);
}

void Training::warnOfData() {
  const DataSet *evaluated = evaluation.over ? &evaluation.over->data() : nullptr;
  const DataSet *validation = settings.text("evaluate.on", "val") == "val" ? evaluated : nullptr;
  for (const std::string &line : dataWarnings(manifest(), files, set, validation))
    output.progress->say("warning: " + line);
  for (const std::string &line : dataNotes(&set, evaluated)) output.progress->note("note: " + line);
}

/// An output must not replace an input, nor another output.
void Training::refuseFilesInUse() const {
  const TrainOptions &train = options.train;
  FilesInUse used(program);
  used.addData(files);
  if (!train.init.empty()) used.addWeights(train.init);
  if (!options.partial.map.empty()) used.add(options.partial.map, "the map of --map");
  if (checkpoints.folder) used.add(checkpoints.folder->path() + "/.lock", "the lock of the checkpoint folder");
  if (!train.metrics.empty() && train.metrics != "-") used.addOutput("--metrics", train.metrics);
  if (!train.profile.empty()) used.addOutput("--profile", train.profile);
}

void Training::openEvaluation() {
  if (!manifest().hasEntry("evaluate")) return;
  Split split = settings.text("evaluate.on", "val") == "train" ? Split::Train : Split::Val;
  bool hasAll = hasValidation(manifest(), stepEntry(), files);
  requireEqual(ranks.world(), {{"whether there is validation data", hasAll ? "yes" : "no"}},
               "name it with --data on all ranks");
  if (hasAll || (split == Split::Train && settings.has("evaluate"))) {
    ranks.together("the data of evaluations", [&] { evaluation.over.emplace(program, files, split); });
    return ranks.requireSameData(files, evaluation.over->data(), split, manifest());
  }
  if (split == Split::Train) return;
  ValidationSources sources = validationSources(manifest(), stepEntry(), files);
  if (!sources.with.empty())
    output.progress->note(fmt::format("'{}' has no validation data, so nothing is evaluated, although '{}' has some; "
                                      "name some with --data {}.val=PATH",
                                      sources.without[0], sources.with[0], sources.without[0]));
  else if (settings.has("evaluate"))
    output.progress->note("there is no validation data: nothing is evaluated; name some with --data val=PATH");
}

/// What `save.best` and `stop.patience` compare.
void Training::openBest() {
  std::string goal = settings.text("save.best", "");
  int64_t patience = settings.integer("stop.patience", 0);
  if (goal.empty() && patience == 0) return;
  const char *option = goal.empty() ? "stop.patience" : "save.best";
  if (!evaluation)
    failUsage("{} compares evaluations, but there is no validation data: name some with --data val=PATH, or switch it "
              "off with --set {}={}",
              option, option, goal.empty() ? "0" : "");
  if (patience > 0 && settings.integer("evaluate.every", 0) == 0)
    failUsage("stop.patience counts evaluations, but evaluate.every does not say how often to evaluate; give "
              "evaluate(every = N), or --set stop.patience=0");
  evaluation.best.emplace(goal, manifest().entry("evaluate"), option);
  evaluation.best->restore(info.best);
}

} // namespace tessera::runtime
