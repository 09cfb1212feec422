//===- Training.h - a run of the command `train` --------------------------===//

#ifndef TESSERA_RUNTIME_COMMANDS_TRAINING_H
#define TESSERA_RUNTIME_COMMANDS_TRAINING_H

#include "runtime/commands/FilesInUse.h"
#include "runtime/commands/RunRanks.h"
#include "runtime/commands/Session.h"
#include "runtime/data/BatchLoader.h"
#include "runtime/train/BestEvaluation.h"
#include "runtime/train/Divergence.h"
#include "runtime/train/RunOutput.h"
#include "runtime/train/RunRequests.h"
#include "runtime/train/Settings.h"

namespace tessera::runtime {

/// Where checkpoints go, and what this run has saved.
struct RunCheckpoints {
  std::optional<CheckpointFolder> folder; ///< none: nothing is saved
  int64_t savedStep = -1;
  std::string last;     ///< path of the last checkpoint of this run
  std::string lastGood; ///< path of the last one before non-finite values
  std::string problem;  ///< why the last save failed, if it did
};

/// How the run is evaluated.
struct RunEvaluation {
  std::optional<Evaluation> over;     ///< none: there is nothing to evaluate
  std::optional<BestEvaluation> best; ///< none: neither `save.best` nor `stop.patience` is set
  bool wasStopped = false;            ///< by a signal
  bool isNotFiniteTold = false;       ///< a warning said that an evaluation is not finite

  explicit operator bool() const { return over.has_value(); }
};

/// A run: begins or resumes, then takes its steps. All ranks do the same, in the same order; the first one changes the
/// folder of checkpoints, and writes what else the run writes.
class Training {
public:
  Training(LoadedProgram &program, const Options &options, RunRanks &ranks);
  ExitStatus run();

private:
  void findLength();
  void openFolder();
  void begin();
  void resumeFrom(const std::string &path);
  void moveTo(int64_t position, int64_t skipped);
  std::optional<CheckpointInfo> loadOwn();
  void resumeOwn(const CheckpointInfo &saved);
  void resumeAt(const CheckpointInfo &saved, const std::string &path, int64_t skipped);
  void recordData();
  void continueRowOrder(const CheckpointInfo &saved, const std::string &path);
  bool hasSameEvaluation(const CheckpointInfo &saved) const;
  void openOutputs();
  void warnOfData();
  void refuseFilesInUse() const;
  void openEvaluation();
  void openBest();
  /// Runs `read`, which reads data and does not change the state. If it throws on all ranks, the steps before it are
  /// saved first.
  template <typename Read> auto savingOnError(Read read) {
    try {
      return read();
    } catch (const std::exception &error) {
      if (ranks.isShared(error)) saveStarted();
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
  /// Copies the next batch into the arena. Returns the signal if the run is to stop instead, else 0.
  int takeBatch(BatchLoader &loader);
  void startStep();
  void finishStep();
  /// Waits for all steps that were started.
  void finishSteps() {
    while (step < started) finishStep();
  }
  /// Whether the next step can start before the results of the last one are read.
  bool canStartNext() const;
  void watchDivergence(const StepReport &report);
  void warnOfEvaluation(const EvaluationResult &result);
  void evaluateIfDue();
  void evaluateNow();
  bool isEvaluationDue(int64_t at) const;
  /// `isOnlyBest`: no other reason than its evaluation.
  void save(bool isOnlyBest = false);
  /// Whether a checkpoint is due whatever the evaluations say.
  bool isSaveScheduled(int64_t at) const;
  bool isSaveDue(int64_t at) const { return isBest(at) || isSaveScheduled(at); }
  /// Whether the last evaluation was at this step and better than all before, and its checkpoint is wanted.
  bool isBest(int64_t at) const;
  /// Whether so many evaluations were no better than one before that the run ends.
  bool isPatienceOver() const;
  void describeNothingToDo();
  void abandonLaterCheckpoints();
  ExitStatus stopEarly(int signal);

  const Manifest &manifest() const { return program.manifest(); }
  const EntryFunction &stepEntry() const { return manifest().entry("step"); }

  LoadedProgram &program;
  const Options &options;
  RunRanks &ranks;
  Settings settings;
  DataFiles files;
  DataSet set;
  RunCheckpoints checkpoints;
  RunEvaluation evaluation;
  RunOutput output;
  CheckpointInfo info;
  int64_t lastStep = 0, step = 0;
  int64_t started = 0; ///< the last step that was started; `step` is the last whose results were read
  Divergence divergence;
  RunRequests requests;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_COMMANDS_TRAINING_H
