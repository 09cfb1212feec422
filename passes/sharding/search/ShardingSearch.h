//===- ShardingSearch.h - which sharding takes the least time -------------===//
//
// For each mesh of a number of devices, the forms of the nodes of a function that take the least time on it; and of the
// meshes the best one.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_SHARDINGSEARCH_H
#define TESSERA_PASSES_SHARDING_SEARCH_SHARDINGSEARCH_H

#include "passes/sharding/search/FoundSharding.h"
#include "passes/sharding/search/ShardingCosts.h"
#include "passes/sharding/search/Solver.h"

namespace tessera {

/// The sizes of the axes of all meshes of so many devices, outermost first, each larger than 1 and at most `mostAxes` of
/// them. One of a single device has no axis.
std::vector<llvm::SmallVector<int64_t, mostMeshAxes>> meshesOf(int64_t devices, unsigned mostAxes);

/// What was found for a mesh.
struct MeshSolution {
  llvm::SmallVector<int64_t, mostMeshAxes> mesh;
  std::vector<Form> forms; ///< of each node
  LabelCost cost;
  double bound = 0; ///< no forms on this mesh take fewer seconds
  SolverEffort effort;
};

/// The forms of least time on a mesh; nothing if no forms are allowed, or if all take `most` seconds or more. `fixed`:
/// nodes whose form is known.
std::optional<MeshSolution> solveMesh(const ShardingGraph &graph, llvm::ArrayRef<int64_t> mesh,
                                      const SearchDevices &devices, double most,
                                      const llvm::DenseMap<unsigned, Form> &fixed = llvm::DenseMap<unsigned, Form>());

/// A sharding of all entry functions of a module.
struct ModuleSharding {
  llvm::SmallVector<AxisAttr> mesh; ///< named by what is divided along them
  llvm::StringMap<Sharding> ofStates;
  std::vector<std::pair<mlir::func::FuncOp, ShardingTable>> tables;
  MeshSolution step; ///< what was found for the function that decides, `step` if there is one
};

/// The sharding that takes the least time for a step on so many devices. The other functions follow: their states are
/// divided as that of the step are, and all else as takes the least time for them. Nothing if no mesh divides anything.
std::optional<ModuleSharding> findSharding(mlir::ModuleOp module, int64_t count, const SearchDevices &devices);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_SHARDINGSEARCH_H
