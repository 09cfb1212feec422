//===- Profile.h - how long each kernel and library call takes ----------------===//
//
// Compiled code reaches the runtime through one table of functions; the profile
// is what those functions note while it is on. A step's times are added up for
// each kernel, contraction and copy, and written with the work that the manifest
// knows of them, so that a reader can set them against the machine's limits.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_PROFILE_H
#define TESSERA_RUNTIME_PROFILE_H

#include "runtime/program/Manifest.h"

#include <chrono>
#include <map>
#include <vector>

namespace tessera::runtime {

class Profile {
public:
  enum class Kind { Kernel, Contraction, Copy, Zero };

  using Clock = std::chrono::steady_clock;

  /// Adds a call. `which`: the number in the manifest's list of kernels or contractions; bytes of a copy.
  void add(Kind kind, int64_t which, Clock::duration time);

  /// Ends a step that took `time` in all; what was added since the last one belongs to it.
  void endStep(Clock::duration time);

  /// The record of docs/profile.md: medians over the steps but the first.
  Json describe(const Manifest &manifest) const;

private:
  struct Row {
    int64_t calls = 0; ///< in the current step
    double seconds = 0;
    int64_t callsBefore = 0; ///< in the last one
    std::vector<double> steps;
  };
  std::map<std::pair<Kind, int64_t>, Row> rows;
  std::vector<double> steps;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_PROFILE_H
