//===- Commands.cpp - what each command does ------------------------------===//

#include "tools/Commands.h"
#include "codegen/cpu/object/CpuTarget.h"
#include "codegen/cuda/nvrtc/Nvrtc.h"
#include "frontend/diagnostics/Diagnostics.h"
#include "ir/program/Machines.h"
#include "ir/program/ModuleText.h"
#include "ir/program/Program.h"
#include "ir/program/ProgramMesh.h"
#include "ir/program/ShardSettings.h"
#include "ir/program/Target.h"
#include "passes/cost/MachineShare.h"
#include "passes/memory/BufferList.h"
#include "runtime/machine/MachineMemory.h"
#include "runtime/program/Payload.h"
#include "tools/Largest.h"
#include "tools/MemoryBudget.h"
#include "tools/Messages.h"
#include "tools/OutputConflicts.h"
#include "tools/PhaseRun.h"
#include "tools/PlanFile.h"
#include "tools/ProgramCache.h"
#include "tools/ProgramPlan.h"
#include "tools/ProgramSummary.h"
#include "tools/Suggestions.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <csignal>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace tessera;

static int usage(const llvm::Twine &message) {
  printError(message);
  return ExitUsage;
}

/// The command line is valid, but the files do not allow the command.
static int refuse(const llvm::Twine &problem) {
  printError(problem);
  return ExitInput;
}

/// Checks options; `generatesCode` if the command includes code generation.
static int checkOptions(const CommandOptions &options, bool generatesCode) {
  std::string problem;
  std::optional<TargetOption> target = TargetOption::parse(options.target.empty() ? "cpu" : options.target, problem);
  if (!target) return usage(problem);
  if (target->isGpu && generatesCode) {
    const cuda::Nvrtc *nvrtc = cuda::Nvrtc::get(problem);
    if (!nvrtc) return usage("--target=cuda: " + problem);
    if (problem = findUnknownArchitecture(*target, *nvrtc); !problem.empty())
      return usage((options.on.empty() ? "--target=" + options.target : "--on=" + options.on) + ": " + problem);
  }
  if (!options.compileTo.empty() && phaseIndex(options.compileTo) < 0)
    return usage("no phase is called `" + options.compileTo + "`; the phases are " + llvm::join(phaseNames(), ", "));
  if (!options.dumpDir.empty()) {
    std::error_code error = llvm::sys::fs::create_directories(options.dumpDir);
    if (!error && !llvm::sys::fs::is_directory(options.dumpDir))
      error = std::make_error_code(std::errc::not_a_directory);
    if (!error) error = llvm::sys::fs::access(options.dumpDir, llvm::sys::fs::AccessMode::Write);
    if (error) return refuse("cannot write to --dump-dir=" + options.dumpDir + ": " + error.message());
  }
  llvm::raw_string_ostream said(problem);
  if (failed(CpuTarget::get(options.codegen.march, said))) return usage("--march: " + StringRef(problem).rtrim());
  return ExitDone;
}

/// The launcher that every program is a copy of: beside this tool, or where it is installed.
static std::string findLauncher() {
  std::string self = llvm::sys::fs::getMainExecutable(nullptr, reinterpret_cast<void *>(&findLauncher));
  StringRef folder = llvm::sys::path::parent_path(self);
  for (const char *relative : {"/tessera-launcher", "/../lib/tessera/tessera-launcher"})
    if (std::string path = (folder + relative).str(); llvm::sys::fs::exists(path)) return path;
  return (folder + "/tessera-launcher").str();
}

/// What the command writes. A module goes to standard output by default.
static SmallVector<NamedOutput> outputsOf(const CommandOptions &options) {
  SmallVector<NamedOutput> outputs;
  if (!options.output.empty() || !options.compileTo.empty())
    outputs.push_back({"-o", options.output.empty() ? "-" : options.output});
  if (!options.report.empty()) outputs.push_back({"--report", options.report});
  if (const std::string &plan = options.mesh.plan; !plan.empty() && !llvm::sys::fs::exists(plan))
    outputs.push_back({"--plan", plan});
  if (options.dumpDir.empty()) return outputs;
  SmallVector<std::string> dumps{"code.ll", "manifest.json"};
  for (size_t index = 0; index < phaseNames().size(); ++index)
    for (bool withLocations : {false, true}) dumps.push_back(dumpName(index, withLocations));
  for (const std::string &dump : dumps) outputs.push_back({"--dump-dir", options.dumpDir + "/" + dump});
  return outputs;
}

