//===- MeshSearch.h - which sharding takes the least time on a mesh -------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_MESHSEARCH_H
#define TESSERA_PASSES_SHARDING_SEARCH_MESHSEARCH_H

#include "passes/sharding/search/ShardingCosts.h"
#include "passes/sharding/search/ShardingPins.h"
#include "passes/sharding/search/Solver.h"

namespace tessera {

/// Ranks along each axis, outermost first.
using Mesh = llvm::SmallVector<int64_t, mostMeshAxes>;

/// Searches stop this close to the least time: predictions are less exact.
inline constexpr double searchTolerance = 1e-3;

/// What was found for a mesh.
struct MeshSolution {
  Mesh mesh;
  std::vector<Form> forms; ///< of each node; empty if nothing was found that is within the limits
  LabelCost cost;          ///< bytes: of the moment at which the most are alive
  double bound = 0;        ///< no forms on this mesh that are within the limits take fewer seconds
  /// With the fewest bytes that are known, if nothing was found within the limit of bytes.
  std::vector<Form> leastForms;
  LabelCost leastCost;
  /// Of forms that are not within the limit of bytes; infinite if those of least time are.
  double secondsBeyond = std::numeric_limits<double>::infinity();
  ShardingCosts::Peak peakBeyond; ///< likewise
  /// What a byte less takes within the limit of bytes (LabelBudget.h); 0: those of least time are within it.
  double secondsPerByte = 0;
  std::optional<MomentWeights> weights;                    ///< of the bytes with that price
  BesideShares shares;                                     ///< of the problem of the bound, and of that price
  RecomputationWay recomputation = RecomputationWay::None; ///< for it to be within the limit of bytes
  SolverEffort effort = {};

  bool isFound() const { return !forms.empty(); }
  bool isBeyond() const { return secondsBeyond < std::numeric_limits<double>::infinity(); }
};

/// What a solution must keep.
struct SearchLimits {
  double seconds = std::numeric_limits<double>::infinity(); ///< less than these
  double bytes = std::numeric_limits<double>::infinity();   ///< of what is alive at once on a rank: at most these
  bool recomputes = false;              ///< if it helps to be within them, stacks may be computed again
  llvm::DenseMap<unsigned, Form> fixed; ///< nodes whose form is known
  const PinnedMesh *pins = nullptr;     ///< what the user says of the others; null: nothing
  BesideShares shares;                  ///< that are tried first, such as those of another mesh; empty: all are 0
};

/// The forms of least time on a mesh. If they are not within the limit of bytes (`isBeyond`), others may be.
MeshSolution solveForTime(const ShardingGraph &graph, llvm::ArrayRef<int64_t> mesh, const SearchDevices &devices,
                          const SearchLimits &limits);
/// Improves such a solution: the forms of least time that are within the limit of bytes.
void solveWithin(const ShardingGraph &graph, const SearchDevices &devices, const SearchLimits &limits,
                 MeshSolution &solution);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_MESHSEARCH_H
