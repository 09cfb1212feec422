//===- Progress.cpp - shows the progress of a run -------------------------===//

#include "runtime/train/Progress.h"

#include "runtime/base/Error.h"
#include "runtime/base/Quantities.h"
#include "runtime/base/UnsignedNan.h"
#include "runtime/machine/MachineMemory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/ioctl.h>
#include <unistd.h>

namespace tessera::runtime {

std::string formatValues(const NamedValues &values) {
  std::string text;
  for (const auto &[name, value] : values)
    text += fmt::format("{}{} {:.5g}", text.empty() ? "" : ", ", name, unsignedNan(value));
  return text;
}

Progress::Progress(Plan plan)
    : plan(plan), terminal(!plan.isForwarded && isatty(fileno(plan.out))), begun(Clock::now()), lastShown(begun),
      lastShownStep(plan.firstStep) {}

/// Shortens a line to the terminal's width: a longer one would wrap and could not be overwritten.
static std::string cutToTerminal(const std::string &line, std::FILE *out) {
  winsize size = {};
  if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return line;
  size_t columns = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    bool isContinuation = (line[i] & 0xc0) == 0x80; // of a UTF-8 character
    if (!isContinuation && ++columns >= size.ws_col) return line.substr(0, i);
  }
  return line;
}

/// A closed terminal or pipe is no reason to stop. Returns false and sets errno if not all is written.
bool Progress::print(const std::string &text) {
  size_t written = std::fwrite(text.data(), 1, text.size(), plan.out);
  bool isWritten = std::fflush(plan.out) == 0 && written == text.size();
  std::clearerr(plan.out);
  return isWritten;
}

Progress::~Progress() { clearLine(); }

void Progress::clearLine() {
  if (lineShown) print("\r\033[K");
  lineShown = false;
}

std::string Progress::describe(const StepReport &report, double seconds) const {
  std::string line = fmt::format("step {}/{}  {}", report.step, plan.lastStep, formatValues(report.losses));
  if (!report.metrics.empty()) line += "  " + formatValues(report.metrics);
  if (report.hasRate) line += fmt::format("  rate {:.3g}", unsignedNan(report.rate));
  if (report.hasGradNorm) line += fmt::format("  norm {:.3g}", unsignedNan(report.gradNorm));
  if (report.lossScale) line += fmt::format("  scale {:g}", *report.lossScale);
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
    print(fmt::format("\r{}\033[K", cutToTerminal(line, plan.out)));
    lineShown = true;
  } else {
    print(line + "\n");
  }
}

void Progress::evaluation(int64_t step, const char *split, const EvaluationResult &result) {
  std::string metrics = result.metrics.empty() ? "" : "  " + formatValues(result.metrics);
  note(fmt::format("step {}  {}: {}{}", step, split, formatValues(result.losses), metrics));
}

void Progress::say(const std::string &line) {
  clearLine();
  print(printableLines(line) + "\n");
}

bool Progress::sayResult(const std::string &line, const char *what) {
  clearLine();
  bool isWritten = print(printableLines(line) + "\n");
  if (!isWritten)
    warn("error: cannot write {} to standard {}: {}", what, plan.out == stdout ? "output" : "error", strerror(errno));
  return isWritten;
}

void Progress::note(const std::string &line) {
  if (!plan.quiet) say(line);
}

} // namespace tessera::runtime
