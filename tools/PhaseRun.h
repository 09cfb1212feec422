//===- PhaseRun.h - the phases, as commands run them ----------------------===//

#ifndef TESSERA_TOOLS_PHASERUN_H
#define TESSERA_TOOLS_PHASERUN_H

#include "passes/Pipeline.h"
#include "tools/Commands.h"
#include "tools/Report.h"
#include "tools/TargetOption.h"

namespace tessera {

/// What a run of the phases leaves beside the module.
struct PhaseRun {
  explicit PhaseRun(const CommandOptions &options) : dumps(options.dumpDir) {}

  DumpFolder dumps;
  Report report;
  bool printsWarnings = true;
  bool hasWarned = false; ///< a phase had a warning
};

/// Whether the input is a dump.
bool isModule(const CommandOptions &options);
/// What `--target` says, or else the module.
TargetOption targetOption(mlir::ModuleOp module, const CommandOptions &options);
/// How code is generated for a module's target.
CodegenOptions codegenOptions(mlir::ModuleOp module, const CommandOptions &options, DumpFolder *dumps = nullptr);

/// Runs the phases once. Warnings are printed for a model that is read first.
int runPhasesOf(const Input &input, const CommandOptions &options, PhaseRun &run);
/// The same; with another batch of `predict` once more, if the first one takes too much memory.
int runPhasesAndPredict(Input &input, const CommandOptions &options, PhaseRun &run);
/// The same within the memory that the module allows (MemoryBudget.h).
int runPhases(Input &input, const CommandOptions &options, PhaseRun &run);
/// The exit status after a phase or code generation failed. The cause is `problem`, of the machine (a dump cannot be
/// written, say), or without one a hand-edited module, or, for a model file, a defect of the compiler.
int failedOn(const std::string &before, const CommandOptions &options, const std::string &problem);

} // namespace tessera

#endif // TESSERA_TOOLS_PHASERUN_H
