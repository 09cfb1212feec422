//===- PlanFile.h - the file of `--plan` ----------------------------------===//
//
// Keeps the sharding that `--devices` finds (passes/sharding/search/ShardingPlan.h), with all that it depends on, as
// JSON that people can read and compare. If the file is not there, it is written; if it is, its sharding is taken as it
// is, and a program that it does not suit any more is refused. docs/sharding.md has an example.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_PLANFILE_H
#define TESSERA_TOOLS_PLANFILE_H

#include "ir/program/Machines.h"
#include "passes/sharding/search/ShardingPlan.h"
#include "runtime/base/Json.h"
#include "tools/Commands.h"

namespace tessera {

struct PhaseRun;

/// What a plan is for.
struct PlanFile {
  std::string device, description; ///< the name; of a device of a file also what that says
  std::string precision;           ///< "bf16", or "bf16, weights bf16"
  Machines machines;
  std::string mesh;                ///< the words of the user, as options
  std::vector<std::string> shards; ///< without commas
  std::optional<int> zero;
  ShardingPlan sharding;

  int64_t devices() const { return machines.allDevices(); }
  /// The options about ranks: what the command does not say of the mesh and of what is divided is as in the file.
  MeshOptions complete(const MeshOptions &given) const;
};

runtime::Json planFileAsJson(const PlanFile &plan);
/// Throws an Error that names the place.
PlanFile parsePlanFile(const std::string &text, const std::string &path);

/// Reads the file of `--plan` if it is there. Prints errors, among them that the command says something else of ranks,
/// or that nothing is to be found which the file could keep, and returns an exit status.
int readPlanFile(mlir::ModuleOp module, const CommandOptions &options, std::optional<PlanFile> &plan);
/// Enters the plan in a module whose target and options about ranks are set. Prints what it is not for any more, and
/// returns an exit status.
int enterPlan(mlir::ModuleOp module, const PlanFile &plan, const CommandOptions &options);
/// Prints why the plan of a command does not suit its program, and returns the exit status.
int refusePlan(const CommandOptions &options, const llvm::Twine &why);
/// Writes what was found, if `--plan` says so and has no plan. Prints errors, and returns an exit status.
int writePlanFile(mlir::ModuleOp module, const CommandOptions &options, const PhaseRun &run);

} // namespace tessera

#endif // TESSERA_TOOLS_PLANFILE_H
