//===- RunRequests.h - what asks a run to stop or to save -----------------===//
//
// A signal reaches one rank, one rank cannot read its data, and clocks differ. So ranks ask each other once before each
// batch, and decide alike. One rank asks nobody.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_RUNREQUESTS_H
#define TESSERA_RUNTIME_TRAIN_RUNREQUESTS_H

#include "runtime/ranks/Agreement.h"
#include "runtime/train/Signals.h"

#include <chrono>
#include <functional>

namespace tessera::runtime {

/// Requests of one rank that decide for all.
class SharedRequests {
public:
  /// What one rank is asked for.
  struct Own {
    int stop = 0; ///< the signal; 0: none
    bool save = false;
  };
  /// `own` says what this rank is asked for now.
  SharedRequests(HostCommunicator &world, std::function<Own()> own)
      : isAlone(world.size() == 1), agreement(world), own(std::move(own)) {}

  /// Reads a batch, unless the run is to stop. Returns the signal in that case, else 0. A collective on several ranks,
  /// named `what`: all ranks read, all get the same result, and an error of `read` on one rank is thrown on all.
  int next(std::string_view what, const std::function<void()> &read);

  /// What was asked for: on several ranks what they knew together in the last `next`.
  int stop() const { return isAlone ? own().stop : agreed.stop; }
  bool save() const { return isAlone ? own().save : agreed.save; }

  /// The request to save is met, or cannot be.
  void clearSave() { agreed.save = false; }

private:
  bool isAlone;
  Agreement agreement;
  std::function<Own()> own;
  Own agreed;
};

/// The requests of a run: signals, and the minutes since its last checkpoint by the clock of the first rank. Handles
/// signals while it lives (Signals.h).
class RunRequests {
public:
  explicit RunRequests(HostCommunicator &world);
  RunRequests(const RunRequests &) = delete;

  /// A save is asked for so many minutes after the last one; 0: never.
  void setMinutes(double count) { minutes = count; }

  int next(std::string_view what, const std::function<void()> &read) { return shared.next(what, read); }
  int stop() const { return shared.stop(); }
  bool save() const { return shared.save(); }

  /// A checkpoint is being written: requests until now are met.
  void saving();
  /// The run is over, see Signals::finish.
  void finish() { signals.finish(stop() != 0); }

private:
  using Clock = std::chrono::steady_clock;
  SharedRequests::Own ownRequests() const;

  bool isFirst;
  double minutes = 0;
  Clock::time_point savedAt = Clock::now();
  Signals signals;
  SharedRequests shared;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_RUNREQUESTS_H
