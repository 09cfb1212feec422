//===- Trace.h - finds the first number that is not finite ------------------===//
//
// The manifest lists the kernels and contractions of a step in the order in which
// they are called, with what each writes and the line of the model file that it
// comes from. While a step is watched, its results are looked through after every
// call, so that the first one with a number that is not finite is known.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_TRACE_H
#define TESSERA_RUNTIME_TRACE_H

#include "runtime/base/ElementType.h"
#include "runtime/base/Json.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {

struct Axis;

/// A call of a kernel or a contraction, a launch of several kernels, or a loop of those.
struct TraceStep {
  struct Result {
    std::string name; ///< the user's: that of its call, or its own where one launch runs several kernels
    std::string op;   ///< that gives it; "contract init" where a contraction adds to something
    /// The ops it may come from, with "file:line:column": one, but of a kernel those that can make a number that is not finite.
    std::vector<std::pair<std::string, std::string>> from;
    ElementType type;
    std::vector<Axis> axes; ///< in memory order, outermost first; dense
    int64_t offset = 0;
    std::vector<int64_t> strides; ///< bytes for each step of the loops around it, outermost first
    bool mayBeInfinite = false;   ///< of a masked value, say: only NaN is wrong

    int64_t count() const;
    /// From the start of the arena, in these turns of the loops around it.
    int64_t offsetAt(const std::vector<int64_t> &turns) const;
  };
  std::vector<Result> results;
  int64_t repeats = 0; ///< of a loop
  bool isReversed = false;
  std::vector<TraceStep> body;
};

std::vector<TraceStep> readTrace(const Json &json);

/// Sees a call when it is done, with the turns of the loops around it, outermost first.
using TraceObserver = std::function<void(const TraceStep &step, const std::vector<int64_t> &turns)>;

/// Follows the calls of an entry function.
class TraceCursor {
public:
  explicit TraceCursor(const std::vector<TraceStep> &trace) { loops.push_back({&trace}); }

  /// The next call; null behind the last.
  const TraceStep *advance();
  /// Of the loops around it, in the order of the stacks: backwards in a reversed one.
  std::vector<int64_t> turns() const;

private:
  struct Loop {
    const std::vector<TraceStep> *steps;
    size_t next = 0;
    int64_t turn = 0, turns = 1;
    bool isReversed = false;
  };
  std::vector<Loop> loops; ///< around the next call, outermost first
};

/// A number that is not finite, and where it comes from.
struct NotFinite {
  std::string name; ///< the user's, of what is computed
  std::vector<std::pair<std::string, std::string>> from;
  bool isNaN = false;

  /// "an infinite number from contract at model.tsr:31:7 in `h.mlp`".
  std::string describe() const;
};

/// What is not finite among the results of a call; none if all are.
std::optional<NotFinite> findNotFinite(const TraceStep &step, const std::vector<int64_t> &turns, const char *arena);

/// "contract at model.tsr:31:7 or …".
std::string describeSources(const std::vector<std::pair<std::string, std::string>> &from);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRACE_H
