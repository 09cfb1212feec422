//===- Progress.h - shows the progress of a run ---------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_PROGRESS_H
#define TESSERA_RUNTIME_TRAIN_PROGRESS_H

#include "runtime/train/StepReport.h"

#include <chrono>
#include <cstdio>
#include <optional>

namespace tessera::runtime {

/// On a terminal one line that is overwritten, elsewhere a line every few steps.
class Progress {
public:
  struct Plan {
    int64_t firstStep = 0, lastStep = 0;
    int64_t logEvery = 0; ///< steps between plain lines; 0: about a hundred lines a run, at least one every ten seconds
    double perStep = 0;   ///< tokens or samples of a step
    const char *unit = "samples";
    double flops = 0; ///< of one step
    int64_t arenaBytes = 0;
    bool quiet = false;
    bool isForwarded = false; ///< a job launcher passes lines on: its terminal may be a file
    std::FILE *out = stdout;
  };
  explicit Progress(Plan plan);
  ~Progress();

  void step(const StepReport &report);
  /// Excludes time from throughput and ETA.
  void leaveOut(std::chrono::steady_clock::duration time) { lastShown += time; }
  void evaluation(int64_t step, const char *split, const EvaluationResult &result);
  /// A line that is not overwritten; shown even if quiet.
  void say(const std::string &line);
  /// The same for a result that the user asked for. Returns whether it was written; if not, says so on standard error.
  bool sayResult(const std::string &line, const char *what);
  /// A line that is not overwritten; not shown if quiet.
  void note(const std::string &line);

private:
  using Clock = std::chrono::steady_clock;
  std::string describe(const StepReport &report, double seconds) const;
  bool isDue(int64_t step, double passed) const;
  void clearLine();
  bool print(const std::string &text);

  Plan plan;
  bool terminal;
  bool lineShown = false;
  Clock::time_point begun, lastShown;
  int64_t lastShownStep;
  double smoothed = 0; ///< seconds a step
};

/// "ce 3.1416, aux 0.01".
std::string formatValues(const NamedValues &values);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_PROGRESS_H
