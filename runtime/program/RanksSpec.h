//===- RanksSpec.h - the ranks that a program is for ----------------------===//

#ifndef TESSERA_RUNTIME_PROGRAM_RANKSSPEC_H
#define TESSERA_RUNTIME_PROGRAM_RANKSSPEC_H

#include "runtime/base/ElementType.h"
#include "runtime/base/Json.h"
#include "runtime/program/ShardingSpec.h"

#include <array>
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
  /// A reduce-scatter also adds: a rank gets the sum of what all send to it.
  enum class Kind { AllGather, AllToAll, ReduceScatter };
  static constexpr std::array kinds{Kind::AllToAll, Kind::ReduceScatter, Kind::AllGather};

  std::string name;  ///< of what is sent
  std::string along; ///< the mesh axis
  Kind kind = Kind::AllGather;
  int64_t bytes = 0;                            ///< that go to each rank
  std::string line = {};                        ///< of the model file; empty: not known
  std::map<std::string, int64_t> calls = {};    ///< number of calls, by entry function
  std::optional<double> seconds = std::nullopt; ///< predicted, of one call
  Json work = nullptr;                          ///< what that follows from (docs/manifest.md); null: not recorded
  ElementType element = ElementType::U8;        ///< of a reduce-scatter

  /// As in a manifest: "all_gather".
  static const char *nameOf(Kind kind);
  const char *kindName() const { return nameOf(kind); }
  /// Whether bytes go from one machine to another, as planned.
  bool crossesMachines() const { return work.is_object() && work.contains("network"); }
  /// Bytes at the address of what is sent, or of what is received, by one of `ranks` ranks.
  int64_t sent(int64_t ranks) const { return kind == Kind::AllGather ? bytes : ranks * bytes; }
  int64_t received(int64_t ranks) const { return kind == Kind::ReduceScatter ? bytes : ranks * bytes; }
  /// Number of calls in one call of an entry function.
  int64_t callsIn(const std::string &entry) const {
    auto found = calls.find(entry);
    return found == calls.end() ? 0 : found->second;
  }
};

/// The machines that a program was planned for. It may run on others.
struct MachinesSpec {
  int64_t count = 1;
  int64_t devices = 1; ///< in each
};

/// The keys `leaves`, `mesh`, `exchanges`, `divided_lines`, `target.machines` and `target.search` of a manifest.
struct RanksSpec {
  std::vector<MeshAxisSpec> mesh; ///< outermost axis first; empty: one rank
  std::vector<ExchangeSpec> exchanges;
  int64_t leaves = 0; ///< what the batch of a step is cut into, on one rank too; 0: none
  std::optional<MachinesSpec> machines = std::nullopt; ///< none: all ranks on one
  std::optional<SearchSpec> search = std::nullopt;     ///< none: the mesh is as it was said
  std::vector<DividedLineSpec> lines = {};             ///< in the order of the model

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
