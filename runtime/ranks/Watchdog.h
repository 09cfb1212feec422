//===- Watchdog.h - no rank waits for ever --------------------------------===//
//
// A rank that is stopped, has died or hangs leaves all others in their next collective. A thread of each rank watches
// over that, in this order:
//
//   1. A connection that a rank closes without a farewell: it has died. It is named at once.
//   2. This rank is in a collective for longer than the timeout: its watchdog asks all others where they are. Who does
//      not answer is named; else who has not come to the collective; else the collective, in which all wait.
//   3. The verdict is sent to all ranks, so that all name the same one. Each prints it with its own last collective on
//      standard error, and ends its process with status 4, whatever its other threads are waiting for. mpirun then
//      ends those that are stopped.
//
// A process that was stopped itself begins to count anew: a job that was paused as a whole resumes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_RANKS_WATCHDOG_H
#define TESSERA_RUNTIME_RANKS_WATCHDOG_H

#include "runtime/ranks/Peers.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

namespace tessera::runtime {

/// Where a rank is: in its collective of that number, or after it.
struct RankPosition {
  int64_t collective = 0; ///< counted from 1; 0: before the first one
  bool isInside = false;
  std::string name;                       ///< of the collective, maybe shortened
  std::chrono::milliseconds time{0};      ///< since it began, or since it was over
  std::chrono::milliseconds allowance{0}; ///< for which the rank said that it is busy

  /// "in collective 17, 'gradients', for 5.0 s".
  std::string describe() const;
};

struct WatchdogOptions {
  using Milliseconds = std::chrono::milliseconds;
  Milliseconds timeout{30'000}; ///< of a collective; 0: none, only ranks that died are found
  Milliseconds grace{4'000};    ///< in which a watchdog must answer
  Milliseconds connect{60'000}; ///< in which all ranks must be connected at the start
  /// Ends the process; called by the watchdog's thread. Empty: prints the reason and calls _exit.
  std::function<void(ExitStatus status, const std::string &reason)> end;
};

class Watchdog final : public CollectiveObserver {
public:
  /// A collective: connects the ranks, starts the thread and becomes the observer of `world` and its groups.
  Watchdog(HostCommunicator &world, WatchdogOptions options);
  /// Without `finish`, the other ranks take this one for dead.
  ~Watchdog() override;

  /// Announces a collective, and that it is over. Allocates nothing.
  void begin(std::string_view name, std::chrono::milliseconds work) noexcept override;
  void end() noexcept override;

  /// This rank may be late for its next collective by this time from now on, because of work that it does alone, such
  /// as writing a file. Its next collective ends the allowance.
  void allow(std::chrono::milliseconds time);
  /// The same from now on before each collective, until it is called with 0: for work that many collectives interrupt,
  /// such as writing a file in parts.
  void allowAlways(std::chrono::milliseconds time);

  /// This rank ends with an error that the others cannot learn of in a collective, and has printed it: ends them with
  /// that status, in silence.
  void endOthers(ExitStatus status);

  /// This rank ends in order, after its last collective. Waits a while for the others to say the same.
  void finish();

private:
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::milliseconds;

  /// What this rank announced.
  struct Announced {
    int64_t collective = 0;
    bool isInside = false;
    std::array<char, 64> name = {}; ///< ends with a zero
    Clock::time_point since = Clock::now(), allowedUntil = since;
    Milliseconds allowance{0}; ///< after each collective
    Milliseconds work{0};      ///< that it may compute in this one
  };
  /// What is known of another rank.
  struct Other {
    bool hasFarewell = false;
    std::optional<RankPosition> answer; ///< to the last question
  };
  /// The job ends.
  struct Verdict {
    ExitStatus status;
    std::string reason; ///< empty: the others say nothing
  };

  void run();
  void stopThread();
  void take(int rank, const PeerMessage &message);
  RankPosition ownPosition() const;
  Milliseconds allowedWork() const;
  PeerMessage answer() const;
  void ask();
  /// None: nothing is wrong, or not yet.
  std::optional<Verdict> checkConnections(Milliseconds passed);
  std::optional<Verdict> checkTime(Milliseconds passed);
  /// `limit`: what this collective may take.
  std::optional<Verdict> judge(const RankPosition &own, Milliseconds limit) const;
  std::string describeAll(const std::vector<int> &ranks, const char *one, const char *many) const;
  void tellOthers(const Verdict &verdict);
  void endProcess();

  HostCommunicator &world;
  WatchdogOptions options;
  Peers peers;
  mutable std::mutex mutex; ///< of `announced`
  Announced announced;
  std::thread thread;
  std::atomic<bool> isStopping = false;

  // Of the thread, or of the caller when the thread has ended.
  std::vector<Other> others;
  std::optional<Verdict> verdict; ///< of this rank or another one
  int64_t watched = 0;            ///< the collective that `waited` is for
  Milliseconds waited{0};         ///< in it, since this process was stopped the last time
  Milliseconds sinceAsked{-1};    ///< below 0: not asked
  Milliseconds sinceClosed{-1};   ///< since a connection was closed; below 0: none was
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_RANKS_WATCHDOG_H