/// Checks that no output of the command is a file that it uses.
static int checkOutputs(const CommandOptions &options, const Input &input) {
  std::vector<UsedFile> used{{"/proc/self/exe", "this compiler"}, {findLauncher(), "the launcher of programs"}};
  for (const std::string &file : input.files) used.push_back({file, "an input of this command"});
  if (options.device)
    for (const std::string &file : options.device->files)
      used.push_back({file, "a description of the device of this command"});
  if (llvm::sys::fs::exists(options.mesh.plan)) used.push_back({options.mesh.plan, "the plan of this command"});
  llvm::append_range(used, dataFiles(*input.module));
  llvm::append_range(used, filesOfArguments(options.programArguments));
  std::string problem = findOutputConflict(outputsOf(options), used);
  return problem.empty() ? ExitDone : usage(problem);
}

/// Why `--on` does not go with the other options; empty if it does.
static std::string findContradiction(const CommandOptions &options, bool maySeveral) {
  const Target &device = options.device->target;
  if (options.device->count() > 1 && !maySeveral) return "--on=" + options.on + ": expected one device";
  if (device.isGpu() || options.march.empty() || device.figures.cpu.march.empty() ||
      options.march == device.figures.cpu.march)
    return "";
  return "--on=" + options.on + " says march = " + device.figures.cpu.march + ", and --march=" + options.march +
         " another processor; leave out --march";
}

int tessera::applyDevice(CommandOptions &options, bool maySeveral) {
  if (!options.march.empty()) options.codegen.march = options.march;
  if (options.on.empty()) return ExitDone;
  std::string problem;
  if (int status = parseDeviceOption(options.on, options.device.emplace(), problem))
    return status == ExitUsage ? usage("--on: " + problem) : refuse(problem);
  const Target &device = options.device->target;
  if (problem = findContradiction(options, maySeveral); !problem.empty()) return usage(problem);
  std::optional<TargetOption> target = TargetOption::forDevice(device, options.target, problem);
  if (!target) return usage("--on=" + options.on + ": " + problem);
  options.target = target->text();
  if (options.march.empty() && !device.figures.cpu.march.empty()) options.codegen.march = device.figures.cpu.march;
  return ExitDone;
}

/// Records the machines that `--on` says, if the program is for several ranks. Returns a problem, or an empty string.
static std::string setMachines(ModuleOp module, const CommandOptions &options) {
  ProgramMesh mesh = ProgramMesh::of(module);
  std::optional<Machines> given = options.device ? options.device->machines : std::nullopt;
  int64_t searched = ShardSettings::of(module).devices, count = searched > 0 ? searched : mesh.ranks();
  std::string ranks = (searched > 0 ? "a mesh is to be found for " : "the mesh is for ") + std::to_string(count) +
                      (count == 1 ? " rank" : " ranks");
  if (mesh.getAxes().empty() && searched == 0) {
    if (!given || given->allDevices() == 1 || options.plansDevices) return "";
    std::string all = std::to_string(given->allDevices());
    return "--on=" + options.on + ": a program for one rank runs on one device; divide it among the devices, as in " +
           "--mesh data=" + all + ", or let --devices " + all + " find how";
  }
  if (given) {
    if (given->allDevices() != count)
      return "--on=" + options.on + " has " + std::to_string(given->allDevices()) +
             (given->allDevices() == 1 ? " device" : " devices") + ", and " + ranks;
    given->record(module);
  } else if (std::optional<Machines> recorded = Machines::of(module); recorded && recorded->allDevices() != count) {
    return "the module is for " + recorded->text() + ", and " + ranks + "; say the devices with --on";
  }
  return "";
}

