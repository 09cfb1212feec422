//===- Ledger.h - predicted beside measured -------------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_LEDGER_H
#define TESSERA_RUNTIME_TRAIN_LEDGER_H

#include "runtime/program/Manifest.h"

#include <chrono>
#include <vector>

namespace tessera::runtime {

/// The times of a run's steps, and at its end a line that compares them, and the memory, with what was predicted.
class Ledger {
public:
  /// A step is done: its time is that since the last one, or since a pause ended.
  void step();
  /// What happened since the last step, an evaluation say, is not a part of the next one.
  void skip() { last = Clock::now(); }

  /// Median over all steps but the first, which includes cold caches and page faults; none if there was no second one.
  std::optional<double> seconds() const;

  /// Bytes of data that are held in memory.
  void setHeld(int64_t bytes) { heldBytes = bytes; }

  /// "505 ms a step, predicted 520 ms, 3.0 % more; …". Empty if no step was measured.
  std::string describe(const Manifest &manifest) const;

private:
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> last; ///< none before the run
  std::vector<float> times;              ///< seconds, of the last steps
  int64_t heldBytes = 0;
  size_t next = 0; ///< the place in `times` of the next one
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_LEDGER_H
