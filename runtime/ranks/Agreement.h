//===- Agreement.h - decisions that all ranks make alike ------------------===//
//
// What one rank learns (a signal, a full disk, a result that is not finite) decides for all of them, at the same place
// of the program: each rank sets what it knows, and `agree` tells all ranks the largest value of each flag and which
// rank set it. Nothing else that a rank knows alone may decide whether it calls a collective.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_RANKS_AGREEMENT_H
#define TESSERA_RUNTIME_RANKS_AGREEMENT_H

#include "runtime/ranks/Communicator.h"

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

enum class AgreedFlag : uint8_t {
  Stop,     ///< the value is the signal
  Save,     ///< a checkpoint was asked for
  Diverged, ///< a result is not finite
  Error     ///< the value is the exit status; `Agreement::setError` sets it
};
inline constexpr size_t agreedFlags = 4;

/// What the ranks agreed on.
struct AgreedValue {
  int value = 0;     ///< the largest; 0: no rank set the flag
  int rank = noRank; ///< the first that set it
};
class AgreedValues {
public:
  const AgreedValue &operator[](AgreedFlag flag) const { return values[static_cast<size_t>(flag)]; }
  AgreedValue &operator[](AgreedFlag flag) { return values[static_cast<size_t>(flag)]; }

private:
  std::array<AgreedValue, agreedFlags> values;
};

/// The error of one rank, thrown on all: "rank 2: cannot write …". Rank 0 prints it, and all ranks end in order
/// (`HostCommunicator::finish`) before they exit with its status: once a rank has failed, mpirun ends the others, maybe
/// before rank 0 has printed anything.
class RankError : public Error {
public:
  /// `rank` may be `noRank`: all ranks have this error, and the text names none.
  RankError(int rank, const std::string &text, ExitStatus status)
      : Error(rank == noRank ? text : fmt::format("rank {}: {}", rank, text), status), failed(rank) {}
  /// The rank whose error it is, or `noRank`.
  int rank() const { return failed; }

private:
  int failed;
};

/// Used by the thread that calls the group's collectives. On one rank nothing is exchanged, and errors are as they are.
class Agreement {
public:
  explicit Agreement(HostCommunicator &group) : group(group), all(group.size()) {}

  /// Sets a flag of this rank until the next agreement; a larger value replaces a smaller one. Values are above 0.
  void set(AgreedFlag flag, int value = 1);
  /// The same for an error of this rank; the first one counts.
  void setError(const std::string &text, ExitStatus status);

  /// A collective. Throws the error of the first rank with the highest status if any rank set one: a RankError on
  /// several ranks, which names no rank if all set the same one, an Error on one. Allocates memory only then.
  AgreedValues agree(std::string_view what);

  /// A collective: runs `body` on each rank, and throws on all ranks if it throws on one. `body` must not call
  /// collectives after what may fail on one rank.
  void together(std::string_view what, const std::function<void()> &body);

private:
  /// What a rank brings.
  struct Brought {
    std::array<int32_t, agreedFlags> values = {};
    int32_t textBytes = 0; ///< of its error
    uint64_t textHash = 0;
  };

  HostCommunicator &group;
  Brought own;
  std::string errorText;
  std::vector<Brought> all; ///< of each rank
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_RANKS_AGREEMENT_H