/// Enters the target that the options name. Prints errors, and returns an exit status.
static int setTargetOf(ModuleOp module, const CommandOptions &options) {
  if (!options.gemmEpilogues.empty()) setEpilogues(module, options.gemmEpilogues);
  if (failed(Target::read(module))) return ExitInput;
  // A dump for a GPU, or for a device that a file describes, is compiled for the device that it names.
  Target recorded = Target::of(module);
  bool keepsDevice = options.target.empty() && (recorded.isGpu() || !recorded.called.empty());
  std::optional<Target> device = keepsDevice ? std::optional(recorded) : std::nullopt;
  if (options.device) device = options.device->target;
  std::string problem = setTarget(module, targetOption(module, options), options.codegen.march, options.prefer, device);
  if (!problem.empty()) return refuse(options.input.path + ": " + problem);
  std::optional<PlanFile> plan;
  if (int status = readPlanFile(module, options, plan)) return status;
  problem = setMesh(module, plan ? plan->complete(options.mesh) : options.mesh);
  if (problem.empty()) problem = setMachines(module, options);
  if (!problem.empty()) return usage(options.input.path + ": " + problem);
  if (int status = plan ? enterPlan(module, *plan, options) : ExitDone) return status;
  problem = setMemory(module, options.memory, Target::of(module), options.device.has_value());
  return problem.empty() ? ExitDone : refuse(options.input.path + ": " + problem);
}

Input tessera::readForTarget(MLIRContext &context, const CommandOptions &options) {
  InputOptions read = options.input;
  read.leaves = options.mesh.leaves;
  auto setsMicroBatches = [](StringRef set) {
    return llvm::is_contained({"accumulate", "accumulate.count"}, set.split('=').first.trim());
  };
  if (read.leaves > 0 && llvm::any_of(read.sets, setsMicroBatches))
    return {{}, usage("--leaves cuts the batch as accumulate does; leave out --set accumulate"), {}};
  Input input = readInput(context, read);
  if (!input.module) return input;
  if (int status = checkOutputs(options, input)) return {{}, status, {}};
  if (int status = setTargetOf(*input.module, options)) return {{}, status, {}};
  return input;
}

/// The device of a plan: what `--on` says, or the GPU that the module is for, or what this machine has left. Ranks on
/// processors share the memory of their machine.
static PlannedDevice plannedDevice(ModuleOp module, const CommandOptions &options) {
  Target target = options.device ? options.device->target : Target::of(module);
  PlannedDevice device{target.name().str(), options.device ? options.device->count() : 1, target.figures.memoryBytes};
  if (target.isGpu()) return device;
  if (!options.device) {
    runtime::AvailableMemory available = runtime::availableMemory();
    device = {"what " + available.limit + " has left", 1, available.bytes};
  }
  if (int64_t ranks = ranksOfMachine(module); ranks > 1) {
    device.name = "a rank's share of " + device.name;
    if (device.memoryBytes) *device.memoryBytes /= ranks;
    device.count = std::max<int64_t>(1, device.count / ranks); // of what has a price
  }
  return device;
}

/// Of an hour of the device: what `--price` says, or its description.
static std::optional<double> priceOf(ModuleOp module, const CommandOptions &options) {
  return options.price ? options.price : Target::of(module).figures.price;
}

static ProgramPlan planOf(ModuleOp module, const CommandOptions &options, const PlannedDevice &device,
                          const std::string &manifest, const PlannedData &data) {
  ProgramPlan plan = planProgram(manifest, device, data.held, priceOf(module, options));
  plan.liveBytes = arenaLowerBound(module), plan.peak = peakMemory(module);
  return plan;
}

/// Writes the page of `--report`, if it is wanted.
static int writeReport(const Input &input, const CommandOptions &options, Report &report) {
  if (options.report.empty()) return ExitDone;
  if (input.diagnostics) report.addTexts(input.diagnostics->sources());
  std::string problem = report.write(options.report);
  return problem.empty() ? ExitDone : refuse(problem);
}

