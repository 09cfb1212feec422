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

#include "runtime/Json.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {

enum class ElementType;

/// A call of a kernel or a contraction, or a loop of calls.
struct TraceStep {
  struct Result {
    /// The ops it may come from, with "file:line:column": one, but of a kernel those that can make a number that is not finite.
    std::vector<std::pair<std::string, std::string>> from;
    ElementType type;
    int64_t count = 0, offset = 0;
    std::vector<int64_t> strides; ///< bytes for each step of the loops around it, outermost first
    bool mayBeInfinite = false;   ///< of a masked value, say: only NaN is wrong
  };
  std::string name; ///< the user's
  std::vector<Result> results;
  int64_t repeats = 0; ///< of a loop
  bool isReversed = false;
  std::vector<TraceStep> body;
};

std::vector<TraceStep> readTrace(const Json &json);

/// A number that is not finite, and where it comes from.
struct NotFinite {
  std::string name; ///< the user's, of what is computed
  std::vector<std::pair<std::string, std::string>> from;
  bool isNaN = false;

  /// "an infinite number from contract at model.tsr:31:7 in `h.mlp`".
  std::string describe() const;
};

/// Follows the calls of a step.
class TraceWatch {
public:
  /// `arena`: the address that offsets count from.
  TraceWatch(const std::vector<TraceStep> &trace, const char *arena);

  /// To be called after each call of a kernel or contraction.
  void afterCall();
  const std::optional<NotFinite> &found() const { return first; }

private:
  struct Loop {
    const std::vector<TraceStep> *steps;
    size_t next = 0;
    int64_t turn = 0, turns = 1;
    bool isReversed = false;
  };
  const TraceStep *advance();

  std::vector<Loop> loops; ///< around the next call, outermost first
  const char *arena;
  std::optional<NotFinite> first;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRACE_H
