//===- LossGrowth.cpp - whether the learning rate makes the loss explode --===//

#include "runtime/train/LossGrowth.h"

#include <algorithm>
#include <cmath>

namespace tessera::runtime {

void LossGrowth::begin(double rowsPerStep) {
  constexpr double rowsOfStart = 32;
  stepsOfStart = static_cast<int>(std::ceil(rowsOfStart / std::clamp(rowsPerStep, 1.0, rowsOfStart)));
}

void LossGrowth::noteStart(double total) {
  if (stepsOfStart == 0 || !std::isfinite(total)) return;
  start = std::max(start, total);
  stepsOfStart = 1; // the mean of many rows
}

std::optional<std::string> LossGrowth::note(const StepReport &report) {
  if (!std::isfinite(report.total)) return std::nullopt; // counted by Divergence
  if (stepsOfStart > 0) {
    --stepsOfStart;
    start = std::max(start, report.total);
    return std::nullopt;
  }
  if (report.total > most) most = report.total, mostStep = report.step;
  streak = isBeyond(report.total) ? streak + 1 : 0;
  if (streak < longest || isTold) return std::nullopt;
  isTold = true;
  std::string rate = report.hasRate ? fmt::format(" ({:.3g})", report.rate) : "";
  std::string reason = report.hasRate && report.rate < 0
                           ? fmt::format("the learning rate{} is negative; let it stay above 0", rate)
                           : fmt::format("the learning rate{} is probably too large; try a tenth of it, or clip the "
                                         "gradients with clip(norm = 1)",
                                         rate);
  return fmt::format("warning: the loss was {:.4g} at the start and is {:.4g} at step {}, more than {:g} times as much "
                     "for {} steps in a row: {}",
                     start, report.total, report.step, factor, longest, reason);
}

std::string LossGrowth::describe() const {
  if (!isBeyond(most)) return "";
  return fmt::format("the loss grew from {:.4g} at the start to {:.4g} at step {}", start, most, mostStep);
}

} // namespace tessera::runtime