/// Runs the phases and code generation.
static int generate(Input &input, const CommandOptions &options, CompiledProgram &program, PhaseRun &run) {
  if (int status = runPhases(input, options, run)) return status;
  ModuleOp module = *input.module;
  std::string before = moduleText(module);
  CodegenOptions codegen = codegenOptions(module, options, &run.dumps);
  std::string lack;
  codegen.lack = &lack;
  FailureOr<CompiledProgram> made = generateProgram(module, codegen);
  if (failed(made)) return failedOn(before, options, lack.empty() ? run.dumps.getProblem() : lack);
  if (int status = writePlanFile(module, options, run)) return status;
  program = std::move(*made);
  if (isModule(options)) run.hasWarned |= warnAboveBudget(module, runtime::parseManifest(program.manifest), options);
  if (!options.report.empty())
    run.report.describe(program.manifest, planOf(module, options, plannedDevice(module, options), program.manifest,
                                                 readPlannedData(program.manifest, {})));
  return writeReport(input, options, run.report);
}

/// The same, or the program of an equal module from the cache. If the cache cannot be used, only `-v` reports it.
static int makeProgram(Input &input, const CommandOptions &options, CompiledProgram &program) {
  PhaseRun run(options);
  if (!options.useCache) return generate(input, options, program, run);
  ModuleOp module = *input.module;
  // Programs name lines of the model file.
  ProgramCache cache(moduleText(module, /*withLocations=*/true), codegenOptions(module, options));
  // Dumps, reports, timings and plans that are written need the phases to run.
  bool writesPlan = !options.mesh.plan.empty() && !module->hasAttr(planAttr);
  bool mustGenerate = !options.dumpDir.empty() || !options.report.empty() || options.timing || writesPlan;
  if (std::optional<CompiledProgram> found = mustGenerate ? std::nullopt : cache.find()) {
    if (options.verbose) results() << "code: from the cache\n";
    program = std::move(*found);
    return ExitDone;
  }
  if (int status = generate(input, options, program, run)) return status;
  if (run.hasWarned) return ExitDone; // so that the next run warns too
  std::string problem = cache.store(program);
  if (!problem.empty() && options.verbose) results() << "code: not stored: " << problem << "\n";
  return ExitDone;
}

/// Runs the phases up to `--compile-to` and writes the module.
static int compileToPhase(Input &input, const CommandOptions &options) {
  PhaseRun run(options);
  if (int status = runPhases(input, options, run)) return status;
  if (int status = writePlanFile(*input.module, options, run)) return status;
  if (int status = writeReport(input, options, run.report)) return status;
  std::string problem = writeOutputFile(options.output.empty() ? "-" : options.output, moduleText(*input.module));
  return problem.empty() ? ExitDone : refuse(problem);
}

int tessera::runCompile(const CommandOptions &options) {
  if (int status = checkOptions(options, options.compileTo.empty())) return status;
  if (options.output.empty() && options.compileTo.empty())
    return usage("-o PROGRAM is missing: the path of the training program");
  if (options.output == "-" && options.compileTo.empty())
    return usage("-o -: a program cannot be written to standard output; name a file (./- if it is called so)");
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  printDiagnosticsOf(context, options.input.path);
  Input input = readForTarget(context, options);
  if (!input.module) return input.status;
  if (!options.compileTo.empty()) return compileToPhase(input, options);
  CompiledProgram program;
  if (int status = makeProgram(input, options, program)) return status;
  ProgramSummary summary = summarize(program.manifest); // before it is written: as a program it is read likewise
  std::string problem = runtime::writeTrainingProgram(findLauncher(), program.object, program.manifest, options.output);
  if (!problem.empty()) return refuse(problem);
  results() << llvm::formatv("wrote {0}: {1}, arena {2:f1} MiB\n", options.output, summary.target, summary.arenaMiB);
  if (summary.ranks > 1)
    results() << llvm::formatv("{0} ranks ({1}): start it with `mpirun -n {0} {2} train`\n", summary.ranks,
                               summary.mesh,
                               StringRef(options.output).contains('/') ? options.output : "./" + options.output);
  if (options.verbose) results() << "instruction sets: " << summary.instructionSets << "\n";
  return ExitDone;
}

