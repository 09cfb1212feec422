//===- Divergence.cpp - when a run has diverged ---------------------------===//

#include "runtime/train/Divergence.h"

#include <cmath>

namespace tessera::runtime {

void Divergence::note(const StepReport &report) {
  count = report.finite ? 0 : count + 1;
  if (count == 1) first = report;
}

/// A large learning rate makes the loss grow before it is not finite. It has had no effect on the first step, and a
/// small one hardly on any.
std::string Divergence::advice() const {
  static constexpr double harmless = 1e-5;
  const char *rate = "lower the learning rate or clip the gradients";
  if (first.step == 1) return fmt::format("no step before was finite: {}", formulaAdvice);
  if (!growth.describe().empty())
    return first.hasRate && first.rate < 0
               ? fmt::format("the learning rate was {:.3g}: let it stay above 0", first.rate)
               : rate;
  if (first.hasRate && std::abs(first.rate) < harmless)
    return fmt::format("the learning rate, {:.3g}, is hardly the reason: {}", first.rate, formulaAdvice);
  return fmt::format("{}; or, since the loss did not grow before, {}", rate, formulaAdvice);
}

std::string Divergence::describe(int64_t step, const std::string &lastGood) const {
  std::string before = growth.describe();
  return fmt::format("diverged: not finite {} steps in a row, up to step {}, the first time at step {}, {}{}{}; {}; {}",
                     longest, step, first.step, whatIsNotFinite(first),
                     source ? "; what is not finite is first " + source->describe() : "",
                     before.empty() ? "" : "; before that " + before,
                     lastGood.empty() ? "there is no checkpoint" : "the last good checkpoint is " + lastGood, advice());
}

} // namespace tessera::runtime
