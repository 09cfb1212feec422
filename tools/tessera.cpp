//===- tessera.cpp - the compiler's command line --------------------------===//

#include "frontend/Frontend.h"
#include "frontend/diagnostics/Diagnostics.h"
#include "tools/Calibrate.h"
#include "tools/CalibratedLinks.h"
#include "tools/Commands.h"
#include "tools/FatalErrors.h"
#include "tools/Messages.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/InitLLVM.h"
#include <CLI/CLI.hpp>
#include <csignal>
#include <sstream>

using namespace tessera;

/// Rejects an empty value, which would be taken for none.
static std::string checkNotEmpty(const std::string &value) { return value.empty() ? "must not be empty" : ""; }

/// Options of every command that reads a model.
static void addInputOptions(CLI::App *command, CommandOptions &options) {
  command->add_option("MODEL", options.input.path, "model file (.tsr), or a dumped module (.mlir)")->required();
  command->add_option("--precision", options.input.precision, "type to compute in; short for --set compute=TYPE")
      ->check(CLI::IsMember(computeTypes()));
  command->add_option("--set", options.input.sets, "NAME=VALUE: override a hyperparameter or a training setting")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--preset", options.input.preset, "use the values of this preset of the model file");
  command->add_option("--diagnostics", options.diagnostics, "format of error messages: text (default) or json")
      ->check(CLI::IsMember({"text", "json"}));
}

static void addMemoryOptions(CLI::App *command, MemoryOptions &options) {
  command
      ->add_option(
          "--memory", options.memory,
          "memory that the program may use: an amount such as 8GiB, a part of the device's such as 80%, or auto "
          "(all of it); what does not fit is recomputed")
      ->check(checkMemoryText);
  std::vector<std::string> modes;
  for (llvm::StringRef mode : rematModes()) modes.push_back(mode.str());
  command
      ->add_option(
          "--remat", options.remat,
          "what the backward pass recomputes: as little as the memory allows (auto), nothing (none), each layer "
          "(layer), or segments of layers (sqrt)")
      ->check(CLI::IsMember(modes));
  auto addPatterns = [&](const char *name, std::vector<std::string> &patterns, const char *text) {
    command->add_option(name, patterns, text)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->check(checkNotEmpty);
  };
  addPatterns("--save", options.saved, "values of layers that are saved, as paths with * and **");
  addPatterns("--recompute", options.recomputed, "values of layers that are recomputed, as paths with * and **");
}

