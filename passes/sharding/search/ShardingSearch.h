//===- ShardingSearch.h - which sharding takes the least time -------------===//
//
// For each mesh of a number of devices, the forms of the nodes of a function that take the least time on it; and of the
// meshes the best one.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_SHARDINGSEARCH_H
#define TESSERA_PASSES_SHARDING_SEARCH_SHARDINGSEARCH_H

#include "passes/sharding/search/FoundSharding.h"
#include "passes/sharding/search/MeshSearch.h"

namespace tessera {

/// The function whose time counts: `step` if there is one. Null if there is no entry function.
mlir::func::FuncOp decidingFunction(mlir::ModuleOp module);

/// All meshes of so many devices with at most `mostAxes` axes, each larger than 1. That of a single device has none.
std::vector<Mesh> meshesOf(int64_t devices, unsigned mostAxes);
/// Those of them that the user's words leave: the mesh that is given, or meshes with enough axes for their names.
std::vector<Mesh> meshesOf(int64_t devices, const ShardingPins &pins);

/// A mesh that was searched, under its best naming.
struct SearchedMesh {
  Mesh mesh;
  double seconds = 0;   ///< no sharding on it that is within the limits takes fewer; infinite if there is none
  bool isExact = false; ///< one takes as many; else the mesh was given up
};

/// The mesh, and the naming of its axes, on which the function that decides takes the least time.
struct StepSearch {
  std::optional<MeshSolution> solution; ///< none: there is none within the limits
  PinnedMesh pins;
  double bound = INFINITY, secondsBeyond = INFINITY; ///< of all meshes
  std::vector<SearchedMesh> searched;                ///< all meshes, in the order of their search
  double bytes = INFINITY;                           ///< the limit of what is alive at once that was kept
  bool isWithin = true;                              ///< it is the one that was asked for
};

class SearchMemory;

/// On a module: the meshes that a search does not take, since programs on them were found to be slower; a list of lists
/// of ranks.
inline constexpr llvm::StringLiteral searchWithoutAttr = "tsr.search_without";
/// By a search, on a module: the fewest seconds of a step on another mesh that it may take, an f64; absent if there is
/// none.
inline constexpr llvm::StringLiteral searchOtherAttr = "tsr.search_other";
/// What the first attribute says; none if it is malformed.
std::optional<std::vector<Mesh>> meshesNotTaken(mlir::ModuleOp module);
void setMeshesNotTaken(mlir::ModuleOp module, const std::vector<Mesh> &meshes);

/// A sharding of all entry functions of a module.
struct ModuleSharding {
  llvm::SmallVector<AxisAttr> mesh; ///< named by the user, or by what is divided along them
  llvm::StringMap<Sharding> ofStates;
  std::vector<std::pair<mlir::func::FuncOp, ShardingTable>> tables;
  MeshSolution step;                ///< what was found for the function that decides, `step` if there is one
  bool isPinned = false;            ///< the user says something
  PinnedMesh pins;                  ///< what that is of the mesh
  TiledContractions tiled;          ///< of the module
  std::vector<SearchedMesh> meshes; ///< all of them, in the order of their search
  double bound = 0;                 ///< no sharding of that function on any mesh takes fewer seconds
  double bytes = INFINITY;          ///< the limit of what is alive at once that was kept
  bool isWithin = true;             ///< it is the one that was asked for
  bool memoryDecides = false;       ///< one takes fewer seconds, but more bytes than the limit

  /// The fewest seconds of a step on another mesh that may be taken, by its bound; none if there is no such mesh.
  std::optional<double> otherMesh() const;
  std::vector<Mesh> notTaken; ///< see `SearchOptions`
};

/// What is asked of a search.
struct SearchOptions {
  double bytes = std::numeric_limits<double>::infinity(); ///< the limit of what is alive at once on a rank
  bool recomputes = false;                                ///< see `SearchLimits`
  bool isPinned = true;                                   ///< what the user says (ShardingPins.h) is kept
  TiledContractions tiled;                                ///< that `tile` will take
  std::vector<Mesh> notTaken;                             ///< meshes that are searched for their bounds only
  SearchMemory *memory = nullptr;                         ///< of other searches; null: there is none
};

/// The sharding that takes the least time for a step on so many devices within the limit of bytes, or with nearly the
/// fewest bytes that are possible if these are more. The other functions follow: their states are divided as those of
/// the step are, and all else as takes the least time for them. Nothing if there is no entry function, or no mesh that
/// suits what the user says.
std::optional<ModuleSharding> findSharding(mlir::ModuleOp module, int64_t count, const SearchDevices &devices,
                                           const SearchOptions &options);

/// Adds the other entry functions to a sharding whose mesh, states and table of the deciding function are known. False
/// if what the user says leaves one of them none.
bool divideOtherFunctions(mlir::ModuleOp module, ModuleSharding &sharding, const SearchDevices &devices);

/// Writes a sharding into the module: its mesh, and what states, ops and values are divided along.
void record(mlir::ModuleOp module, ModuleSharding &sharding);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_SHARDINGSEARCH_H
