//===- MeshOption.h - the options about ranks -----------------------------===//

#ifndef TESSERA_TOOLS_MESHOPTION_H
#define TESSERA_TOOLS_MESHOPTION_H

#include "ir/program/ShardSettings.h"

namespace tessera {

/// The values of `--mesh`, `--shard`, `--zero`, `--leaves`, `--reductions`, `--devices` and `--plan`.
struct MeshOptions {
  std::string mesh;                ///< `data=2,tensor=4`; empty: one rank
  std::vector<std::string> shards; ///< `ff=tensor,head=tensor` or `PATH:axis=mesh`
  std::optional<int> zero;
  int64_t leaves = 0;     ///< 0: those that the module records
  std::string reductions; ///< "ranks" or "library"; empty: as the module records
  int64_t devices = 0;    ///< for which a mesh is found; 0: the mesh is as it is said
  std::string plan;       ///< the file that keeps what is found (PlanFile.h); empty: none

  bool isGiven() const {
    return !mesh.empty() || !shards.empty() || zero || leaves > 0 || !reductions.empty() || devices > 0;
  }
};

/// What is wrong with a value of `--mesh`, of `--shard` or of `--leaves`; empty if nothing is.
std::string checkMeshText(const std::string &text);
std::string checkShardText(const std::string &text);
std::string checkLeavesText(const std::string &text);

/// Enters the options in a module; without options it keeps what it records. The batch is laid along the mesh axis
/// `data` if nothing else is. Returns a problem, or an empty string.
std::string setMesh(mlir::ModuleOp module, const MeshOptions &options);

} // namespace tessera

#endif // TESSERA_TOOLS_MESHOPTION_H
