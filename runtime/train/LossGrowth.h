//===- LossGrowth.h - whether the learning rate makes the loss explode ----===//

#ifndef TESSERA_RUNTIME_TRAIN_LOSSGROWTH_H
#define TESSERA_RUNTIME_TRAIN_LOSSGROWTH_H

#include "runtime/train/StepReport.h"

namespace tessera::runtime {

/// Compares the total loss with its value at the start of the run. One batch may be far from the mean of all, so the
/// start is the loss of at least 32 rows, or that of the first evaluation if it is larger; and only a loss that stays
/// beyond a multiple of it for several steps in a row has exploded. Losses that start at zero or below have no scale to
/// compare with.
class LossGrowth {
public:
  /// `rowsPerStep`: samples or tokens.
  void begin(double rowsPerStep);
  /// The total loss of an evaluation; of those after the start it takes no notice.
  void noteStart(double total);
  /// Returns a warning once, at the step that completes an explosion.
  std::optional<std::string> note(const StepReport &report);

  /// "the loss grew from 12.8 at the start to 3.1e+37 at step 23"; empty if it did not grow by that multiple.
  std::string describe() const;

private:
  static constexpr double factor = 10;
  static constexpr int longest = 10;

  bool isBeyond(double total) const { return start > 0 && total > factor * start; }

  double start = 0;     ///< the largest of the losses at the start
  int stepsOfStart = 1; ///< so many more steps belong to the start
  int streak = 0;       ///< steps in a row beyond the multiple
  bool isTold = false;
  double most = 0; ///< the largest finite loss
  int64_t mostStep = 0;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_LOSSGROWTH_H
