//===- Train.cpp - the command `train` ----------------------------------------===//
//
// The loop, for each step:
//   1. copy the next batch into the arena and start the entry `step`
//   2. read the scalars that a step leaves, record and show them: of the step before, if this one may run meanwhile
//   3. evaluate where due
//   4. save where due
// Everything that a resumed run must know is in the checkpoint: the state, the
// number of consumed batches, the seed.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Error.h"
#include "runtime/base/SmallBlocks.h"
#include "runtime/commands/Session.h"
#include "runtime/data/BatchLoader.h"
#include "runtime/train/Changes.h"
#include "runtime/train/PrecisionAudit.h"
#include "runtime/train/ProfileFile.h"
#include "runtime/train/Progress.h"
#include "runtime/train/RunRecord.h"
#include "runtime/train/Settings.h"
#include "runtime/train/Signals.h"
#include "runtime/train/StepReport.h"

#include <chrono>
#include <cmath>
#include <filesystem>

namespace fs = std::filesystem;

namespace tessera::runtime {

/// After so many steps in a row that are not finite a retry is useless.
static constexpr int longestDivergence = 10;

namespace {
/// Takes its lifetime out of the speed that is shown.
class NotStepping {
public:
  explicit NotStepping(Progress &progress) : progress(progress) {}
  ~NotStepping() { progress.leaveOut(std::chrono::steady_clock::now() - begun); }
  NotStepping(const NotStepping &) = delete;

private:
  Progress &progress;
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
};

class Training {
public:
  Training(Program &program, const Options &options);
  ExitCode run();

private:
  void findLength();
  void openFolder();
  void begin();
  void resumeFrom(const std::string &path);
  void moveTo(int64_t position, int64_t skipped);
  void goOnFromOwn(const CheckpointInfo &saved);
  void goOnFrom(const CheckpointInfo &saved, const std::string &path, int64_t skipped);
  void openOutputs();
  void openProfile();
  void refuseData(const char *option, const std::string &path) const;
  void openEvaluation();
  /// Runs what reads data and leaves the state alone. An error of it ends the run, but loses none of the steps before.
  template <typename Read> auto keepingSteps(Read read) {
    try {
      return read();
    } catch (const std::exception &) {
      keepStarted();
      throw;
    }
  }
  /// Saves up to the last step that was started, if that can be.
  void keepStarted() {
    try {
      finishSteps();
      save();
    } catch (const std::exception &error) {
      progress->say(fmt::format("warning: {}", error.what())); // beside what the run ends for
    }
  }
  void startStep(BatchLoader &loader);
  void finishStep();
  /// Has what was started be known.
  void finishSteps() {
    while (step < started) finishStep();
  }
  /// Whether the next step may be started before the last one that was is known.
  bool mayRunAhead() const;
  void record(const StepReport &report);
  void watchDivergence(const StepReport &report);
  void evaluateIfDue();
  void evaluateNow();
  /// Whether what is done every so many steps (a setting) is done behind step `at`.
  bool isDue(const char *every, int64_t at) const {
    int64_t steps = settings.integer(every, 0);
    return steps > 0 && at % steps == 0;
  }
  bool isEvaluationDue(int64_t at) const;
  void save();
  bool isSaveDue(int64_t at) const;
  void abandonOtherBranch();
  bool writeProfile();
  ExitCode stopEarly(int signal);
  double secondsSinceStart() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  }

