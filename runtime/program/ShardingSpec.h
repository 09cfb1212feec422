//===- ShardingSpec.h - what a sharding is, and why -----------------------===//

#ifndef TESSERA_RUNTIME_PROGRAM_SHARDINGSPEC_H
#define TESSERA_RUNTIME_PROGRAM_SHARDINGSPEC_H

#include "runtime/base/Json.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {

/// What the ops of a line of the model are divided along in a step, those of its gradients too.
struct DividedLineSpec {
  std::string at;  ///< "gpt.tsr:31"
  int64_t ops = 0; ///< that have axes
  /// By mesh axis and axis of the model, how many of them are divided so.
  std::map<std::string, std::map<std::string, int64_t>> divided = {};

  std::string file() const { return at.substr(0, at.rfind(':')); }
  int64_t line() const;
};

/// What a search rejected, and what a step takes with it.
struct RejectedSpec {
  std::string choice;   ///< an axis, empty for none; of a mesh its ranks, such as "4 x 2"
  double seconds = 0;   ///< the least, all else being found
  bool isExact = false; ///< else a lower bound
};

/// What a mesh axis divides of a state or of the ops of a line, and what else it could.
struct DecisionSpec {
  std::string of; ///< the path of a state, or "gpt.tsr:31 contract": a line, and the op that it is about
  bool isOfState = false;
  std::string along;                       ///< the mesh axis
  std::string chosen;                      ///< the axis; empty: none
  std::vector<RejectedSpec> rejected = {}; ///< in the order of seconds
};

/// What the search that found a program's sharding estimated of a step.
struct SearchSpec {
  double seconds = 0;
  double bound = 0;                             ///< no other sharding that it knows takes fewer seconds
  std::optional<int64_t> memory = std::nullopt; ///< bytes of a rank that it kept to; none: no limit, or it kept to none
  /// Of a step without what the user fixed of the sharding; none: nothing was fixed, or it was not searched for.
  std::optional<double> unpinned = std::nullopt;
  std::vector<RejectedSpec> meshes = {}; ///< the other ones, in the order of seconds; of a plan
  std::vector<DecisionSpec> decisions = {};

  /// By how much a step may take longer than with the best sharding, of the estimate.
  double gap() const { return bound > 0 ? seconds / bound - 1 : 0; }
};

/// Read the keys `target.search` and `divided_lines` of a manifest. Throw an Error that names `where`.
SearchSpec readSearchSpec(const Json &json, const std::string &where);
std::vector<DividedLineSpec> readDividedLines(const Json &json, const std::string &where);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_PROGRAM_SHARDINGSPEC_H
