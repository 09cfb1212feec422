//===- RunOutput.h - what a run shows and writes beside its checkpoints ---===//

#ifndef TESSERA_RUNTIME_TRAIN_RUNOUTPUT_H
#define TESSERA_RUNTIME_TRAIN_RUNOUTPUT_H

#include "runtime/train/Ledger.h"
#include "runtime/train/ProfileFile.h"
#include "runtime/train/Progress.h"
#include "runtime/train/RateWatch.h"
#include "runtime/train/RunRecord.h"

namespace tessera::runtime {

/// The lines on the terminal, the metrics and events, the profile.
class RunOutput {
public:
  using Clock = std::chrono::steady_clock;

  std::optional<Progress> progress; ///< from the beginning of the run on
  RunRecord records;
  std::vector<std::string> differences; ///< from the run that this one resumes
  Profile *profile = nullptr;           ///< null: off
  bool hasProfileTable = false;         ///< whether the profile is shown at the end
  Ledger ledger;
  RateWatch rates;

  /// `name` is what a step takes ("tokens"), `perStep` how many of them.
  void setUnit(const char *name, double perStep) { unit = name, unitsPerStep = perStep; }
  const char *unitName() const { return unit; }
  double perStep() const { return unitsPerStep; }

  void openProfile(const std::string &path);
  /// Writes what is left at the end of a run: records, the profile and its table. False if something could not be
  /// written, which is said.
  bool finish(LoadedProgram &program);

  void step(const StepReport &report);
  /// `split`: what was evaluated, "val" or "evaluate".
  void evaluation(int64_t step, const char *split, const EvaluationResult &result);
  /// Shows and records the differences.
  void showDifferences(int64_t step);

private:
  bool showProfileTable(LoadedProgram &program);
  bool writeProfile(const Manifest &manifest);
  double secondsSinceStart() const { return std::chrono::duration<double>(Clock::now() - begun).count(); }

  ProfileFile profileFile;
  bool hasProfileFile = false;
  const char *unit = "samples";
  double unitsPerStep = 0;
  Clock::time_point begun = Clock::now();
};

/// Its lifetime does not count in the throughput that is shown.
class PausedProgress {
public:
  explicit PausedProgress(RunOutput &output) : output(output) {}
  ~PausedProgress() {
    output.progress->leaveOut(RunOutput::Clock::now() - begun);
    output.ledger.skip();
  }
  PausedProgress(const PausedProgress &) = delete;

private:
  RunOutput &output;
  RunOutput::Clock::time_point begun = RunOutput::Clock::now();
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_RUNOUTPUT_H
