//===- Ledger.h - predicted beside measured -------------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_LEDGER_H
#define TESSERA_RUNTIME_TRAIN_LEDGER_H

#include "runtime/program/Manifest.h"

#include <chrono>
#include <vector>

namespace tessera::runtime {

/// Times of steps, of a long run the last ones.
class StepTimes {
public:
  void add(std::chrono::steady_clock::duration time);
  /// None without times.
  std::optional<double> median() const;

private:
  std::vector<float> seconds;
  size_t next = 0; ///< the place of the next one
};

/// The times of a run's steps, and at its end a line that compares them, and the memory, with what was predicted.
class Ledger {
public:
  using Clock = std::chrono::steady_clock;

  /// A step is done: its time is that since the last one, or since a pause ended.
  void step();
  /// The compiled code of a step has taken so long, without what the run does between two steps. Not called where
  /// steps overlap.
  void ran(Clock::duration time);
  /// What happened since the last step, an evaluation say, is not a part of the next one.
  void skip() { last = Clock::now(); }

  /// Median over all steps but the first, which includes cold caches and page faults; none if there was no second one.
  std::optional<double> seconds() const { return times.median(); }

  /// Bytes of data that are held in memory.
  void setHeld(int64_t bytes) { heldBytes = bytes; }

  /// "505 ms a step, predicted 520 ms, 3.0 % more; …". Empty if no step was measured.
  std::string describe(const Manifest &manifest) const;

private:
  std::optional<Clock::time_point> last; ///< none before the run
  StepTimes times, inCode;
  int64_t heldBytes = 0;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_LEDGER_H
