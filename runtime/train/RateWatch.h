//===- RateWatch.h - learning rates that train nothing, or backwards ------===//

#ifndef TESSERA_RUNTIME_TRAIN_RATEWATCH_H
#define TESSERA_RUNTIME_TRAIN_RATEWATCH_H

#include "runtime/train/StepReport.h"

namespace tessera::runtime {

/// Looks at the learning rate of each step: a schedule may pass zero, or end before the run. Each warning comes once.
class RateWatch {
public:
  /// `lastStep`: of the run.
  void begin(int64_t lastStep) { last = lastStep; }
  /// Returns a warning at the first negative rate, and after some steps with the rate 0: at the start of a run, or if
  /// at least half of the run would have it.
  std::optional<std::string> note(const StepReport &report);

private:
  /// Schedules that warm up or restart are at 0 for one step.
  static constexpr int64_t longest = 10;

  std::optional<std::string> noteNegative(const StepReport &report);
  std::optional<std::string> noteZero(const StepReport &report);

  int64_t last = 0;
  int64_t zeros = 0; ///< steps in a row with the rate 0
  bool isNegativeTold = false, isZeroTold = false;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_RATEWATCH_H
