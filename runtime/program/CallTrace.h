//===- CallTrace.h - finds the first non-finite value of a step -----------===//
//
// The manifest lists the calls of kernels and contractions in a step, in order, with their results and their lines in
// the model file. When a step is watched, the results are scanned after every call, so that the first non-finite
// value is found.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_PROGRAM_CALLTRACE_H
#define TESSERA_RUNTIME_PROGRAM_CALLTRACE_H

#include "runtime/base/ElementType.h"
#include "runtime/base/Json.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {

struct AxisSpec;

/// A call of a kernel or a contraction, a horizontally fused launch, or a loop of those.
struct TracedCall {
  struct Result {
    std::string name; ///< the user's: that of the call, or of the result in a fused launch
    std::string op;   ///< that computes it; "contract init" if a contraction accumulates onto an operand
    /// The ops it may come from, with "file:line:column": one op, or those of a kernel that can make non-finite
    /// values.
    std::vector<std::pair<std::string, std::string>> from;
    ElementType type;
    std::vector<AxisSpec> axes;     ///< in memory order, outermost first
    std::vector<int64_t> allocated; ///< positions in memory along each axis; empty if as many as elements
    int64_t offset = 0;
    std::vector<int64_t> strides; ///< bytes for each iteration of the loops around it, outermost first
    bool mayBeInfinite = false;   ///< for masked values: only NaN is an error

    int64_t count() const;
    /// From the first element to the end of the last one in memory, gaps included, in elements.
    int64_t extent() const;
    /// The distance in memory between elements along each axis, in elements.
    std::vector<int64_t> elementStrides() const;
    /// From the start of the arena, at these iteration indices of the enclosing loops.
    int64_t offsetAt(const std::vector<int64_t> &turns) const;
  };
  std::vector<Result> results;
  int64_t repeats = 0; ///< trip count of a loop; 0: not a loop
  bool isReversed = false;
  std::vector<TracedCall> body;
};

std::vector<TracedCall> readTrace(const Json &json);

/// Called after each call, with the iteration indices of the enclosing loops, outermost first.
using CallObserver = std::function<void(const TracedCall &step, const std::vector<int64_t> &turns)>;

/// Iterates over the calls of an entry function.
class CallCursor {
public:
  explicit CallCursor(const std::vector<TracedCall> &trace) { loops.push_back({&trace}); }

  /// The next call; null after the last.
  const TracedCall *advance();
  /// Iteration indices of the enclosing loops, as indices of stacks: descending in a reversed loop.
  std::vector<int64_t> turns() const;

private:
  struct Loop {
    const std::vector<TracedCall> *steps;
    size_t next = 0;
    int64_t turn = 0, turns = 1;
    bool isReversed = false;
  };
  std::vector<Loop> loops; ///< around the next call, outermost first
};

/// A non-finite value, and where it comes from.
struct NonFinite {
  std::string name; ///< the user's name of the result
  std::vector<std::pair<std::string, std::string>> from;
  bool isNaN = false;

  /// "infinity from contract at model.tsr:31:7 in `h.mlp`".
  std::string describe() const;
};

/// The first non-finite result of a call; none if all are finite.
std::optional<NonFinite> findNonFinite(const TracedCall &step, const std::vector<int64_t> &turns, const char *arena);

/// "contract at model.tsr:31:7 or …".
std::string describeSources(const std::vector<std::pair<std::string, std::string>> &from);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_PROGRAM_CALLTRACE_H
