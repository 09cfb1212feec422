//===- Alternatives.h - the price of what a search rejected ---------------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_ALTERNATIVES_H
#define TESSERA_PASSES_SHARDING_SEARCH_ALTERNATIVES_H

#include "passes/sharding/search/ShardingSearch.h"

namespace tessera {

/// What a mesh axis could divide.
struct ShardingAlternative {
  llvm::StringRef axis; ///< empty: none
  /// The least that a step takes so on the mesh that was found, all else being found.
  double seconds = 0;
  bool isExact = false; ///< else `seconds` is a lower bound
};

/// What a mesh axis divides of a state, or of the ops that a line of the model stands for, and what else it could.
struct PricedDivision {
  std::string state;                                  ///< the path; empty: it is about a line
  std::string line, op;                               ///< "gpt.tsr:31"; the kind of the op that takes the most time
  llvm::StringRef along, chosen;                      ///< the mesh axis; the axis, or empty
  llvm::SmallVector<ShardingAlternative, 4> rejected; ///< in the order of seconds
};

/// The decisions of a sharding about parameters, of moments about the first one of each parameter, and of each line
/// about the op that takes the most time in the function that decides, gradients included: for each mesh axis, what
/// else it could divide of them within what the user says, and within the limit of memory. Prices of alternatives to a
/// sharding that memory decided are lower bounds.
std::vector<PricedDivision> priceAlternatives(const ModuleSharding &found, const SearchDevices &devices);

/// The same as a list of dictionaries {state, along, chosen, rejected} or {line, op, along, chosen, rejected};
/// `rejected` is one of {axis, seconds, exact}.
mlir::ArrayAttr describeAlternatives(mlir::ModuleOp module, const ModuleSharding &found, const SearchDevices &devices);

/// The other meshes that were searched, as a list of dictionaries {mesh, seconds, exact} in the order of seconds. A
/// mesh has the ranks along each axis. Those on which nothing is within the limit of memory are left out.
mlir::ArrayAttr describeMeshes(mlir::ModuleOp module, const ModuleSharding &found);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_ALTERNATIVES_H