/// Becomes the program, which runs from a file in memory and so leaves no file. Returns only if it cannot.
static int startTraining(const CompiledProgram &program, const CommandOptions &options) {
  int file = memfd_create("tessera-program", MFD_CLOEXEC);
  if (file < 0) return refuse(llvm::Twine("cannot make a file in memory: ") + strerror(errno));
  std::string problem = runtime::writeTrainingProgram(findLauncher(), program.object, program.manifest, file);
  if (!problem.empty()) return refuse(problem);
  std::string name = llvm::sys::path::stem(options.input.path).str();
  std::vector<char *> arguments{name.data(), const_cast<char *>("train")};
  for (const std::string &argument : options.programArguments)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  std::signal(SIGXFSZ, SIG_DFL); // the program decides for itself
  fexecve(file, arguments.data(), environ);
  return refuse(llvm::Twine("cannot start the program from memory: ") + strerror(errno) +
                "; write it with `tessera compile " + options.input.path + " -o PROGRAM` and start that");
}

int tessera::runTrain(const CommandOptions &options) {
  constexpr int shift = ExitTrainShift;
  StringRef path = options.input.path;
  if (!path.ends_with(".tsr") && !path.ends_with(".mlir"))
    return usage("expected a model file (.tsr or .mlir), got " + path +
                 "; it comes first: tessera train MODEL.tsr, then the options of the program's `train`") +
           shift;
  if (int status = checkOptions(options, true)) return status + shift;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  printDiagnosticsOf(context, options.input.path);
  Input input = readForTarget(context, options);
  if (!input.module) return input.status + shift;
  CompiledProgram program;
  if (int status = makeProgram(input, options, program)) return status + shift;
  return startTraining(program, options) + shift;
}

int tessera::runCheck(const CommandOptions &options) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  printDiagnosticsOf(context, options.input.path);
  Input input = checkInput(context, options.input);
  if (!input.module || isModule(options)) return input.status;
  // Some warnings come from the phase that makes the gradients.
  if (int status = setTargetOf(*input.module, options)) return status;
  CommandOptions gradients = options;
  gradients.compileTo = "differentiate";
  PhaseRun run(gradients);
  return runPhasesOf(input, gradients, run);
}

FailureOr<std::string> tessera::manifestOf(Input &input, const CommandOptions &options) {
  PhaseRun run(options);
  if (runPhases(input, options, run)) return failure();
  return describeProgram(*input.module, codegenOptions(*input.module, options));
}

/// Whether the options allow to plan the model with others. Prints why not, and returns an exit status.
static int checkTrials(const CommandOptions &options, const PlannedDevice &device) {
  std::string option = options.suggests ? "--suggest" : "--largest";
  if (isModule(options)) return usage(option + " needs a model file; the sizes and types of a module are fixed");
  if (!device.memoryBytes)
    return usage(option + ": the description of " + device.name + " does not say how much memory it has");
  return ExitDone;
}

/// An error if what `--data` names is wrong.
static int checkData(const PlannedData &data) {
  if (data.status != ExitDone) printError(data.held.problem);
  return data.status;
}

/// Runs the phases, plans the program, and writes the page of `--report`.
static int makePlan(Input &input, const CommandOptions &options, const PlannedDevice &device, ProgramPlan &plan) {
  PhaseRun run(options);
  if (int status = runPhases(input, options, run)) return status;
  ModuleOp module = *input.module;
  std::string before = moduleText(module);
  FailureOr<std::string> manifest = describeProgram(module, codegenOptions(module, options));
  if (failed(manifest)) return failedOn(before, options, run.dumps.getProblem());
  PlannedData data = readPlannedData(*manifest, options.data);
  if (int status = checkData(data)) return status;
  if (int status = writePlanFile(module, options, run)) return status;
  plan = planOf(module, options, device, *manifest, data);
  if (isModule(options)) warnAboveBudget(module, plan.manifest, options);
  run.report.describe(*manifest, plan);
  return writeReport(input, options, run.report);
}