static void addMeshOptions(CLI::App *command, MeshOptions &options) {
  command
      ->add_option(
          "--devices", options.devices,
          "divide the program among so many ranks, in the way that takes the least time as far as --mesh, --shard and "
          "--zero do not say it")
      ->check(CLI::Range(1, 65536));
  command
      ->add_option(
          "--plan", options.plan,
          "a file that keeps the sharding that --devices finds: it is written if it is not there, and used as it "
          "is if it is")
      ->check(checkNotEmpty)
      ->check([](const std::string &path) { return path == "-" ? "a plan is no output: name a file" : ""; });
  command
      ->add_option("--mesh", options.mesh,
                   "divide the program among ranks, which form a mesh with named axes, such as data=2,tensor=4; the "
                   "last axis is the one of adjacent ranks")
      ->check(checkMeshText);
  command
      ->add_option("--shard", options.shards,
                   "axes of the model that are laid along axes of the mesh, such as head=tensor,ff=tensor, or for the "
                   "states at a path (with * and **) PATH:vocab=tensor (default: the batch along `data`)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(checkShardText);
  command
      ->add_option("--zero", options.zero,
                   "what ranks that the batch is divided among divide too: moments (1), gradients (2), weights (3)")
      ->check(CLI::Range(0, 3));
  command
      ->add_option("--leaves", options.leaves,
                   "cut the batch into so many leaves, a power of two, whose gradients add in a binary tree: results "
                   "are the same bits for every number of ranks along `data` that divides it")
      ->check(checkLeavesText);
  command
      ->add_option("--reductions", options.reductions,
                   "what adds the values of several ranks: ranks (default), in their order, or on GPUs library: NCCL, "
                   "in an order of its own, large values in f32")
      ->check(CLI::IsMember({"ranks", "library"}));
}

/// Options of commands that run the phases.
static void addPhaseOptions(CLI::App *command, CommandOptions &options) {
  command->add_option(
      "--target", options.target,
      "cpu (default), cuda, or cuda:ARCH,... for GPU architectures such as sm_90a (compute_90 for PTX)");
  command
      ->add_option(
          "--on", options.on,
          "the device to compile for: " + presetNames() +
              ", or a file that describes it; 8xNAME: a machine with 8 of them, 2x8xNAME: two such machines, for the "
              "ranks of --mesh; processors of a machine are divided by its ranks")
      ->check(checkNotEmpty);
  command->add_option("--march", options.march,
                      "processor to generate code for, by LLVM's name (default: that of this machine)");
  command
      ->add_option("--prefer", options.prefer,
                   "whether a GPU program spends memory for speed: speed (default), or memory if it does not")
      ->check(CLI::IsMember({"speed", "memory"}));
  addMemoryOptions(command, options.memory);
  addMeshOptions(command, options.mesh);
  command
      ->add_option("--gemm-epilogues", options.gemmEpilogues,
                   "epilogues of contractions on a GPU: bias, or gelu (default from sm_90 on), which is bias, GELU and "
                   "its gradient")
      ->check(CLI::IsMember({"bias", "gelu"}));
  command
      ->add_option("--dump-dir", options.dumpDir,
                   "write the IR after each phase, the code and the manifest to this folder")
      ->check(checkNotEmpty);
  command
      ->add_option("--report", options.report,
                   "write an HTML page about the memory, cost and precision of the program to this file")
      ->check(checkNotEmpty);
  command->add_flag("--timing", options.timing, "print the duration of each phase");
}

static CLI::Option *addThreadsOption(CLI::App *command, CommandOptions &options) {
  return command
      ->add_option("--threads", options.codegen.threads,
                   "number of threads of the program (default: that of this machine)")
      ->check(CLI::Range(1, 4096));
}

/// Options of commands that generate code.
static void addCodeOptions(CLI::App *command, CommandOptions &options) {
  addThreadsOption(command, options);
  command->add_flag("--audit-precision", options.input.audits,
                    "include the step in f32 in the program, for its `train --audit-precision`");
  command->add_flag("!--no-cache", options.useCache, "neither read nor write the cache of compiled programs");
}

static void addDiffOptions(CLI::App *command, CommandOptions &options) {
  command
      ->add_option("A", options.input.path,
                   "a program, its manifest, a plan (`tessera plan --json`), a dumped module (.mlir), or a folder that "
                   "--dump-dir filled")
      ->required();
  command->add_option("B", options.other, "what to compare it with")->required();
  command
      ->add_option("--fail-above", options.failAbove,
                   "PERCENT%: fail only if memory or predicted time of a step grew by more than this, such as 2%")
      ->check(checkNotEmpty);
  command->add_flag("--json", options.json, "print the differences of two programs as one JSON object");
  command->add_flag("-v,--verbose", options.verbose, "list all differences of two programs, not only the largest");
}

/// A message if the first word should be a command but is not one; else empty.
static std::string findWrongCommand(const CLI::App &app, llvm::StringRef word) {
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands({})) names.push_back(command->get_name());
  if (word.empty() || word.starts_with("-") || llvm::is_contained(names, word)) return "";
  llvm::SmallVector<llvm::StringRef> candidates(names.begin(), names.end());
  llvm::StringRef nearest = nearestName(word, candidates);
  return ("unknown command `" + word + "`; " +
          (nearest.empty() ? "the commands are " + llvm::join(names, ", ") : "did you mean `" + nearest.str() + "`?"))
      .str();
}

