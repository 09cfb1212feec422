//===- ShardingPins.h - what the user says of a sharding that is searched -===//
//
// The options that describe a sharding without a search (ir/program/ShardSettings.h) fix a part of one that is
// searched:
//
//   --mesh data=2,tensor=4   the mesh
//   --shard ff=tensor        what has the axis and can be divided along it is divided so. Without a mesh, `tensor`
//                            stands for an axis of each mesh that is searched; a *naming* says for which.
//   --shard PATH:ff=tensor   the same for states
//   --zero N                 which states and sums are divided along the mesh axes that rows of data are laid along.
//                            Without words about those, they are laid along `data`; with level 0, or along none.
//
// What contradicts the program or itself is refused as without a search (MeshRules.h, StateShardings.h).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_SHARDINGPINS_H
#define TESSERA_PASSES_SHARDING_SEARCH_SHARDINGPINS_H

#include "ir/program/ShardSettings.h"
#include "passes/sharding/Sharding.h"
#include "passes/sharding/search/ShardingGraph.h"
#include "llvm/ADT/StringMap.h"

namespace tessera {

/// What the user says, for one mesh and one naming of its axes.
struct PinnedMesh {
  llvm::SmallVector<int64_t, mostMeshAxes> ranks;         ///< along each mesh axis
  llvm::SmallVector<llvm::StringRef, mostMeshAxes> names; ///< of the mesh axes, by position; empty: not spoken of
  Sharding rules;                                         ///< axes that are laid along mesh axes everywhere
  llvm::StringMap<Sharding> ofStates;                     ///< by path; without ZeRO
  std::optional<ZeroLevel> zero;
  llvm::SmallVector<unsigned> data;             ///< positions of the mesh axes that rows of data are laid along
  llvm::SmallVector<llvm::StringRef> wholeAxes; ///< that are divided along no mesh axis

  /// Those labels of a node that agree with what is said; never none of them. What cannot be divided as it is said is
  /// not pinned.
  std::vector<Form> allowed(const ShardingGraph &graph, unsigned node, llvm::ArrayRef<Form> labels) const;
};

class ShardingPins {
public:
  ShardingPins(mlir::ModuleOp module, ShardSettings settings);

  bool areGiven() const { return settings.hasPins() || !named.empty(); }
  bool haveMesh() const { return !settings.mesh.empty(); }
  /// Ranks along each axis of the mesh that is given.
  llvm::SmallVector<int64_t, mostMeshAxes> getMesh() const;
  /// Mesh axes that are spoken of. A mesh that is searched has at least as many.
  llvm::ArrayRef<llvm::StringRef> getNamed() const { return named; }
  /// All namings of a mesh with which nothing contradicts the program; `problem` is what is wrong with the last one of
  /// the others. Without words of the user there is one, without names.
  std::vector<PinnedMesh> namingsOf(llvm::ArrayRef<int64_t> mesh, std::string &problem) const;

private:
  using Names = llvm::SmallVector<llvm::StringRef, mostMeshAxes>;
  void arrange(llvm::ArrayRef<int64_t> mesh, Names names, unsigned next, std::vector<Names> &arranged) const;
  std::optional<PinnedMesh> pin(llvm::ArrayRef<int64_t> mesh, const Names &names, std::optional<unsigned> data,
                                std::string &problem) const;
  llvm::StringRef intern(llvm::StringRef text) const;

  mlir::ModuleOp module;
  ShardSettings settings;
  llvm::SmallVector<llvm::StringRef> named, rows; ///< `rows`: the axes of rows of data
  bool findsRows;                                 ///< a naming says what these are laid along
};

/// What is wrong with the user's words for a search of so many devices, because they contradict the program or each
/// other; empty if nothing is.
std::string problemOfPins(mlir::ModuleOp module, int64_t devices);

/// What a module records, with the shardings that its states have themselves as words about states.
ShardSettings wordsOf(mlir::ModuleOp module);

/// What the user said and no op or state of a module follows, once its sharding was found; empty if there is nothing.
std::string problemOfUnfollowed(mlir::ModuleOp module, const ShardSettings &said);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_SHARDINGPINS_H
