//===- ShardingPlan.h - a sharding that is kept ---------------------------===//
//
// What a search found, in a form that outlives the compilation: the mesh, and what states, inputs and the ops of the
// function that decides are divided along. `--plan FILE` keeps it in a file (tools/PlanFile.h); the module carries it
// to `shard` as the attribute `tsr.plan`:
//
//   tsr.plan = {found = {bound = 0.5, bytes = 1.0e9, seconds = 0.5}, mesh = [#tsr.axis<tensor: 8>],
//               states = [["wte", "vocab: 50257 = tensor, embed: 768"], …], inputs = [["x", "batch: 64, seq: 128"], …],
//               ops = [["gpt.tsr:31:7 contract", "batch: 64, embed: 768, ff: 3072 = tensor"], …]}
//
// An op has the axes that it works along. A repeat has a text for each operand, then for each result that it stacks.
//
// A plan suits a program with the same states, inputs and ops in the same order, with the same axes. Names of ops say
// where they are in the model, for people: lines may move.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_SHARDINGPLAN_H
#define TESSERA_PASSES_SHARDING_SEARCH_SHARDINGPLAN_H

#include "passes/sharding/ShardingTable.h"
#include "llvm/ADT/StringMap.h"

namespace tessera {

/// Of a module: the sharding that `shard` is to take.
inline constexpr llvm::StringLiteral planAttr = "tsr.plan";

/// An axis, and the mesh axis that it is divided along; empty: none.
struct PlannedAxis {
  std::string axis;
  int64_t size = 1;
  std::string along = {};
};
using PlannedAxes = std::vector<PlannedAxis>;

/// "batch: 64 = data, seq: 128".
std::string textOf(const PlannedAxes &axes);
/// None if the text is malformed.
std::optional<PlannedAxes> parsePlannedAxes(llvm::StringRef text);

struct PlannedEntry {
  std::string name;              ///< of an op: "gpt.tsr:31:7 contract", and " #2" if there was one of that name before
  std::vector<PlannedAxes> axes; ///< one; of a repeat several

  /// Whether both are the same but for what is divided, and for the places of ops.
  bool hasSameAxes(const PlannedEntry &other) const;
  /// Of an op: its name without the place and the number: "contract".
  llvm::StringRef kind() const;
  /// Of an op: "gpt.tsr:31:7"; empty if it is of no line.
  llvm::StringRef place() const;
};

/// What a program divides, or could.
struct ShardingPlan {
  std::vector<std::pair<std::string, int64_t>> mesh;
  double seconds = 0, bound = 0, bytes = 0; ///< as `tsr.found_sharding` has them
  std::optional<double> memory;
  std::vector<PlannedEntry> states, inputs, ops;

  /// The contents of a module, with what is divided if `shard` has run.
  static ShardingPlan of(mlir::ModuleOp module);
  /// That of `tsr.plan`. None, with what is wrong in `problem`, if the attribute is malformed.
  static std::optional<ShardingPlan> recordedIn(mlir::ModuleOp module, std::string &problem);
  void record(mlir::ModuleOp module) const;
  /// What `tsr.found_sharding` says of it.
  mlir::DictionaryAttr figures(mlir::MLIRContext *context) const;

  /// How the program of a module differs from the one that the plan is for, for its author; empty if it does not.
  std::string whatChanged(mlir::ModuleOp module) const;
  /// The plan's sharding of the states, and of the function that decides, of a program that has not changed.
  llvm::StringMap<Sharding> shardingsOfStates(mlir::MLIRContext *context) const;
  ShardingTable tableOf(mlir::func::FuncOp function) const;
};

/// The differences of two programs by their contents, in words; empty if there are none (PlanChanges.cpp).
std::string describeChanges(const ShardingPlan &before, const ShardingPlan &now);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_SHARDINGPLAN_H