  Program &program;
  const Options &options;
  const Manifest &manifest;
  const EntryFunction &entry;
  Settings settings;
  DataFiles files;
  DataSet set;
  std::optional<CheckpointFolder> folder;
  std::optional<Evaluation> evaluation;
  std::optional<Progress> progress;
  RunRecord records;
  Profile *profile = nullptr; ///< null: off
  ProfileFile profileFile;
  CheckpointInfo info;
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now(), savedAt = begun;
  int64_t lastStep = 0, step = 0, savedStep = -1;
  int64_t started = 0; ///< the last step that was started; `step` is the last that is known
  int notFinite = 0;
  std::string firstNotFinite;
  std::optional<NotFinite> source; ///< of what is not finite, once that was looked for
  bool gaveUp = false;             ///< an evaluation, to stop
  double unitsPerStep = 0;
  const char *unit = "samples";
  std::string lastGood, lastSaved;  ///< checkpoints: before what is not finite, and of this run
  std::vector<std::string> changes; ///< since the checkpoint: said and recorded
  Signals signals;
};
} // namespace

Training::Training(Program &program, const Options &options)
    : program(program), options(options), manifest(program.manifest()), entry(manifest.entry("step")),
      settings(manifest.settings), files(manifest.data, options.data) {
  for (const std::string &assignment : options.set) settings.set(assignment);
  findLength();
  set = openDataSet(manifest, entry, files, Split::Train);
  program.start(options.threads, options.bind);
  openFolder();
  begin();
  openOutputs();
}

void Training::findLength() {
  lastStep = options.steps.value_or(settings.integer("stop.after", 0));
  if (lastStep < 0 || (lastStep == 0 && !options.steps))
    failUsage("the model file does not say when to stop; give --steps N");
}

void Training::openFolder() {
  std::string path = options.checkpointDir;
  if (path.empty() && settings.has("save")) path = defaultCheckpointFolder(manifest);
  if (path.empty()) return;
  folder.emplace(path);
  folder->lock();
}

/// Initialises, loads weights, or resumes.
void Training::begin() {
  info.model = manifest.model;
  info.seed = options.seed.value_or(defaultSeed);
  info.data = asWritten(files.describe());
  info.settings = asWritten(settings.json());
  info.batch = set.batch;
  info.program = program.hash();
  if (!manifest.isForGpu()) info.threads = program.threads();
  for (size_t i = 0; i < set.names.size(); ++i) {
    Json &source = info.sources[set.names[i]];
    source = {{"rows", set.readers[i]->rows()}, {"bytes", files.trainingSizes(set.names[i])}};
    if (int64_t seq = manifest.dataNamed(set.names[i])->seq; seq > 0) source["seq"] = seq;
  }
  if (options.resume != "auto" && options.resume != "never") return resumeFrom(options.resume);
  if (folder && options.resume == "never" && !folder->steps().empty())
    fail("{} has checkpoints already and --resume=never forbids to go on from them; choose another --checkpoint-dir",
         folder->path());
  if (folder)
    if (auto saved = loadNewest(program, *folder)) {
      if (!options.init.empty()) warn("note: going on from {}; --init is not read again", folder->path());
      return goOnFromOwn(*saved);
    }
  moveTo(0, options.skipBatches);
  initialise(program, info.seed);
  if (!options.init.empty()) loadModelFrom(program, options.init, "--init");
}

/// `path` is where this branch begins; the same command run again goes on from what the first one saved.
void Training::resumeFrom(const std::string &path) {
  std::string from = asWritten(fs::weakly_canonical(fs::absolute(path)).string());
  std::string own = folder ? asWritten(fs::weakly_canonical(fs::absolute(folder->path())).string()) : "";
  bool isInOwn = folder && fs::path(from).parent_path() == own;
  if (folder && !folder->steps().empty()) {
    std::optional<CheckpointInfo> saved = loadNewest(program, *folder);
    if (saved->resumedFrom == from || from == own) return goOnFromOwn(*saved);
    if (!isInOwn)
      fail("{} has the checkpoints of a run that did not begin at {}; choose another --checkpoint-dir, or leave out "
           "--resume to go on from them",
           folder->path(), path);
  }
  std::string checkpoint = path;
  CheckpointInfo saved;
  if (isFolderOfCheckpoints(path, "--resume")) {
    CheckpointFolder other(path);
    saved = *loadNewest(program, other);
    checkpoint = other.pathOf(saved.step);
  } else {
    saved = loadCheckpoint(path, manifest, stateIn(program));
    program.pushState();
  }
  saved.resumedFrom = from;
  goOnFrom(saved, checkpoint, options.skipBatches);
  if (isInOwn) savedStep = step;
}

