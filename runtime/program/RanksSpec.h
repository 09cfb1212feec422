//===- RanksSpec.h - the ranks that a program is for ----------------------===//

#ifndef TESSERA_RUNTIME_PROGRAM_RANKSSPEC_H
#define TESSERA_RUNTIME_PROGRAM_RANKSSPEC_H

#include "runtime/base/Json.h"

#include <map>
#include <optional>
#include <vector>

namespace tessera::runtime {

/// An axis of the mesh of ranks.
struct MeshAxisSpec {
  std::string name;
  int64_t size = 1;
};

/// What a rank exchanges with the others along a mesh axis.
struct ExchangeSpec {
  std::string name;  ///< of what is sent
  std::string along; ///< the mesh axis
  bool isAllToAll = false;
  int64_t bytes = 0;                            ///< that go to each rank
  std::string line = {};                        ///< of the model file; empty: not known
  std::map<std::string, int64_t> calls = {};    ///< number of calls, by entry function
  std::optional<double> seconds = std::nullopt; ///< predicted, of one call

  /// "all_to_all" or "all_gather".
  const char *kind() const { return isAllToAll ? "all_to_all" : "all_gather"; }
  /// Number of calls in one call of an entry function.
  int64_t callsIn(const std::string &entry) const {
    auto found = calls.find(entry);
    return found == calls.end() ? 0 : found->second;
  }
};

/// The keys `leaves`, `mesh` and `exchanges` of a manifest.
struct RanksSpec {
  std::vector<MeshAxisSpec> mesh; ///< outermost axis first; empty: one rank
  std::vector<ExchangeSpec> exchanges;
  int64_t leaves = 0; ///< what the batch of a step is cut into, on one rank too; 0: none

  /// Ranks along an axis of the mesh; 0 if it has no such axis.
  int64_t sizeAlong(const std::string &axis) const;
  /// All ranks.
  int64_t count() const;
  /// Bytes that a rank receives from the others in one call of the exchange.
  int64_t received(const ExchangeSpec &exchange) const { return (sizeAlong(exchange.along) - 1) * exchange.bytes; }
};

/// Reads the keys from a manifest. Throws an Error that names `where`.
RanksSpec readRanksSpec(const Json &json, const std::string &where);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_PROGRAM_RANKSSPEC_H
