//===- PlannedRanks.h - what ranks share and exchange, for a person -------===//

#ifndef TESSERA_TOOLS_PLANNEDRANKS_H
#define TESSERA_TOOLS_PLANNEDRANKS_H

#include "runtime/program/Manifest.h"
#include "tools/PlannedSharding.h"

namespace tessera {

/// Of a program for several ranks: how they divide the state, and what they exchange in a step. The manifest must
/// outlive it.
class PlannedRanks {
public:
  explicit PlannedRanks(const runtime::Manifest &manifest);

  /// "; of one of 8 ranks": follows figures of one rank. Empty if the program is for one rank.
  std::string whose() const;
  /// Tables; empty if the program is for one rank. `listsAll`: all lines of the model, and all that was rejected.
  std::string describe(bool listsAll) const;
  /// Null if the program is for one rank.
  runtime::Json asJson() const;

  /// Predicted seconds of all exchanges of a step; none if there are none, or if the time of one of them is not known.
  std::optional<double> exchangeSeconds() const;

private:
  /// Exchanges of one value, kind and mesh axis in a step.
  struct Row {
    const runtime::ExchangeSpec *first = nullptr;
    int64_t calls = 0, bytes = 0;                 ///< that a rank receives
    std::optional<double> seconds = std::nullopt; ///< predicted, of all calls
  };
  /// All states of a kind.
  struct StateKind {
    std::string name;
    int64_t count = 0;
    int64_t rankBytes = 0;                       ///< of one rank
    int64_t wholeBytes = 0;                      ///< without copies and padding
    std::map<std::string, int64_t> divided = {}; ///< by mesh axis: how many of them are divided along it
  };

  void addExchange(const runtime::ExchangeSpec &exchange);
  std::vector<StateKind> stateKinds() const;
  std::string describeLeaves() const;
  std::string describeAxes() const;
  std::string describeState() const;
  std::string describeExchanges() const;
  std::string describe(const Row &row) const;
  runtime::Json stateAsJson() const;
  /// Calls in a step of exchanges of a kind along a mesh axis.
  int64_t callsAlong(const std::string &axis, runtime::ExchangeSpec::Kind kind) const;
  int64_t bytesAlong(const std::string &axis) const;
  /// Whether exchanges of a step along a mesh axis go from one machine to another.
  bool crossesMachines(const std::string &axis) const;

  const runtime::Manifest &manifest;
  const runtime::RanksSpec &ranks;
  PlannedSharding sharding;
  std::vector<Row> rows; ///< most bytes first
};

} // namespace tessera

#endif // TESSERA_TOOLS_PLANNEDRANKS_H
