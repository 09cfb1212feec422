//===- Progress.cpp - what a person sees of a run -----------------------------===//

#include "runtime/train/Progress.h"

#include "runtime/Error.h"
#include "runtime/MachineMemory.h"

#include <algorithm>
#include <unistd.h>

namespace tessera::runtime {

std::string formatValues(const NamedValues &values) {
  std::string text;
  for (const auto &[name, value] : values) text += fmt::format("{}{} {:.5g}", text.empty() ? "" : ", ", name, value);
  return text;
}

static std::string formatDuration(double seconds) {
  auto whole = static_cast<int64_t>(seconds);
  if (whole >= 3600) return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
  if (whole >= 60) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}s", whole);
}

static std::string formatCount(double value) {
  if (value >= 1e6) return fmt::format("{:.2f}M", value / 1e6);
  return value >= 1e4 ? fmt::format("{:.1f}k", value / 1e3) : fmt::format("{:.1f}", value);
}

Progress::Progress(Plan plan)
    : plan(plan), terminal(isatty(fileno(plan.out))), begun(Clock::now()), lastShown(begun),
      lastShownStep(plan.firstStep) {}

Progress::~Progress() { clearLine(); }

void Progress::clearLine() {
  if (lineShown) fmt::print(plan.out, "\r\033[K");
  lineShown = false;
}

std::string Progress::describe(const StepReport &report, double seconds) const {
  std::string line = fmt::format("step {}/{}  {}", report.step, plan.lastStep, formatValues(report.losses));
  if (!report.metrics.empty()) line += "  " + formatValues(report.metrics);
  if (report.hasRate) line += fmt::format("  rate {:.3g}", report.rate);
  if (report.hasGradNorm) line += fmt::format("  norm {:.3g}", report.gradNorm);
  if (!report.finite) line += "  not finite, skipped";
  line += fmt::format("  {} {}/s", formatCount(plan.perStep / seconds), plan.unit);
  if (plan.flops > 0) line += fmt::format("  {:.1f} GFLOP/s", plan.flops / seconds / 1e9);
  line += fmt::format("  {}", formatBytes(plan.arenaBytes));
  if (report.step < plan.lastStep)
    line += fmt::format("  ETA {}", formatDuration((plan.lastStep - report.step) * seconds));
  return line;
}

bool Progress::isDue(int64_t step, double passed) const {
  if (step == plan.lastStep || step == plan.firstStep + 1) return true;
  if (terminal) return passed >= 0.1;
  if (plan.logEvery > 0) return step % plan.logEvery == 0;
  return step % std::max<int64_t>(1, plan.lastStep / 100) == 0 || passed >= 10;
}

void Progress::step(const StepReport &report) {
  if (plan.quiet) return;
  Clock::time_point now = Clock::now();
  double passed = std::chrono::duration<double>(now - lastShown).count();
  if (!isDue(report.step, passed)) return;
  double seconds = std::max(passed, 1e-9) / std::max<int64_t>(1, report.step - lastShownStep);
  smoothed = smoothed == 0 || !terminal ? seconds : 0.8 * smoothed + 0.2 * seconds;
  lastShown = now;
  lastShownStep = report.step;
  std::string line = describe(report, smoothed);
  if (terminal) {
    fmt::print(plan.out, "\r{}\033[K", line);
    lineShown = true;
  } else {
    fmt::print(plan.out, "{}\n", line);
  }
  std::fflush(plan.out);
}

void Progress::evaluation(int64_t step, const char *split, const EvaluationResult &result) {
  std::string metrics = result.metrics.empty() ? "" : "  " + formatValues(result.metrics);
  note(fmt::format("step {}  {}: {}{}", step, split, formatValues(result.losses), metrics));
}

void Progress::say(const std::string &line) {
  clearLine();
  fmt::print(plan.out, "{}\n", line);
  std::fflush(plan.out);
}

void Progress::note(const std::string &line) {
  if (!plan.quiet) say(line);
}

} // namespace tessera::runtime
