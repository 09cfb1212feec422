//===- ShardSettings.h - what the user says about ranks -------------------===//
//
// As the module records it:
//
//   tsr.mesh = [data: 2, tensor: 4]               the ranks (ir/program/ProgramMesh.h)
//   tsr.shard = {batch = "data", ff = "tensor"}    the mesh axes that axes of the program are laid along
//   tsr.shard_states = [{path = "wte", axis = "vocab", along = "tensor"}]   the same for states, by patterns of paths
//   tsr.zero = 1                                   what more the ranks divide that the batch is divided among
//   tsr.leaves = 8                                 what the batch is cut into, on one rank too
//   tsr.devices = 8                                the ranks among which the compiler finds out what to divide, as far
//                                                  as the attributes above do not say it
//   tsr.reductions = "library"                     what adds the values of several ranks
//
// The phase `shard` reads them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_PROGRAM_SHARDSETTINGS_H
#define TESSERA_IR_PROGRAM_SHARDSETTINGS_H

#include "ir/program/ProgramMesh.h"
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// An axis of the program that is laid along a mesh axis.
struct AxisRule {
  std::string axis, along;
  bool operator==(const AxisRule &) const = default;
};

/// The same for the states whose paths match a pattern (runtime/base/PathPattern.h).
struct StateRule {
  std::string path, axis, along;
  bool operator==(const StateRule &) const = default;
};

/// Levels of ZeRO: what is divided among the ranks that the batch is divided among. Each level includes those before.
enum class ZeroLevel {
  None,
  Moments,   ///< of the optimizer
  Gradients, ///< those that micro-batches add up
  Weights    ///< gathered where they are used
};

struct ShardSettings {
  std::vector<std::pair<std::string, int64_t>> mesh; ///< outermost axis first; empty: one rank
  std::vector<AxisRule> axes;                        ///< in the order of their names
  std::vector<StateRule> states;
  std::optional<ZeroLevel> zero; ///< nothing said: none, or where a mesh is searched, whatever takes the least time
  int64_t leaves = 0;            ///< a power of two; 0: none
  bool addsInLibrary = false;    ///< sums over ranks, on GPUs
  int64_t devices = 0;           ///< ranks for which a mesh is searched; 0: the mesh is as it is said

  bool operator==(const ShardSettings &) const = default;
  ZeroLevel zeroLevel() const { return zero.value_or(ZeroLevel::None); }
  /// Whether the user says something of the mesh, or of what is divided along its axes.
  bool hasPins() const { return !mesh.empty() || !axes.empty() || !states.empty() || zero; }

  /// What `tsr.reductions` says where `addsInLibrary`.
  static constexpr llvm::StringLiteral libraryReductions = "library";

  static ShardSettings of(mlir::ModuleOp module);
  /// Replaces what the module records.
  void record(mlir::ModuleOp module) const;
};

} // namespace tessera

#endif // TESSERA_IR_PROGRAM_SHARDSETTINGS_H
