//===- Train.cpp - the command `train` ------------------------------------===//
//
// The loop, for each step:
//   1. copy the next batch into the arena and start the entry `step`
//   2. read, record and show the scalars of a step: of the previous one, if this one can run meanwhile
//   3. evaluate if due
//   4. save if due
// The checkpoint holds all that a resumed run needs: the state, the number of
// consumed batches, the seed.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Error.h"
#include "runtime/commands/Session.h"
#include "runtime/data/BatchLoader.h"
#include "runtime/machine/StepAllocator.h"
#include "runtime/train/Divergence.h"
#include "runtime/train/PrecisionAudit.h"
#include "runtime/train/RunDifferences.h"
#include "runtime/train/RunOutput.h"
#include "runtime/train/Settings.h"
#include "runtime/train/Signals.h"

#include <chrono>
#include <cmath>
#include <filesystem>

namespace fs = std::filesystem;

namespace tessera::runtime {

namespace {
/// Where checkpoints go, and what this run has saved.
struct RunCheckpoints {
  std::optional<CheckpointFolder> folder; ///< none: nothing is saved
  int64_t savedStep = -1;
  std::string last;     ///< path of the last checkpoint of this run
  std::string lastGood; ///< path of the last one before non-finite values
  RunOutput::Clock::time_point savedAt = RunOutput::Clock::now();
};

class Training {
public:
  Training(LoadedProgram &program, const Options &options);
  ExitStatus run();

private:
  void findLength();
  void openFolder();
  void begin();
  void resumeFrom(const std::string &path);
  void moveTo(int64_t position, int64_t skipped);
  void resumeOwn(const CheckpointInfo &saved);
  void resumeAt(const CheckpointInfo &saved, const std::string &path, int64_t skipped);
  void openOutputs();
  void refuseData(const char *option, const std::string &path) const;
  void openEvaluation();
  /// Runs `read`, which reads data and does not change the state. If it throws, the steps before it are saved first.
  template <typename Read> auto savingOnError(Read read) {
    try {
      return read();
    } catch (const std::exception &) {
      saveStarted();
      throw;
    }
  }
  /// Saves the last step that was started, if possible.
  void saveStarted() {
    try {
      finishSteps();
      save();
    } catch (const std::exception &error) {
      output.progress->say(fmt::format("warning: {}", error.what())); // the caller throws what ends the run
    }
  }
  void startStep(BatchLoader &loader);
  void finishStep();
  /// Waits for all steps that were started.
  void finishSteps() {
    while (step < started) finishStep();
  }
  /// Whether the next step can start before the results of the last one are read.
  bool canStartNext() const;
  void watchDivergence(const StepReport &report);
  void evaluateIfDue();
  void evaluateNow();
  /// `every`: the setting with the number of steps between two occurrences; 0: never.
  bool isDue(const char *every, int64_t at) const {
    int64_t steps = settings.integer(every, 0);
    return steps > 0 && at % steps == 0;
  }
  bool isEvaluationDue(int64_t at) const;
  void save();
  bool isSaveDue(int64_t at) const;
  void abandonLaterCheckpoints();
  ExitStatus stopEarly(int signal);

  const Manifest &manifest() const { return program.manifest(); }
  const EntryFunction &stepEntry() const { return manifest().entry("step"); }