/// Goes on from the newest checkpoint of the own folder: of a batch to skip the first run has taken care.
void Training::goOnFromOwn(const CheckpointInfo &saved) {
  if (options.skipBatches > 0)
    changes.push_back(
        "--skip-batches is for new runs and for --resume PATH, so that running again does not skip again");
  goOnFrom(saved, folder->pathOf(saved.step), 0);
  savedStep = step;
}

/// Sets the data position, and checks that every row up to the last step has a number.
void Training::moveTo(int64_t position, int64_t skipped) {
  // The loader is two batches ahead.
  int64_t end = 0, left = std::max<int64_t>(0, lastStep - step) + 3;
  if (__builtin_add_overflow(position, skipped, &info.position) || __builtin_add_overflow(info.position, left, &end) ||
      __builtin_mul_overflow(end, set.batch, &end))
    fail("the data position, {} batches and {} skipped, is too far for {} rows a batch up to step {}", position,
         skipped, set.batch, lastStep);
}

/// Takes over where the checkpoint at `path` stands.
void Training::goOnFrom(const CheckpointInfo &saved, const std::string &path, int64_t skipped) {
  for (std::string &change : changesSince(saved, info, path)) changes.push_back(std::move(change));
  if (options.seed && *options.seed != saved.seed)
    changes.push_back(fmt::format("the run keeps its seed {}; --seed is for new runs", saved.seed));
  info.step = step = started = saved.step;
  moveTo(saved.position, skipped);
  info.seed = saved.seed;
  info.evaluated = saved.evaluated;
  info.resumedFrom = saved.resumedFrom;
  lastGood = lastSaved = path;
  int64_t counted = program.readCounter("step", step);
  if (counted != step)
    fail("the checkpoint of step {} holds the state of step {}; it was put together by hand", step, counted);
}

void Training::openOutputs() {
  const DataSpec *first = set.names.empty() ? nullptr : manifest.dataNamed(set.names[0]);
  bool tokens = first && infoOf(first->format).isSequence();
  unit = tokens ? "tokens" : "samples";
  unitsPerStep = static_cast<double>(set.batch) * (tokens ? first->seq : 1);

  Progress::Plan plan;
  plan.firstStep = step, plan.lastStep = lastStep;
  plan.logEvery = options.logEvery;
  plan.perStep = unitsPerStep, plan.unit = unit, plan.flops = entry.flops;
  plan.arenaBytes = manifest.arenaBytes, plan.quiet = options.quiet;
  if (options.metrics == "-") plan.out = stderr;
  progress.emplace(plan);
  progress->note(fmt::format("{}: one rank, {}, arena {} bytes, seed {}", manifest.model, program.describeMachine(),
                             manifest.arenaBytes, info.seed));
  if (step > 0) progress->note(fmt::format("resumed at step {}", step));
  if (!folder) progress->note("nothing will be saved; name a folder with --checkpoint-dir to keep what is learned");
  openEvaluation();
  openProfile();
  refuseData("--metrics", options.metrics);
  // Last: a run that fails before leaves the file as it is.
  records.open(options.metrics, options.tensorboard, step, info.evaluated);
  for (const std::string &change : changes) {
    progress->say("note: " + change);
    records.announce({{"step", step}, {"split", "note"}, {"note", change}});
  }
}

/// What is read must not be written over.
void Training::refuseData(const char *option, const std::string &path) const {
  if (files.has(path)) fail("{} {}: this is a data file of the run; name another file", option, path);
}

void Training::openProfile() {
  if (options.profile.empty()) return;
  refuseData("--profile", options.profile);
  profileFile.open(options.profile);
  profile = &program.startProfile();
}