/// Runs the command; returns its exit status.
static int run(int argc, char **argv) {
  llvm::StringRef word = argc > 1 ? argv[1] : "";
  if (word == "calibrate") useAllProcessors(); // options have the number of processors
  CLI::App app{"Tessera: a compiler for training.\n"};
  app.name("tessera");
  app.require_subcommand(1);
  app.set_version_flag("--version", "tessera " TESSERA_VERSION);
  CommandOptions options;

  CLI::App *compile = app.add_subcommand("compile", "compile a model to a training program");
  addInputOptions(compile, options);
  addPhaseOptions(compile, options);
  addCodeOptions(compile, options);
  compile->add_flag("-v,--verbose", options.verbose, "print more information");
  compile
      ->add_option("-o,--output", options.output,
                   "path of the training program; with --compile-to, of the module (default: standard output)")
      ->check(checkNotEmpty);
  compile->add_option("--compile-to", options.compileTo, "stop after this phase and write the module")
      ->check(checkNotEmpty);

  CLI::App *train = app.add_subcommand(
      "train", "compile (cached) and train; takes the options of `compile` and of the program's `train`");
  addInputOptions(train, options);
  addPhaseOptions(train, options);
  addCodeOptions(train, options);
  train->allow_extras();
  train->footer("Every other option is passed to the program; `PROGRAM train --help` lists them.");

  CLI::App *check = app.add_subcommand("check", "parse and type-check a model");
  addInputOptions(check, options);

  CLI::App *plan =
      app.add_subcommand("plan", "print the memory and the time that the program will need, without making it");
  addInputOptions(plan, options);
  addPhaseOptions(plan, options);
  addThreadsOption(plan, options);
  plan->add_flag("-v,--verbose", options.verbose, "list all buffers, divided lines and rejected shardings");
  plan->add_option("--data", options.data, "files in place of those that the model names, as for the program's `train`")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  plan->add_option("--price", options.price, "US dollars for an hour of the device (default: that of its description)")
      ->check(CLI::Range(0.0, 1e6))
      ->check([](const std::string &text) {
        return llvm::StringRef(text).contains_insensitive("nan") ? "must be a number" : "";
      });
  plan->add_flag("--json", options.json, "print the plan as one JSON object");
  plan->add_flag("--values", options.listsValues,
                 "list the values that layers save or recompute, and what the alternative costs");
  CLI::Option *largest =
      plan->add_option("--largest", options.largest, "print the largest batch, or length of a row, that fits instead")
          ->check(CLI::IsMember({"batch", "seq"}));
  CLI::Option *suggests =
      plan->add_flag("--suggest", options.suggests, "if it does not fit, print options with which it does")
          ->excludes(largest);
  plan->get_option("--plan")->excludes(largest)->excludes(suggests); // a plan is for one program

  CLI::App *devices = app.add_subcommand("devices", "list the devices that are known, or print a description");
  devices->add_option("DEVICE", options.on, "a device by name, or a file that describes one");

  CLI::App *calibrate = app.add_subcommand(
      "calibrate", "measure this machine, in under a minute, and write a description of it for --on");
  calibrate->add_option("-o,--output", options.output, "the description, a file that ends in .device")
      ->required()
      ->check([](const std::string &path) { // as `--on` tells a file from a name
        return llvm::StringRef(path).ends_with(".device") ? "" : "must end in .device";
      });
  CLI::Option *from =
      calibrate
          ->add_option("--from", options.profiles,
                       "take the times of these profiles, which `PROGRAM train --profile` wrote, instead of measuring")
          ->check(checkNotEmpty);
  calibrate->add_option("--on", options.on, "a description to begin with: a device by name, or a file")
      ->check(checkNotEmpty);
  addThreadsOption(calibrate, options)->excludes(from); // profiles have a number of threads
  calibrate->add_flag("-v,--verbose", options.verbose, "print the time of each program");

  CLI::App *diff =
      app.add_subcommand("diff", "print the differences of two programs, plans or dumps, by the names of the model");
  addDiffOptions(diff, options);

  CLI::App *explain = app.add_subcommand("explain", "explain an error code");
  explain->add_option("CODE", options.code, "for example E0210")->required();

  if (std::string problem = findWrongCommand(app, word); !problem.empty()) {
    messages() << "error: " << problem << "\n";
    return ExitUsage;
  }
  app.failure_message(
      [](const CLI::App *command, const CLI::Error &e) { return "error: " + CLI::FailureMessage::simple(command, e); });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    std::ostringstream said, wrong;
    int status = app.exit(error, said, wrong);
    llvm::outs() << said.str();
    messages() << wrong.str();
    return status == 0 ? ExitDone : ExitUsage + (word == "train" ? ExitTrainShift : 0);
  }
  options.input.jsonDiagnostics = options.diagnostics == "json";
  if (options.input.jsonDiagnostics) printErrorsAsJson();
  options.programArguments = train->remaining();
  if (*train && options.input.audits) options.programArguments.push_back("--audit-precision");
  if (*devices) return runDevices(options);
  options.plansDevices = bool(*plan);
  bool maySeveral = *plan || *compile || *train;
  if (int status = applyDevice(options, maySeveral)) return status + (*train ? ExitTrainShift : 0);
  if (*calibrate) return runCalibrate(options);
  if (*compile) return runCompile(options);
  if (*train) return runTrain(options);
  if (*check) return runCheck(options);
  if (*plan) return runPlan(options);
  if (*diff) return runDiff(options);
  return runExplain(options);
}

/// The same; an error of the runtime's readers is about what the user gave, such as a dump that was edited. `shift`: of
/// the exit status.
static int runAndReport(int argc, char **argv, int shift) {
  try {
    return run(argc, argv);
  } catch (const runtime::Error &error) {
    printError(error.what());
    return ExitInput + shift;
  }
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  int shift = argc > 1 && llvm::StringRef(argv[1]) == "train" ? ExitTrainShift : 0;
  handleFatalErrors(shift);
  // A file beyond the limit of the shell (`ulimit -f`) is a write error, as on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  int status = runAndReport(argc, argv, shift);
  // Errors of standard output count too. LLVM's streams end the process if an error is left in them.
  llvm::outs().flush();
  if (std::error_code error = llvm::outs().error()) {
    llvm::outs().clear_error();
    llvm::errs() << "error: cannot write to standard output: " << error.message() << "\n";
    if (status == ExitDone) status = ExitInput;
  }
  llvm::errs().clear_error();
  return status;
}
