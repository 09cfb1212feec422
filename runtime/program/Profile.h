//===- Profile.h - the time of each kernel and library call ---------------===//
//
// Compiled code reaches the runtime through one table of functions, which time their calls while there is a profile.
// The times of a step are summed for each kernel, contraction, copy and exchange, and written with the work that the
// manifest states, for comparison with the machine's peak rates.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_PROGRAM_PROFILE_H
#define TESSERA_RUNTIME_PROGRAM_PROFILE_H

#include "runtime/program/Manifest.h"

#include <chrono>
#include <map>
#include <vector>

namespace tessera::runtime {

class Profile {
public:
  enum class Kind { Kernel, Contraction, Copy, Zero, Exchange };

  using Clock = std::chrono::steady_clock;

  /// From here on calls belong to a step. Others, those of an evaluation, do not count.
  void beginStep() { isInStep = true; }

  /// Adds a call. `which`: the index in the manifest's list of kernels, contractions or exchanges, or the bytes of a
  /// copy.
  void add(Kind kind, int64_t which, Clock::duration time);

  /// Bytes that a call of exchange number `which` sent to other ranks, as the communicator counted them.
  void addSent(int64_t which, int64_t bytes);
  /// The same of all its calls in the last step.
  int64_t sentBy(int64_t which) const;

  /// What each rank allocated and sent: the list `ranks` of the record.
  void setRanks(Json list) { ranks = std::move(list); }

  /// A contraction of the manifest is computed as another one, and the rest by a kernel.
  void setGemm(int64_t which, GemmSpec computed) { gemms[which] = std::move(computed); }

  /// Ends a step that took `time`.
  void endStep(Clock::duration time);

  /// The threads that the calls have; without them there is a GPU.
  void setThreads(int count) { threads = count; }

  /// The number of steps so far.
  size_t countSteps() const { return steps.size(); }

  /// The record of docs/profile.md: medians over all steps but the first.
  Json describe(const Manifest &manifest) const;

private:
  struct Row {
    int64_t calls = 0; ///< in the current step
    double seconds = 0;
    int64_t sent = 0;
    int64_t callsBefore = 0, sentBefore = 0; ///< in the last one
    std::vector<double> steps;
  };
  std::map<std::pair<Kind, int64_t>, Row> rows;
  std::map<int64_t, GemmSpec> gemms; ///< by number, those that differ from the manifest's
  std::vector<double> steps;
  Json ranks; ///< null: one rank
  bool isInStep = false;
  int threads = 0;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_PROGRAM_PROFILE_H
