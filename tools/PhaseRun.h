//===- PhaseRun.h - the phases, as commands run them ----------------------===//

#ifndef TESSERA_TOOLS_PHASERUN_H
#define TESSERA_TOOLS_PHASERUN_H

#include "passes/Pipeline.h"
#include "passes/rematerialize/FrontierMemory.h"
#include "passes/sharding/search/SearchMemory.h"
#include "passes/sharding/search/ShardingPlan.h"
#include "tools/PredictBatch.h"
#include "tools/Report.h"
#include "tools/TargetOption.h"

namespace tessera {

/// What runs of the phases on one input have in common, whatever the arena may take. It is computed once.
struct CommonResults {
  FrontierMemory frontier;
  PredictBytes predict;
  SearchMemory searches;
  std::optional<ShardingPlan> found; ///< by the last search; none if `--plan` keeps none, or has one
  bool keepsTiled = false;           ///< whether there will be other runs
  /// Modules after `tile`, by the rows of `predict` that the options name; 0: none.
  std::map<int64_t, mlir::OwningOpRef<mlir::ModuleOp>> tiled;
};

/// What a run of the phases leaves beside the module.
struct PhaseRun {
  explicit PhaseRun(const CommandOptions &options,
                    std::shared_ptr<CommonResults> common = std::make_shared<CommonResults>())
      : dumps(options.dumpDir), common(std::move(common)) {}

  DumpFolder dumps;
  Report report;
  std::shared_ptr<CommonResults> common;
  bool printsWarnings = true;
  std::vector<mlir::Diagnostic> *heldWarnings = nullptr; ///< if not null, warnings go here instead
  bool hasWarned = false;                                ///< a phase had a warning
};

/// Whether the input is a dump.
bool isModule(const CommandOptions &options);
/// What `--target` says, or else the module.
TargetOption targetOption(mlir::ModuleOp module, const CommandOptions &options);
/// How code is generated for a module's target.
CodegenOptions codegenOptions(mlir::ModuleOp module, const CommandOptions &options, DumpFolder *dumps = nullptr);

/// Runs the phases once. Warnings are printed for a model that is read first.
int runPhasesOf(Input &input, const CommandOptions &options, PhaseRun &run);
/// The same; with another batch of `predict` once more, if the first one takes too much memory.
int runPhasesAndPredict(Input &input, const CommandOptions &options, PhaseRun &run);
/// The same within the memory that the module allows (MemoryBudget.h).
int runPhases(Input &input, const CommandOptions &options, PhaseRun &run);
/// The exit status after a phase or code generation failed. The cause is `problem`, of the machine (a dump cannot be
/// written, say), or without one a hand-edited module, or, for a model file, a defect of the compiler.
int failedOn(const std::string &before, const CommandOptions &options, const std::string &problem);

} // namespace tessera

#endif // TESSERA_TOOLS_PHASERUN_H