/// What `--report` and `--dump-dir` write about the program of the largest size.
static int writeLargest(MLIRContext &context, const Largest &largest, const PlannedDevice &device,
                        CommandOptions options) {
  if (options.report.empty() && options.dumpDir.empty()) return ExitDone;
  for (const TrialOption &option : largest.options()) option.applyTo(options);
  ProgramPlan plan;
  int status = ExitDone;
  std::string text;
  {
    CapturedMessages said; // warnings about the model were printed
    Input input = readForTarget(context, options);
    status = input.module ? makePlan(input, options, device, plan) : input.status;
    text = said.text().str();
  }
  if (status != ExitDone) messages() << text;
  return status;
}

/// `plan --largest`.
static int planLargest(ModuleOp module, const CommandOptions &options) {
  PlannedDevice device = plannedDevice(module, options);
  if (int status = checkTrials(options, device)) return status;
  Trials trials(module, options, device);
  std::string problem;
  std::optional<SizeSetting> setting = findSizeSetting(trials, options.largest, problem);
  if (!setting) return refuse(options.input.path + ": " + problem);
  trials.planWith(setting->with(setting->size)); // the search begins there
  if (int status = trials.data() ? checkData(*trials.data()) : ExitDone) return status;
  device = trials.device(); // or the budget
  Largest largest = findLargest(trials, *setting);
  if (largest.size > 0)
    if (int status = writeLargest(*module.getContext(), largest, device, options)) return status;
  results() << (options.json ? runtime::dumpJson(largestAsJson(largest, device), 1) + "\n"
                             : describeLargest(largest, device));
  if (largest.size > 0) return ExitDone;
  return refuse(options.input.path + " does not fit into " + (device.isBudget ? "" : "the memory of ") + device.name +
                " with any " + options.largest + "; `tessera plan --suggest` looks for other changes");
}

/// Prints a plan, with suggestions if they are asked for.
static void printPlan(const ProgramPlan &plan, Trials *trials, const CommandOptions &options) {
  std::optional<Suggestions> suggestions;
  if (trials) suggestions = findSuggestions(*trials);
  if (options.json) {
    runtime::Json json = planAsJson(plan);
    if (suggestions) json["suggestions"] = suggestionsAsJson(*suggestions, plan.device);
    results() << runtime::dumpJson(json, 1) << "\n";
    return;
  }
  results() << describePlan(plan, {options.verbose, options.listsValues});
  if (suggestions) results() << describeSuggestions(*suggestions, plan.device);
}

int tessera::runPlan(const CommandOptions &options) {
  if (options.report == "-")
    return usage("--report -: standard output has the plan; name a file for the page (./- if it is called so)");
  if (int status = checkOptions(options, false)) return status;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  printDiagnosticsOf(context, options.input.path);
  Input input = readForTarget(context, options);
  if (!input.module) return input.status;
  if (!options.largest.empty()) return planLargest(*input.module, options);
  PlannedDevice device = plannedDevice(*input.module, options);
  if (int status = options.suggests ? checkTrials(options, device) : ExitDone) return status;
  std::optional<Trials> trials;
  if (options.suggests) trials.emplace(*input.module, options, device); // before the phases change the module
  CommandOptions planned = options;
  if (trials) {
    planned.takesLeast = true;
    trials->planWith({});
    device = trials->device();
  }
  ProgramPlan plan;
  if (int status = makePlan(input, planned, device, plan)) return status;
  printPlan(plan, trials ? &*trials : nullptr, options);
  if (!(options.device || device.isBudget) || !plan.fit || plan.fit->fits()) return ExitDone;
  llvm::outs().flush(); // what follows is about it
  return refuse(options.input.path + " does not fit into " + (device.isBudget ? "" : "the memory of ") + device.name +
                (plan.fit->devicesForState > 1
                     ? "; its state alone takes " + std::to_string(plan.fit->devicesForState) + " of them"
                     : "") +
                (trials ? "" : "; `tessera plan --suggest` looks for changes with which it does"));
}

int tessera::runExplain(const CommandOptions &options) {
  const DiagnosticCodeInfo *info = findDiagnosticCode(options.code);
  if (!info) return usage("no diagnostic has the code " + options.code);
  results() << info->name << ": " << info->title << "\n\n" << info->text << "\n";
  return ExitDone;
}
