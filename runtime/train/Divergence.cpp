//===- Divergence.cpp - when a run has diverged ---------------------------===//

#include "runtime/train/Divergence.h"

namespace tessera::runtime {

void Divergence::note(const StepReport &report) {
  count = report.finite ? 0 : count + 1;
  if (count == 1) first = fmt::format("step {}, {}", report.step, whatIsNotFinite(report));
}

std::string Divergence::describe(int64_t step, const std::string &lastGood) const {
  std::string before = growth.describe();
  return fmt::format("diverged: not finite {} steps in a row, up to step {}, the first time at {}{}{}; {}; "
                     "lower the learning rate or clip the gradients",
                     longest, step, first, source ? "; what is not finite is first " + source->describe() : "",
                     before.empty() ? "" : "; before that " + before,
                     lastGood.empty() ? "there is no checkpoint" : "the last good checkpoint is " + lastGood);
}

} // namespace tessera::runtime
