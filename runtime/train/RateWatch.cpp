//===- RateWatch.cpp - learning rates that train nothing, or backwards ----===//

#include "runtime/train/RateWatch.h"

namespace tessera::runtime {

std::optional<std::string> RateWatch::note(const StepReport &report) {
  if (!report.hasRate) return std::nullopt;
  std::optional<std::string> warning = noteNegative(report);
  return warning ? warning : noteZero(report);
}

std::optional<std::string> RateWatch::noteNegative(const StepReport &report) {
  if (report.rate >= 0 || isNegativeTold) return std::nullopt;
  isNegativeTold = true;
  return fmt::format("warning: the learning rate is negative, {:.3g}, at step {}: such steps make the loss larger; let "
                     "the schedule end at 0, as in `max(0, …)`, or the run before that step",
                     report.rate, report.step);
}

std::optional<std::string> RateWatch::noteZero(const StepReport &report) {
  zeros = report.rate == 0 ? zeros + 1 : 0;
  bool isLong = zeros >= longest || (zeros > 1 && report.step >= last);
  if (isZeroTold || !isLong) return std::nullopt;
  int64_t first = report.step - zeros + 1;
  bool isStart = first == 1;
  if (!isStart && last - first + 1 < (last + 1) / 2) return std::nullopt;
  isZeroTold = true;
  if (isStart)
    return fmt::format("warning: the learning rate is 0 at steps 1 to {}: nothing is learned; give `optimize` a rate "
                       "above 0",
                       zeros);
  return fmt::format("warning: the learning rate is 0 since step {}, and the run has {} steps: if it stays 0, nothing "
                     "is learned in the {} steps from there on; let the schedule end at step {}, as by `total`, or the "
                     "run at step {}",
                     first, last, last - first + 1, last, first - 1);
}

} // namespace tessera::runtime