void Training::openEvaluation() {
  if (!manifest.hasEntry("evaluate")) return;
  if (settings.text("evaluate.on", "val") == "train") {
    if (settings.has("evaluate") || hasValidation(manifest, entry, files))
      evaluation.emplace(program, files, Split::Train);
    return;
  }
  ValidationSources sources = validationSources(manifest, entry, files);
  if (sources.without.empty()) {
    evaluation.emplace(program, files, Split::Val);
  } else if (!sources.with.empty()) {
    progress->note(fmt::format("'{}' has no validation data, so nothing is evaluated, though that of '{}' is held out; "
                               "name some with --data {}.val=PATH",
                               sources.without[0], sources.with[0], sources.without[0]));
  } else if (settings.has("evaluate")) {
    progress->note("there is no validation data: nothing is evaluated; name some with --data val=PATH");
  }
}

void Training::record(const StepReport &report) {
  progress->step(report);
  if (!records) return;
  Json json = recordOf(report);
  json[unit] = static_cast<int64_t>(unitsPerStep * static_cast<double>(step));
  json["seconds"] = secondsSinceStart();
  records.write(json);
}

void Training::watchDivergence(const StepReport &report) {
  notFinite = report.finite ? 0 : notFinite + 1;
  if (notFinite == 1) firstNotFinite = fmt::format("step {}, {}", step, whatIsNotFinite(report));
  if (notFinite < longestDivergence) return;
  records.sync();
  throw Error(fmt::format("diverged: not finite {} steps in a row, up to step {}, the first time at {}{}; {}; "
                          "lower the learning rate or clip the gradients",
                          longestDivergence, step, firstNotFinite,
                          source ? "; what is not finite is first " + source->describe() : "",
                          lastGood.empty() ? "there is no checkpoint" : "the last good checkpoint is " + lastGood),
              ExitCode::Diverged);
}

void Training::evaluateNow() {
  NotStepping pause(*progress);
  std::optional<EvaluationResult> result = keepingSteps([&] {
    return evaluation->run(settings.integer("evaluate.batches", 0), [&] { return signals.stopRequested() != 0; });
  });
  gaveUp = !result;
  if (gaveUp) return; // the resumed run does it
  const char *split = settings.text("evaluate.on", "val") == "train" ? "evaluate" : "val";
  progress->evaluation(step, split, *result);
  records.write({{"step", step},
                 {"split", split},
                 {"losses", namedNumbers(result->losses)},
                 {"metrics", namedNumbers(result->metrics)},
                 {"total", jsonNumber(result->total)},
                 {"rows", result->rows},
                 {"seconds", secondsSinceStart()}});
  info.evaluated = true;
}

bool Training::isEvaluationDue(int64_t at) const {
  return evaluation && (at == 0 || at == lastStep || isDue("evaluate.every", at));
}

void Training::evaluateIfDue() {
  if (isEvaluationDue(step) && !info.evaluated) evaluateNow();
}

bool Training::isSaveDue(int64_t at) const {
  std::chrono::duration<double, std::ratio<60>> sinceSave = std::chrono::steady_clock::now() - savedAt;
  double minutes = settings.real("save.minutes", 0);
  return signals.saveRequested() || isDue("save.every", at) || (minutes > 0 && sinceSave.count() >= minutes);
}

void Training::save() {
  signals.clearSaveRequest();
  savedAt = std::chrono::steady_clock::now();
  if (!folder || savedStep == step) return;
  NotStepping pause(*progress);
  info.step = step;
  records.sync();
  try {
    program.pullState();
    folder->lockAgain();
    lastSaved = saveCheckpoint(*folder, info, manifest, stateIn(program));
    savedStep = step;
    if (notFinite == 0) lastGood = lastSaved;
    progress->note(fmt::format("saved {}", lastSaved));
    if (int64_t keep = settings.integer("save.keep", 0); keep > 0) folder->keepNewest(keep, step);
  } catch (const std::exception &e) {
    // Whatever the reason, what is learned is worth more than this checkpoint: the next one may succeed.
    progress->say(fmt::format("warning: {}; training goes on without this checkpoint", e.what()));
  }
}

