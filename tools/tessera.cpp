//===- tessera.cpp - the compiler's command line --------------------------===//

#include "frontend/diagnostics/Diagnostics.h"
#include "tools/Commands.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/InitLLVM.h"
#include <CLI/CLI.hpp>
#include <csignal>
#include <sstream>

using namespace tessera;

/// Options that shape the program: those of `compile` and, as far as they make sense, of every command that reads a
/// model.
static void addInputOptions(CLI::App *command, CommandOptions &options) {
  command->add_option("MODEL", options.input.path, "model file (.tsr), or a dumped module (.mlir)")->required();
  command
      ->add_option("--precision", options.input.precision, "f32, tf32, bf16, fp16 or fp8: short for --set compute=TYPE")
      ->check(CLI::IsMember({"f32", "tf32", "bf16", "fp16", "fp8"}));
  command->add_option("--set", options.input.sets, "NAME=VALUE: override a hyper or a training setting")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--preset", options.input.preset, "take the values of a preset");
  command->add_option("--diagnostics", options.diagnostics, "text or json")->check(CLI::IsMember({"text", "json"}));
}

/// Options of all that run the phases.
static void addPhaseOptions(CLI::App *command, CommandOptions &options) {
  command->add_option("--target", options.target,
                      "cpu (default), cuda, or cuda:sm_90a,... for the GPUs named (compute_90 for PTX)");
  command
      ->add_option(
          "--gemm-epilogues", options.gemmEpilogues,
          "what contractions on a GPU do with their sums: bias (add biases only) or gelu (default: GELU and its "
          "gradient too)")
      ->check(CLI::IsMember({"bias", "gelu"}));
  command->add_option("--dump-dir", options.dumpDir, "write the IR after each phase, code and manifest to this folder");
  command->add_option("--report", options.report, "write what was decided to this file, as an HTML page");
  command->add_flag("--timing", options.timing, "print the time of each phase");
}

/// Options of all that make code.
static void addCodeOptions(CLI::App *command, CommandOptions &options) {
  command->add_option("--march", options.codegen.march,
                      "processor to make code for, in LLVM's names (default: this machine's)");
  command
      ->add_option("--threads", options.codegen.threads, "threads the program will run with (default: this machine's)")
      ->check(CLI::Range(1, 4096));
  command->add_flag("--audit-precision", options.input.audits,
                    "put the step in f32 into the program too, for its `train --audit-precision`");
  command->add_flag("!--no-cache", options.useCache, "make the code anew, and do not keep it");
}

/// What is wrong with a first word that should be a command and is none; else empty.
static std::string findWrongCommand(const CLI::App &app, llvm::StringRef word) {
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands({})) names.push_back(command->get_name());
  if (word.empty() || word.starts_with("-") || llvm::is_contained(names, word)) return "";
  llvm::SmallVector<llvm::StringRef> candidates(names.begin(), names.end());
  llvm::StringRef nearest = nearestName(word, candidates);
  return ("no command is called `" + word + "`; " +
          (nearest.empty() ? "the commands are " + llvm::join(names, ", ") : "did you mean `" + nearest.str() + "`?"))
      .str();
}

/// Runs the command; returns its exit code.
static int run(int argc, char **argv) {
  CLI::App app{"Tessera: a compiler for training.\n"};
  app.name("tessera");
  app.require_subcommand(1);
  app.set_version_flag("--version", "tessera " TESSERA_VERSION);
  CommandOptions options;

  CLI::App *compile = app.add_subcommand("compile", "compile a model to a training executable");
  addInputOptions(compile, options);
  addPhaseOptions(compile, options);
  addCodeOptions(compile, options);
  compile->add_flag("-v,--verbose", options.verbose, "say more");
  compile->add_option("-o,--output", options.output,
                      "the training program; with --compile-to, the module (default: standard output)");
  compile->add_option("--compile-to", options.compileTo, "stop after this phase and write the module");

  CLI::App *train =
      app.add_subcommand("train", "compile (cached) and train; options of `compile` and of the program's `train`");
  addInputOptions(train, options);
  addPhaseOptions(train, options);
  addCodeOptions(train, options);
  train->allow_extras();

  CLI::App *check = app.add_subcommand("check", "parse and type-check a model");
  addInputOptions(check, options);

  CLI::App *plan = app.add_subcommand("plan", "say how much memory the program will take; nothing is run");
  addInputOptions(plan, options);
  addPhaseOptions(plan, options);
  plan->add_flag("-v,--verbose", options.verbose, "list all buffers");

  CLI::App *diff = app.add_subcommand("diff", "say what differs between two dumps, by the names of the model");
  diff->add_option("A", options.input.path, "a dumped module (.mlir), or a folder that --dump-dir filled")->required();
  diff->add_option("B", options.other, "the other one")->required();

  CLI::App *explain = app.add_subcommand("explain", "say what an error code means");
  explain->add_option("CODE", options.code, "E0210, say")->required();

  llvm::StringRef word = argc > 1 ? argv[1] : "";
  if (std::string problem = findWrongCommand(app, word); !problem.empty()) {
    llvm::errs() << "error: " << problem << "\n";
    return ExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    std::ostringstream said, wrong;
    int status = app.exit(error, said, wrong);
    llvm::outs() << said.str();
    llvm::errs() << wrong.str();
    return status == 0 ? ExitDone : ExitUsage + (word == "train" ? ExitTrainShift : 0);
  }
  options.input.jsonDiagnostics = options.diagnostics == "json";
  options.programArguments = train->remaining();
  if (*train && options.input.audits) options.programArguments.push_back("--audit-precision");
  if (*compile) return runCompile(options);
  if (*train) return runTrain(options);
  if (*check) return runCheck(options);
  if (*plan) return runPlan(options);
  if (*diff) return runDiff(options);
  return runExplain(options);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  // A file beyond the limit of the shell (`ulimit -f`) is an error of writing, as on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  int status = run(argc, argv);
  // Standard output is a file like others. LLVM's streams end the process if an error is left in them.
  llvm::outs().flush();
  if (std::error_code error = llvm::outs().error()) {
    llvm::outs().clear_error();
    llvm::errs() << "error: cannot write to standard output: " << error.message() << "\n";
    if (status == ExitDone) status = ExitInput;
  }
  llvm::errs().clear_error();
  return status;
}
