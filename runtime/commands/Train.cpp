//===- Train.cpp - the command `train` ------------------------------------===//
//
// The loop, for each step:
//   1. copy the next batch into the arena, agree with other ranks whether the run goes on, and start the entry `step`
//   2. read, record and show the scalars of a step: of the previous one, if this one can run meanwhile
//   3. evaluate if due
//   4. save if due
// The checkpoint holds all that a resumed run needs: the state, the number of
// consumed batches, the seed.
//
//===----------------------------------------------------------------------===//

#include "runtime/commands/Training.h"
#include "runtime/machine/StepAllocator.h"
#include "runtime/train/PrecisionAudit.h"
#include "runtime/train/ProfiledRanks.h"
#include "runtime/train/Replicas.h"

#include <chrono>

namespace tessera::runtime {

void Training::watchDivergence(const StepReport &report) {
  divergence.note(report);
  if (auto warning = divergence.lossGrowth().note(report)) output.progress->say(*warning);
  if (!divergence.isOver()) return;
  output.records.sync();
  // The losses are the same on all ranks. What one of them saw of the source may differ.
  ranks.together("the end of a run that diverged",
                 [&] { throw Error(divergence.describe(step, checkpoints.lastGood), ExitStatus::Diverged); });
}

/// Says once that an evaluation is not finite, unless the losses of the steps tell that the run diverges.
void Training::warnOfEvaluation(const EvaluationResult &result) {
  std::string loss = lossThatIsNotFinite(result.losses), goal = settings.text("save.best", "");
  bool lacksBest = evaluation.best && evaluation.best->step() < 0;
  bool isKnown = !divergence.isFinite() || !divergence.lossGrowth().describe().empty();
  if ((loss.empty() && !lacksBest) || evaluation.isNotFiniteTold || isKnown) return;
  evaluation.isNotFiniteTold = true;
  output.progress->say(fmt::format("warning: in the evaluation at step {}, {} is not finite: {}{}", step,
                                   loss.empty() ? fmt::format("`{}`, which says what is best,", goal)
                                                : fmt::format("the loss '{}'", loss),
                                   formulaAdvice, evaluation.best ? "; such an evaluation is never the best one" : ""));
}

void Training::evaluateNow() {
  PausedProgress pause(output);
  std::optional<EvaluationResult> result = savingOnError([&] {
    return evaluation.over->run(settings.integer("evaluate.batches", 0), [&](const std::function<void()> &read) {
      return requests.next("a batch of the evaluation", read) == 0;
    });
  });
  evaluation.wasStopped = !result;
  if (evaluation.wasStopped) return; // the resumed run does it
  const char *split = settings.text("evaluate.on", "val") == "train" ? "evaluate" : "val";
  output.evaluation(step, split, *result);
  divergence.lossGrowth().noteStart(result->total);
  info.evaluated = true;
  bool isBetter = evaluation.best && evaluation.best->note(step, *result);
  if (isBetter && checkpoints.savedStep == step) evaluation.best->noteSaved(/*isOnlyBest=*/false);
  warnOfEvaluation(*result);
}

bool Training::isEvaluationDue(int64_t at) const {
  return evaluation && (at == 0 || at == lastStep || settings.isDue("evaluate.every", at));
}

void Training::evaluateIfDue() {
  if (isEvaluationDue(step) && !info.evaluated) evaluateNow();
}

bool Training::isPatienceOver() const {
  int64_t patience = settings.integer("stop.patience", 0);
  return patience > 0 && evaluation.best && evaluation.best->evaluationsSince() >= patience;
}

bool Training::isSaveScheduled(int64_t at) const {
  return requests.save() || (at > 0 && settings.isDue("save.every", at)) || at == lastStep;
}

static bool savesBest(const Settings &settings) { return !settings.text("save.best", "").empty(); }

bool Training::isBest(int64_t at) const {
  return savesBest(settings) && evaluation.best && evaluation.best->step() == at;
}

void Training::save(bool isOnlyBest) {
  requests.saving();
  if (!checkpoints.folder || checkpoints.savedStep == step) return;
  PausedProgress pause(output);
  RunRanks::LongWork work(ranks);
  info.step = step;
  // As it will be once this checkpoint is written: until then the previous best one stays.
  std::optional<BestEvaluation> best = evaluation.best;
  if (best && best->step() == step) best->noteSaved(isOnlyBest);
  if (best) info.best = best->record();
  output.records.sync();
  try {
    program.pullState();
    ranks.onFirst("the lock of the checkpoint folder", [&] { checkpoints.folder->lockAgain(); });
    checkpoints.last = saveCheckpoint(*checkpoints.folder, info, manifest(), stateIn(program), ranks.world());
    checkpoints.savedStep = step;
    if (divergence.isFinite()) checkpoints.lastGood = checkpoints.last;
    output.progress->note(fmt::format("saved {}", checkpoints.last));
    evaluation.best = best;
    int64_t superseded = best ? evaluation.best->takeSuperseded() : -1;
    ranks.onFirst("older checkpoints", [&] {
      if (superseded >= 0 && superseded != step) checkpoints.folder->remove(superseded);
      if (int64_t keep = settings.integer("save.keep", 0); keep > 0)
        checkpoints.folder->keepNewest(keep, step, best && savesBest(settings) ? best->savedStep() : -1);
    });
  } catch (const std::exception &e) {
    if (!ranks.isShared(e)) throw;
    // The run is worth more than one checkpoint, and the next one may succeed.
    checkpoints.problem = e.what();
    output.progress->say(fmt::format("warning: {}; training continues without this checkpoint", e.what()));
  }
}

/// Checkpoints of later steps are of another branch, or damaged: from here on the folder holds this run only.
void Training::abandonLaterCheckpoints() {
  if (!checkpoints.folder) return;
  int count = 0;
  ranks.onFirst("checkpoints of later steps", [&] { count = checkpoints.folder->abandonAfter(step); });
  if (count > 0)
    output.progress->say(fmt::format(
        "note: {} now called abandoned-step-*, since this run resumes at step {}; delete what is not needed",
        count == 1 ? "the checkpoint of a later step is" : fmt::format("the checkpoints of {} later steps are", count),
        step));
}

static bool isReplicaCheckDue(const TrainOptions &options, const RunRanks &ranks, int64_t step) {
  return ranks.count() > 1 && options.checkReplicas > 0 && step % options.checkReplicas == 0;
}

bool Training::canStartNext() const {
  return program.runsAhead() && started < lastStep && divergence.isFinite() && !isSaveDue(started) &&
         !isEvaluationDue(started) && !isReplicaCheckDue(options.train, ranks, started) && !requests.stop();
}

int Training::takeBatch(BatchLoader &loader) {
  return savingOnError([&] {
    return requests.next("the next batch", [&] {
      stepallocator::StepScope scope;
      loader.takeInto(program.at(0));
    });
  });
}

void Training::startStep() {
  if (output.profile) output.profile->beginStep();
  auto start = std::chrono::steady_clock::now();
  {
    stepallocator::StepScope scope;
    if (divergence.isLastChance())
      divergence.setSource(program.callWatched("step"));
    else
      program.startCall("step");
  }
  ++started;
  if (!program.runsAhead()) output.ledger.ran(std::chrono::steady_clock::now() - start);
  if (output.profile) output.profile->endStep(std::chrono::steady_clock::now() - start);
}

void Training::finishStep() {
  {
    stepallocator::StepScope scope;
    program.finishCall();
  }
  ++step;
  ++info.position;
  output.ledger.step();
  info.evaluated = false;
  StepReport report = readReport(program, stepEntry(), step);
  output.step(report);
  watchDivergence(report);
  if (isReplicaCheckDue(options.train, ranks, step)) {
    program.pullState();
    checkReplicas(manifest(), ranks.mesh(), ranks.world(), stateIn(program));
  }
}

/// A collective. False if something could not be written.
static bool finishOutput(RunOutput &output, LoadedProgram &program, RunRanks &ranks) {
  const RanksSpec &spec = program.manifest().target.ranks;
  if (output.profile && ranks.count() > 1)
    output.profile->setRanks(profiledRanks(*output.profile, spec, program.arenaBytes(), ranks.world()));
  return output.finish(program);
}

ExitStatus Training::stopEarly(int signal) {
  save();
  RunRanks::LongWork end(ranks);
  finishOutput(output, program, ranks); // the status is that of a stop: the run is to be resumed
  requests.finish();
  if (!checkpoints.folder) {
    output.progress->say(
        fmt::format("stopped at step {}; nothing was saved, since there is no --checkpoint-dir", step));
    return static_cast<ExitStatus>(128 + signal);
  }
  ranks.together("the end of a run that was stopped", [&] {
    if (checkpoints.savedStep != step)
      fail("stopped at step {}, but it could not be saved: {}", step, checkpoints.problem);
  });
  output.progress->say(fmt::format("stopped at step {} and saved {}; run again to resume", step, checkpoints.last));
  return ExitStatus::Stopped;
}

/// The user expected a run: what to do for one.
void Training::describeNothingToDo() {
  std::string run = checkpoints.folder ? "the run in " + checkpoints.folder->path() : "the run";
  std::string state = fmt::format("is at step {}, its last", step), on = "--steps N with a larger N trains on";
  if (step > lastStep) state = fmt::format("is at step {}, beyond its last step {}", step, lastStep);
  if (step < lastStep) {
    state = fmt::format("stopped early at step {}: {}", step, evaluation.best->describe());
    on = "--set stop.patience=0 trains on";
  }
  if (output.differences.empty())
    return output.progress->note(
        fmt::format("nothing to do: {} {}; {}, another --checkpoint-dir starts a new run", run, state, on));
  // Shown even if quiet: what the user changed has had no effect.
  output.progress->say(fmt::format("nothing to do: {} {}; the changes since then, in the notes above, have had no "
                                   "effect; another --checkpoint-dir trains from the start with them, {} from here",
                                   run, state, on));
}

ExitStatus Training::run() {
  if (options.train.auditSteps > 0) {
    RunRanks::LongWork work(ranks); // each rank compares its own values
    ranks.together("the audit", [&] { requireShadow(manifest()); });
    std::string audit = auditPrecision(program, set, info.seed, info.position, options.train.auditSteps);
    return output.progress->sayResult(audit, "the audit") ? ExitStatus::Done : ExitStatus::Fault;
  }
  bool isOver = step > 0 && (step >= lastStep || isPatienceOver());
  if (isOver) describeNothingToDo();
  evaluateIfDue();
  if (step < lastStep && !isOver) {
    abandonLaterCheckpoints();
    if (isBest(step)) save(/*isOnlyBest=*/!isSaveScheduled(step));
    BatchLoader loader(set, info.seed, options.train.overfitBatch ? 0 : info.position, options.train.overfitBatch);
    while (step < lastStep && !isPatienceOver()) {
      // First, since a stop makes evaluation and save unnecessary; it may also come before the first step.
      if (int signal = takeBatch(loader)) {
        finishSteps();
        return stopEarly(signal);
      }
      startStep();
      if (step + 1 < started) finishStep();
      if (canStartNext()) continue;
      finishSteps();
      if (requests.stop() && step < lastStep) continue;
      evaluateIfDue();
      if (isSaveDue(step)) save(/*isOnlyBest=*/!isSaveScheduled(step));
    }
  }
  if (evaluation.wasStopped) return stopEarly(requests.stop());
  save();
  if (!isOver && step < lastStep)
    output.progress->say(fmt::format("stopped early at step {}: {}", step, evaluation.best->describe()));
  RunRanks::LongWork end(ranks);
  bool isWritten = finishOutput(output, program, ranks);
  requests.finish();
  ranks.together("the end of the run", [&] {
    if (checkpoints.folder && checkpoints.savedStep != step)
      fail("trained to step {}, but that could not be saved in {}: {}; run again when that is fixed", step,
           checkpoints.folder->path(), checkpoints.problem);
  });
  return isWritten ? ExitStatus::Done : ExitStatus::Fault;
}

ExitStatus runTrain(LoadedProgram &program, const Options &options, RunRanks &ranks) {
  return Training(program, options, ranks).run();
}

} // namespace tessera::runtime