/// From here on the folder holds this run only: what lies behind its step is of another branch, or damaged.
void Training::abandonOtherBranch() {
  if (!folder) return;
  if (int count = folder->abandonAfter(step); count > 0)
    progress->say(
        fmt::format("note: {} checkpoint{} behind step {} now called abandoned-step-*, since this run goes on "
                    "before {}; delete what is not needed",
                    count, count == 1 ? " is" : "s are", step, count == 1 ? "it" : "them"));
}

bool Training::mayRunAhead() const {
  return program.runsAhead() && started < lastStep && notFinite == 0 && !isSaveDue(started) &&
         !isEvaluationDue(started) && !signals.stopRequested();
}

void Training::startStep(BatchLoader &loader) {
  keepingSteps([&] {
    smallblocks::StepScope scope;
    loader.takeInto(program.at(0));
  });
  auto start = std::chrono::steady_clock::now();
  {
    smallblocks::StepScope scope;
    // The step that would be the last one tells where the first number that is not finite comes from.
    if (notFinite + 1 == longestDivergence)
      source = program.callWatched("step");
    else
      program.startCall("step");
  }
  ++started;
  if (profile) profile->endStep(std::chrono::steady_clock::now() - start);
}

void Training::finishStep() {
  {
    smallblocks::StepScope scope;
    program.finishCall();
  }
  ++step;
  ++info.position;
  info.evaluated = false;
  StepReport report = readReport(program, entry, step);
  record(report);
  watchDivergence(report);
}

/// Behind the last save: of the two the profile is the one that can be made again.
bool Training::writeProfile() { return !profile || profileFile.write(dumpJson(profile->describe(manifest)) + "\n"); }

ExitCode Training::stopEarly(int signal) {
  save();
  records.sync();
  writeProfile();
  if (!folder) {
    progress->say(fmt::format("stopped at step {}; nothing was saved, since there is no --checkpoint-dir", step));
    return static_cast<ExitCode>(128 + signal);
  }
  if (savedStep != step) fail("stopped at step {}, but it could not be saved", step);
  progress->say(fmt::format("stopped at step {} and saved {}; run again to go on", step, lastSaved));
  return ExitCode::Stopped;
}

ExitCode Training::run() {
  if (options.auditSteps > 0) {
    progress->say(auditPrecision(program, set, info.seed, info.position, options.auditSteps));
    return ExitCode::Done;
  }
  if (step >= lastStep && step > 0) progress->note(fmt::format("nothing to do: the run is at step {}", step));
  evaluateIfDue();
  if (step < lastStep) {
    abandonOtherBranch();
    BatchLoader loader(set, info.seed, options.overfitBatch ? 0 : info.position, options.overfitBatch);
    while (step < lastStep) {
      // Before the evaluation and the save that a stop makes needless, and before the first step.
      if (int signal = signals.stopRequested()) {
        finishSteps();
        return stopEarly(signal);
      }
      startStep(loader);
      if (step + 1 < started) finishStep();
      if (mayRunAhead()) continue;
      finishSteps();
      if (signals.stopRequested() && step < lastStep) continue;
      evaluateIfDue();
      if (isSaveDue(step)) save();
    }
  }
  if (gaveUp) return stopEarly(signals.stopRequested());
  save();
  records.sync();
  bool profiled = writeProfile();
  if (folder && savedStep != step)
    fail("trained to step {}, but that could not be saved in {}, see the warning above; run again when that is mended",
         step, folder->path());
  return profiled ? ExitCode::Done : ExitCode::Fault;
}

ExitCode runTrain(Program &program, const Options &options) { return Training(program, options).run(); }

} // namespace tessera::runtime
