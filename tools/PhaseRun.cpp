//===- PhaseRun.cpp - the phases, as commands run them --------------------===//

#include "tools/PhaseRun.h"
#include "ir/program/ModuleText.h"
#include "ir/program/Program.h"
#include "passes/OutputFile.h"
#include "tools/MemoryBudget.h"
#include "tools/Messages.h"
#include "tools/PhaseWarnings.h"
#include "tools/PlanFile.h"

using namespace mlir;
using namespace tessera;

bool tessera::isModule(const CommandOptions &options) { return StringRef(options.input.path).ends_with(".mlir"); }

/// An error after the frontend accepted the model is a defect of the compiler: writes a file that reproduces it.
static int internalError(const std::string &reproducer) {
  std::string path = "tessera-reproducer.mlir";
  std::string problem = writeOutputFile(path, reproducer);
  printError("internal: the compiler failed on a valid model; " +
             (problem.empty() ? path + " reproduces it with `tessera compile " + path + "`"
                              : "the reproducer was not written: " + problem));
  return ExitInternal;
}

TargetOption tessera::targetOption(ModuleOp module, const CommandOptions &options) {
  std::string problem; // found by `checkOptions`
  StringRef recorded = Target::of(module).isGpu() ? "cuda" : "cpu";
  return *TargetOption::parse(options.target.empty() ? recorded : StringRef(options.target), problem);
}

CodegenOptions tessera::codegenOptions(ModuleOp module, const CommandOptions &options, DumpFolder *dumps) {
  CodegenOptions codegen = options.codegen;
  codegen.dumps = dumps;
  codegen.timing = options.timing;
  std::string problem;
  if (TargetOption target = targetOption(module, options); target.isGpu)
    codegen.cuda = cudaOptions(target, module, options.useCache, problem);
  return codegen;
}

int tessera::failedOn(const std::string &before, const CommandOptions &options, const std::string &problem) {
  if (!problem.empty()) return printError(problem), ExitInput;
  if (options.isTrial) return ExitInternal;
  return isModule(options) ? ExitInput : internalError(before);
}

/// Runs the phases, those up to `tile` only if no other run has.
static LogicalResult runFromTile(Input &input, const PipelineOptions &pipeline, CommonResults &common, int64_t rows) {
  auto [tiled, isNew] = common.tiled.try_emplace(rows);
  if (isNew) {
    PipelineOptions first = pipeline;
    first.compileTo = "tile";
    if (failed(runPipeline(*input.module, first))) return failure();
    tiled->second = input.module->clone();
  } else {
    MemorySettings settings = MemorySettings::of(*input.module);
    input.module = tiled->second->clone();
    settings.record(*input.module);
  }
  return runPipeline(*input.module, pipeline);
}

/// Whether nothing but the last module of a run is seen.
static bool isQuiet(const CommandOptions &options) {
  return options.dumpDir.empty() && options.report.empty() && !options.timing;
}

/// The exit status for a problem of the user's words. Up to `shard` they are those of the options about ranks, or of a
/// module that records them.
static int statusOfProblem(ModuleOp module, const CommandOptions &options) {
  auto reached = module->getAttrOfType<StringAttr>(attrs::phase);
  bool isSharded = reached && phaseIndex(reached.getValue()) >= phaseIndex("shard");
  return !isSharded && options.mesh.isGiven() ? ExitUsage : ExitInput;
}

int tessera::runPhasesOf(Input &input, const CommandOptions &options, PhaseRun &run) {
  ScopedDiagnosticHandler handler(input.module->getContext(), [&](mlir::Diagnostic &diagnostic) {
    if ((*input.module)->hasAttr(attrs::problem)) return success(); // it is printed below
    if (diagnostic.getSeverity() != DiagnosticSeverity::Warning) return failure();
    run.hasWarned = true;
    if (options.input.predictRows) return success(); // the first run had it, too
    if (run.heldWarnings)
      run.heldWarnings->push_back(std::move(diagnostic));
    else if (run.printsWarnings)
      printPhaseWarning(diagnostic, input.diagnostics.get(), options.input.jsonDiagnostics);
    return success();
  });
  PipelineOptions pipeline{options.compileTo, &run.dumps, options.timing, {}, options.codegen.threads};
  pipeline.explains = options.plansDevices;
  pipeline.findsFrontier = true, pipeline.frontier = &run.common->frontier;
  pipeline.pricesValues = options.pricesValues();
  pipeline.searches = &run.common->searches;
  bool keepsFound = !options.mesh.plan.empty() && !(*input.module)->hasAttr(planAttr);
  pipeline.afterPhase = [&](StringRef phase, ModuleOp module) {
    if (!options.report.empty()) run.report.note(phase, module);
    if (keepsFound && phase == "shard") run.common->found = ShardingPlan::of(module);
  };
  std::string before = moduleText(*input.module);
  auto reached = (*input.module)->getAttrOfType<StringAttr>(attrs::phase);
  bool sharesPhases = run.common->keepsTiled && isQuiet(options) && options.compileTo.empty() && reached &&
                      phaseIndex(reached.getValue()) < phaseIndex("tile");
  if (succeeded(sharesPhases ? runFromTile(input, pipeline, *run.common, options.input.predictRows.value_or(0))
                             : runPipeline(*input.module, pipeline)))
    return ExitDone;
  auto problem = (*input.module)->getAttrOfType<StringAttr>(attrs::problem);
  if (problem && (*input.module)->hasAttr(planAttr)) return refusePlan(options, problem.getValue());
  if (problem)
    return printError(options.input.path + ": " + problem.getValue()), statusOfProblem(*input.module, options);
  return failedOn(before, options, run.dumps.getProblem());
}

int tessera::runPhasesAndPredict(Input &input, const CommandOptions &options, PhaseRun &run) {
  const MemorySettings memory = MemorySettings::of(*input.module);
  Attribute searchMemory = (*input.module)->getAttr(attrs::searchMemory);
  Attribute searchWithout = (*input.module)->getAttr(searchWithoutAttr);
  if (int status = runPhasesOf(input, options, run)) return status;
  ModuleOp module = *input.module;
  if (isModule(options) || !module->hasAttr(attrs::arena)) return ExitDone;
  std::optional<int64_t> rows = smallerPredictBatch(module, options, run.common->predict, run.common->searches);
  if (!rows) return ExitDone;
  CommandOptions again = options;
  again.input.predictRows = rows;
  Input smaller = readForTarget(*module.getContext(), again);
  if (!smaller.module) return ExitDone; // the model cannot have fewer rows
  memory.record(*smaller.module);
  if (searchMemory) (*smaller.module)->setAttr(attrs::searchMemory, searchMemory);
  if (searchWithout) (*smaller.module)->setAttr(searchWithoutAttr, searchWithout);
  Attribute found = module->getAttr(attrs::foundSharding);
  again.plansDevices = false; // what is found for the step is the same, and was explained
  input = std::move(smaller);
  int status = runPhasesOf(input, again, run);
  if (status == ExitDone && found) (*input.module)->setAttr(attrs::foundSharding, found);
  return status;
}

int tessera::runPhases(Input &input, const CommandOptions &options, PhaseRun &run) {
  std::optional<int64_t> budget = budgetToFind(*input.module, options);
  return budget ? runPhasesWithin(*budget, input, options, run) : runPhasesAndPredict(input, options, run);
}