  LoadedProgram &program;
  const Options &options;
  Settings settings;
  DataFiles files;
  DataSet set;
  RunCheckpoints checkpoints;
  std::optional<Evaluation> evaluation;
  RunOutput output;
  CheckpointInfo info;
  int64_t lastStep = 0, step = 0;
  int64_t started = 0; ///< the last step that was started; `step` is the last whose results were read
  Divergence divergence;
  bool evaluationStopped = false; ///< by a signal
  Signals signals;
};
} // namespace

/// The number of micro-batches of a batch, of which `evaluate` takes one.
static int64_t microBatchesOf(const Manifest &manifest) {
  if (!manifest.hasEntry("evaluate")) return 1;
  auto rowsOf = [&](const char *entry) {
    const ValueSpec *input = manifest.entry(entry).input("data");
    return input && !input->axes.empty() ? std::max<int64_t>(1, input->axes[0].size) : 1;
  };
  return std::max<int64_t>(1, rowsOf("step") / rowsOf("evaluate"));
}

Training::Training(LoadedProgram &program, const Options &options)
    : program(program), options(options), settings(program.manifest().settings, microBatchesOf(program.manifest())),
      files(program.manifest().data, options.data) {
  for (const std::string &assignment : options.set) settings.set(assignment);
  findLength();
  set = openDataSet(manifest(), stepEntry(), files, Split::Train);
  program.start(options.threads, options.bind);
  openFolder();
  begin();
  openOutputs();
}

void Training::findLength() {
  lastStep = options.train.steps.value_or(settings.integer("stop.after", 0));
  if (lastStep < 0 || (lastStep == 0 && !options.train.steps))
    failUsage("the model file does not say when to stop; give --steps N");
}

void Training::openFolder() {
  std::string path = options.train.checkpointDir;
  if (path.empty() && settings.has("save")) path = defaultCheckpointFolder(manifest());
  if (path.empty()) return;
  checkpoints.folder.emplace(path);
  checkpoints.folder->lock();
}

/// Initialises, loads weights, or resumes.
void Training::begin() {
  info.model = manifest().model;
  info.seed = options.seed.value_or(defaultSeed);
  info.data = asWritten(files.describe());
  info.settings = asWritten(settings.json());
  info.batch = set.batch;
  info.program = program.hash();
  if (!manifest().isForGpu()) info.threads = program.threads();
  for (size_t i = 0; i < set.names.size(); ++i) {
    Json &source = info.sources[set.names[i]];
    source = {{"rows", set.readers[i]->rows()}, {"bytes", files.trainingSizes(set.names[i])}};
    if (int64_t seq = manifest().dataNamed(set.names[i])->seq; seq > 0) source["seq"] = seq;
  }
  if (options.train.resume != "auto" && options.train.resume != "never") return resumeFrom(options.train.resume);
  if (checkpoints.folder && options.train.resume == "never" && !checkpoints.folder->steps().empty())
    fail("{} has checkpoints already and --resume=never forbids to resume them; choose another --checkpoint-dir",
         checkpoints.folder->path());
  if (checkpoints.folder)
    if (auto saved = loadNewest(program, *checkpoints.folder)) {
      if (!options.train.init.empty())
        warn("note: resuming from {}; --init is not read again", checkpoints.folder->path());
      return resumeOwn(*saved);
    }
  moveTo(0, options.train.skipBatches);
  initialise(program, info.seed);
  if (!options.train.init.empty()) loadModelFrom(program, options.train.init, "--init");
}

/// `path` is where this branch begins. The same command, run again, resumes what the first one saved.
void Training::resumeFrom(const std::string &path) {
  std::string from = asWritten(fs::weakly_canonical(fs::absolute(path)).string());
  std::string ownPath =
      checkpoints.folder ? asWritten(fs::weakly_canonical(fs::absolute(checkpoints.folder->path())).string()) : "";
  bool isInOwn = checkpoints.folder && fs::path(from).parent_path() == ownPath;
  if (checkpoints.folder && !checkpoints.folder->steps().empty()) {
    std::optional<CheckpointInfo> saved = loadNewest(program, *checkpoints.folder);
    if (saved->resumedFrom == from || from == ownPath) return resumeOwn(*saved);
    if (!isInOwn)
      fail("{} has the checkpoints of a run that did not begin at {}; choose another --checkpoint-dir, or leave out "
           "--resume to resume that run",
           checkpoints.folder->path(), path);
  }
  std::string checkpoint = path;
  CheckpointInfo saved;
  if (isFolderOfCheckpoints(path, "--resume")) {
    CheckpointFolder other(path);
    saved = *loadNewest(program, other);
    checkpoint = other.pathOf(saved.step);
  } else {
    saved = loadCheckpoint(path, manifest(), stateIn(program));
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
  for (std::string &change : differencesSince(saved, info, path)) output.differences.push_back(std::move(change));
  if (options.seed && *options.seed != saved.seed)
    output.differences.push_back(fmt::format("the run continues with its seed {}; --seed is for new runs", saved.seed));
  info.step = step = started = saved.step;
  moveTo(saved.position, skipped);
  info.seed = saved.seed;
  info.evaluated = saved.evaluated;
  info.resumedFrom = saved.resumedFrom;
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
  plan.perStep = output.perStep(), plan.unit = output.unitName(), plan.flops = stepEntry().flops;
  plan.arenaBytes = manifest().arena.bytes, plan.quiet = options.train.quiet;
  if (options.train.metrics == "-") plan.out = stderr;
  output.progress.emplace(plan);
  output.progress->note(fmt::format("{}: one rank, {}, arena {} bytes, seed {}", manifest().model,
                                    program.describeMachine(), manifest().arena.bytes, info.seed));
  if (step > 0) output.progress->note(fmt::format("resumed at step {}", step));
  if (!checkpoints.folder)
    output.progress->note("nothing will be saved; name a folder with --checkpoint-dir to save checkpoints");
  openEvaluation();
  if (!options.train.profile.empty()) {
    refuseData("--profile", options.train.profile);
    output.openProfile(options.train.profile, program);
  }
  refuseData("--metrics", options.train.metrics);
  // Last: a run that fails before leaves the file as it is.
  output.records.open(options.train.metrics, options.train.tensorboard, step, info.evaluated);
  output.showDifferences(step);
}

/// An output must not overwrite an input.
void Training::refuseData(const char *option, const std::string &path) const {
  if (files.has(path)) fail("{} {}: this is a data file of the run; name another file", option, path);
}

void Training::openEvaluation() {
  if (!manifest().hasEntry("evaluate")) return;
  if (settings.text("evaluate.on", "val") == "train") {
    if (settings.has("evaluate") || hasValidation(manifest(), stepEntry(), files))
      evaluation.emplace(program, files, Split::Train);
    return;
  }
  ValidationSources sources = validationSources(manifest(), stepEntry(), files);
  if (sources.without.empty()) {
    evaluation.emplace(program, files, Split::Val);
  } else if (!sources.with.empty()) {
    output.progress->note(fmt::format("'{}' has no validation data, so nothing is evaluated, although '{}' has some; "
                                      "name some with --data {}.val=PATH",
                                      sources.without[0], sources.with[0], sources.without[0]));
  } else if (settings.has("evaluate")) {
    output.progress->note("there is no validation data: nothing is evaluated; name some with --data val=PATH");
  }
}

void Training::watchDivergence(const StepReport &report) {
  divergence.note(report);
  if (!divergence.isOver()) return;
  output.records.sync();
  throw Error(divergence.describe(step, checkpoints.lastGood), ExitStatus::Diverged);
}

void Training::evaluateNow() {
  PausedProgress pause(*output.progress);
  std::optional<EvaluationResult> result = savingOnError([&] {
    return evaluation->run(settings.integer("evaluate.batches", 0), [&] { return signals.stopRequested() != 0; });
  });
  evaluationStopped = !result;
  if (evaluationStopped) return; // the resumed run does it
  const char *split = settings.text("evaluate.on", "val") == "train" ? "evaluate" : "val";
  output.evaluation(step, split, *result);
  info.evaluated = true;
}

bool Training::isEvaluationDue(int64_t at) const {
  return evaluation && (at == 0 || at == lastStep || isDue("evaluate.every", at));
}

void Training::evaluateIfDue() {
  if (isEvaluationDue(step) && !info.evaluated) evaluateNow();
}

bool Training::isSaveDue(int64_t at) const {
  std::chrono::duration<double, std::ratio<60>> sinceSave = std::chrono::steady_clock::now() - checkpoints.savedAt;
  double minutes = settings.real("save.minutes", 0);
  return signals.saveRequested() || isDue("save.every", at) || (minutes > 0 && sinceSave.count() >= minutes);
}

void Training::save() {
  signals.clearSaveRequest();
  checkpoints.savedAt = std::chrono::steady_clock::now();
  if (!checkpoints.folder || checkpoints.savedStep == step) return;
  PausedProgress pause(*output.progress);
  info.step = step;
  output.records.sync();
  try {
    program.pullState();
    checkpoints.folder->lockAgain();
    checkpoints.last = saveCheckpoint(*checkpoints.folder, info, manifest(), stateIn(program));
    checkpoints.savedStep = step;
    if (divergence.isFinite()) checkpoints.lastGood = checkpoints.last;
    output.progress->note(fmt::format("saved {}", checkpoints.last));
    if (int64_t keep = settings.integer("save.keep", 0); keep > 0) checkpoints.folder->keepNewest(keep, step);
  } catch (const std::exception &e) {
    // The run is worth more than one checkpoint, and the next one may succeed.
    output.progress->say(fmt::format("warning: {}; training continues without this checkpoint", e.what()));
  }
}

/// Checkpoints of later steps are of another branch, or damaged: from here on the folder holds this run only.
void Training::abandonLaterCheckpoints() {
  if (!checkpoints.folder) return;
  if (int count = checkpoints.folder->abandonAfter(step); count > 0)
    output.progress->say(
        fmt::format("note: {} checkpoint{} after step {} now called abandoned-step-*, since this run resumes "
                    "before {}; delete what is not needed",
                    count, count == 1 ? " is" : "s are", step, count == 1 ? "it" : "them"));
}

bool Training::canStartNext() const {
  return program.runsAhead() && started < lastStep && divergence.isFinite() && !isSaveDue(started) &&
         !isEvaluationDue(started) && !signals.stopRequested();
}

void Training::startStep(BatchLoader &loader) {
  savingOnError([&] {
    stepallocator::StepScope scope;
    loader.takeInto(program.at(0));
  });
  auto start = std::chrono::steady_clock::now();
  {
    stepallocator::StepScope scope;
    if (divergence.isLastChance())
      divergence.setSource(program.callWatched("step"));
    else
      program.startCall("step");
  }
  ++started;
  if (output.profile) output.profile->endStep(std::chrono::steady_clock::now() - start);
}

void Training::finishStep() {
  {
    stepallocator::StepScope scope;
    program.finishCall();
  }
  ++step;
  ++info.position;
  info.evaluated = false;
  StepReport report = readReport(program, stepEntry(), step);
  output.step(report);
  watchDivergence(report);
}

ExitStatus Training::stopEarly(int signal) {
  save();
  output.records.sync();
  output.writeProfile(manifest());
  if (!checkpoints.folder) {
    output.progress->say(
        fmt::format("stopped at step {}; nothing was saved, since there is no --checkpoint-dir", step));
    return static_cast<ExitStatus>(128 + signal);
  }
  if (checkpoints.savedStep != step) fail("stopped at step {}, but it could not be saved", step);
  output.progress->say(fmt::format("stopped at step {} and saved {}; run again to resume", step, checkpoints.last));
  return ExitStatus::Stopped;
}

ExitStatus Training::run() {
  if (options.train.auditSteps > 0) {
    output.progress->say(auditPrecision(program, set, info.seed, info.position, options.train.auditSteps));
    return ExitStatus::Done;
  }
  if (step >= lastStep && step > 0) output.progress->note(fmt::format("nothing to do: the run is at step {}", step));
  evaluateIfDue();
  if (step < lastStep) {
    abandonLaterCheckpoints();
    BatchLoader loader(set, info.seed, options.train.overfitBatch ? 0 : info.position, options.train.overfitBatch);
    while (step < lastStep) {
      // First, since a stop makes evaluation and save unnecessary; it may also come before the first step.
      if (int signal = signals.stopRequested()) {
        finishSteps();
        return stopEarly(signal);
      }
      startStep(loader);
      if (step + 1 < started) finishStep();
      if (canStartNext()) continue;
      finishSteps();
      if (signals.stopRequested() && step < lastStep) continue;
      evaluateIfDue();
      if (isSaveDue(step)) save();
    }
  }
  if (evaluationStopped) return stopEarly(signals.stopRequested());
  save();
  output.records.sync();
  bool profiled = output.writeProfile(manifest());
  if (checkpoints.folder && checkpoints.savedStep != step)
    fail("trained to step {}, but that could not be saved in {}, see the warning above; run again when that is fixed",
         step, checkpoints.folder->path());
  return profiled ? ExitStatus::Done : ExitStatus::Fault;
}

ExitStatus runTrain(LoadedProgram &program, const Options &options) { return Training(program, options).run(); }

} // namespace tessera::runtime
