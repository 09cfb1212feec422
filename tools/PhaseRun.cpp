//===- PhaseRun.cpp - the phases, as commands run them --------------------===//

#include "tools/PhaseRun.h"
#include "ir/program/ModuleText.h"
#include "ir/program/Program.h"
#include "passes/OutputFile.h"
#include "passes/memory/BatchSearch.h"
#include "passes/memory/BufferList.h"
#include "tools/MemoryBudget.h"
#include "tools/Messages.h"
#include "tools/PhaseWarnings.h"

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

int tessera::runPhasesOf(const Input &input, const CommandOptions &options, PhaseRun &run) {
  ModuleOp module = *input.module;
  ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (module->hasAttr(attrs::problem)) return success(); // it is printed below
    if (diagnostic.getSeverity() != DiagnosticSeverity::Warning) return failure();
    if (run.printsWarnings && !options.input.predictRows)
      printPhaseWarning(diagnostic, input.diagnostics.get(), options.input.jsonDiagnostics);
    run.hasWarned = true;
    return success();
  });
  PipelineOptions pipeline{options.compileTo,     &run.dumps, options.timing, {}, options.codegen.threads,
                           /*findsFrontier=*/true};
  if (!options.report.empty())
    pipeline.afterPhase = [&](StringRef phase, ModuleOp module) { run.report.note(phase, module); };
  std::string before = moduleText(module);
  if (succeeded(runPipeline(module, pipeline))) return ExitDone;
  if (auto problem = module->getAttrOfType<StringAttr>(attrs::problem))
    return printError(options.input.path + ": " + problem.getValue()), ExitInput;
  return failedOn(before, options, run.dumps.getProblem());
}

/// The rows of a batch of `predict`; 0 without such an entry function.
static int64_t predictRows(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("predict");
  for (unsigned i = 0; function && i < function.getNumResults(); ++i) {
    auto output = function.getResultAttrOfType<DictionaryAttr>(i, attrs::output);
    auto role = output ? output.getAs<StringAttr>("role") : StringAttr();
    if (role && role.getValue() == "result") // its rows are outermost
      return cast<NamedTensorType>(function.getResultTypes()[i]).getAxes().front().getSize();
  }
  return 0;
}

/// If `predict` of a scheduled module needs more memory than a step: the largest batch with which it does not, at least
/// one row.
static std::optional<int64_t> smallerPredictBatch(ModuleOp module, const CommandOptions &options) {
  int64_t rows = predictRows(module), limit = plannedBytes(module, "step");
  BatchMemory planned{rows, plannedBytes(module, "predict")};
  if (rows <= 1 || planned.bytes <= limit) return std::nullopt;
  auto bytesWith = [&](int64_t fewer) -> std::optional<int64_t> {
    CommandOptions trial = options;
    trial.input.predictRows = fewer;
    Input input = readForTarget(*module.getContext(), trial);
    if (!input.module) return std::nullopt;
    MemorySettings().record(*input.module); // `predict` recomputes nothing
    if (failed(runPipeline(*input.module, {}))) return std::nullopt;
    return plannedBytes(*input.module, "predict");
  };
  return std::max<int64_t>(1, largestBatch({0, 0}, planned, limit, bytesWith));
}

int tessera::runPhasesAndPredict(Input &input, const CommandOptions &options, PhaseRun &run) {
  std::optional<int64_t> arena = MemorySettings::of(*input.module).arena;
  if (int status = runPhasesOf(input, options, run)) return status;
  ModuleOp module = *input.module;
  if (isModule(options) || !module->hasAttr(attrs::arena)) return ExitDone;
  std::optional<int64_t> rows = smallerPredictBatch(module, options);
  if (!rows) return ExitDone;
  CommandOptions again = options;
  again.input.predictRows = rows;
  Input smaller = readForTarget(*module.getContext(), again);
  if (!smaller.module) return ExitDone; // the model cannot have fewer rows
  if (arena) limitArena(*smaller.module, *arena);
  input = std::move(smaller);
  return runPhasesOf(input, again, run);
}

int tessera::runPhases(Input &input, const CommandOptions &options, PhaseRun &run) {
  std::optional<int64_t> budget = budgetToFind(*input.module, options);
  return budget ? runPhasesWithin(*budget, input, options, run) : runPhasesAndPredict(input, options, run);
}
