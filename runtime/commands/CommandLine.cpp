//===- CommandLine.cpp - parses the command line and reports errors -------===//

#include "runtime/base/NearestWord.h"
#include "runtime/base/PathPattern.h"
#include "runtime/commands/Failure.h"
#include "runtime/commands/RunRanks.h"
#include "runtime/machine/LoadedProgram.h"
#include "runtime/machine/StepAllocator.h"
#include "runtime/train/MemoryNeeds.h"
#include "runtime/train/Signals.h"
#include "runtime/weights/WeightMap.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sstream>
#include <unistd.h>

namespace tessera::runtime {

/// An integer within bounds. CLI11's own check accepts fractions, and its message does not name the bounds.
static CLI::Validator wholeNumber(int64_t least, int64_t most = INT64_MAX) {
  auto check = [=](std::string &text) {
    int64_t number = 0;
    auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    bool isWhole = error == std::errc() && stop == text.data() + text.size();
    if (isWhole && number >= least && number <= most) return std::string();
    std::string bounds =
        most == INT64_MAX ? fmt::format("of at least {}", least) : fmt::format("from {} to {}", least, most);
    return fmt::format("expected a whole number {}, got {}", bounds, text);
  };
  return CLI::Validator(check, "");
}

static CLI::Validator realNumber(double least, double most) {
  auto check = [=](std::string &text) {
    double number = 0;
    auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    bool isNumber = error == std::errc() && stop == text.data() + text.size();
    if (isNumber && number >= least && number <= most) return std::string();
    return fmt::format(
        "expected a number {}, got {}",
        most < HUGE_VAL ? fmt::format("from {} to {}", least, most) : fmt::format("of at least {}", least), text);
  };
  return CLI::Validator(check, "");
}

static void addThreadsOption(CLI::App *command, Options &options) {
  command->add_option("--threads", options.threads, "threads; default: what the program was compiled for")
      ->check(wholeNumber(1, 4096));
}

/// Options of commands that compute.
static void addMachineOptions(CLI::App *command, Options &options) {
  addThreadsOption(command, options);
  command->add_flag("--bind", options.bind, "pin each thread to its own processor");
}

/// The option of commands that run on several ranks.
static void addRankOption(CLI::App *command, Options &options) {
  command
      ->add_option("--rank-timeout", options.rankTimeout,
                   "of several ranks: seconds that one waits for another one; 0: for ever; default 30")
      ->check(wholeNumber(0, 1 << 20));
}

/// What precedes the `=` in a value of `--data`.
static constexpr const char *dataForms =
    "PATH or KEY=PATH; KEY is a source, train or val, and a field, those that are needed, joined by dots";

static void addCheckpointOption(CLI::App *command, Options &options) {
  command->add_option(
      "--checkpoint", options.checkpoint,
      "a checkpoint, a folder of them, `best`, FOLDER/best, or a safetensors file; default: the newest in "
      "./NAME-checkpoints");
}

/// Options of commands that read or write weights.
static void addWeightOptions(CLI::App *command, Options &options) {
  command
      ->add_option("--only", options.partial.only,
                   "parameters, as paths with * and **: the others keep their initial values, or are not written")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--map", options.partial.map,
                      fmt::format("names and axes of the file: a map, or one of {}", namesOfBuiltinMaps()));
}

static void addTrain(CLI::App &app, Options &options) {
  CLI::App *train = app.add_subcommand("train", "train, or resume training");
  train->add_option("--data", options.data, dataForms)->allow_extra_args(false);
  train
      ->add_option("--steps", options.train.steps, "stop after this step, counted from step 0; schedules do not change")
      ->check(wholeNumber(0));
  train->add_option("--seed", options.seed, "seed of initialisation and shuffling; default 1337")
      ->check(wholeNumber(0));
  train->add_option("--checkpoint-dir", options.train.checkpointDir,
                    "folder of checkpoints; default: ./NAME-checkpoints if the model file says save(...), else none");
  train->add_option("--resume", options.train.resume, "auto (default), never, or a checkpoint");
  train->add_option("--init", options.train.init, "start from these weights (safetensors or checkpoint)");
  addWeightOptions(train, options);
  train->add_option("--set", options.set, "NAME=VALUE: change a training setting")->allow_extra_args(false);
  train->add_option("--log-every", options.train.logEvery, "steps between progress lines if there is no terminal")
      ->check(wholeNumber(1));
  train->add_option("--metrics", options.train.metrics, "write JSON lines to FILE, or - for standard output");
  train->add_option("--profile", options.train.profile,
                    "write the time of each kernel and contraction in a step to FILE");
  train->add_flag("--profile-table", options.train.profileTable,
                  "at the end, show the time of each line of the model and of each kernel");
  train
      ->add_flag_callback(
          "--audit-precision", [&options] { options.train.auditSteps = 3; },
          "compare some steps with f32 and list the values with the largest errors; saves nothing")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  train->add_option("--tensorboard", options.train.tensorboard, "write scalars for TensorBoard to this folder");
  train->add_option("--skip-batches", options.train.skipBatches, "skip this many batches")->check(wholeNumber(0));
  train->add_flag("--overfit-batch", options.train.overfitBatch, "train on the first batch only");
  train->add_flag("--quiet", options.train.quiet, "print neither progress nor evaluations");
  train
      ->add_option("--check-replicas", options.train.checkReplicas,
                   "of several ranks: compare every N steps what they hold equally")
      ->check(wholeNumber(1));
  addMachineOptions(train, options);
  addRankOption(train, options);
}

static void addEval(CLI::App &app, Options &options) {
  CLI::App *eval = app.add_subcommand("eval", "losses and metrics over the validation data");
  eval->add_option("--data", options.data, "data to evaluate instead")->allow_extra_args(false);
  addCheckpointOption(eval, options);
  addMachineOptions(eval, options);
  addRankOption(eval, options);
}

static void addPredict(CLI::App &app, Options &options) {
  CLI::App *predict = app.add_subcommand("predict", "write the model's outputs for rows of data");
  predict->add_option("--data", options.data, dataForms)->allow_extra_args(false)->required();
  predict->add_option("-o,--output", options.predict.output,
                      "FILE.csv, FILE.npy or FILE.safetensors; default: CSV on standard output");
  predict->add_option("--echo", options.predict.echo, "FIELD: also write this field of the data; may be repeated")
      ->allow_extra_args(false);
  predict->add_option("--only", options.predict.only, "OUTPUT: write this output of several; may be repeated")
      ->allow_extra_args(false);
  predict->add_flag("--likelihood", options.predict.likelihood,
                    "of a model of tokens: write the log-likelihood of each next token instead of the scores");
  addCheckpointOption(predict, options);
  addMachineOptions(predict, options);
  addRankOption(predict, options);
}

static void addOthers(CLI::App &app, Options &options) {
  CLI::App *generate = app.add_subcommand("generate", "continue a text");
  generate->add_option("--prompt", options.generate.prompt, "text to begin with");
  generate->add_option("--prompt-tokens", options.generate.promptTokens, "tokens to begin with, as integers");
  generate->add_option("--length", options.generate.length, "tokens to generate; default 256")->check(wholeNumber(0));
  generate->add_option("--temperature", options.generate.temperature, "0: always the most likely token")
      ->check(realNumber(0, HUGE_VAL));
  generate->add_option("--top-k", options.generate.topK, "sample from the K most likely tokens")->check(wholeNumber(0));
  generate
      ->add_option("--top-p", options.generate.topP,
                   "sample from the most likely tokens that have this total probability")
      ->check(realNumber(0, 1));
  generate->add_option("--seed", options.seed, "seed of sampling; default 1337")->check(wholeNumber(0));
  generate->add_option("--tokenizer", options.generate.tokenizer, "tokenizer.json, for a text as prompt and output");
  CLI::App *info = app.add_subcommand("info", "show state table, plan and memory; runs nothing");
  info->add_option("--data", options.data, "data whose memory is counted, as for train")->allow_extra_args(false);
  CLI::App *exporting = app.add_subcommand("export", "write the parameters of a checkpoint");
  exporting->add_option("weights", options.weights, "FILE.safetensors")->required();
  CLI::App *importing = app.add_subcommand("import", "make a checkpoint of step 0 from weights");
  importing->add_option("weights", options.weights, "FILE.safetensors, its index, or a folder with them")->required();
  importing->add_option("-o,--checkpoint-dir", options.output, "folder of the checkpoint; default: ./NAME-checkpoints");
  importing->add_option("--seed", options.seed, "seed of state that is not in the file; default 1337")
      ->check(wholeNumber(0));
  for (CLI::App *command : {exporting, importing}) addWeightOptions(command, options);
  for (CLI::App *command : {generate, exporting}) addCheckpointOption(command, options);
  for (CLI::App *command : {generate, exporting, importing}) addMachineOptions(command, options);
  addRankOption(generate, options);
  addThreadsOption(info, options); // computes nothing
}

/// --only and --map of `train` say how --init is read.
static void checkWeightOptions(Options &options, bool isTrain) {
  options.partial.isOffered = true;
  for (const std::string &pattern : options.partial.only) {
    if (pattern.empty()) failUsage("--only: expected a path, got nothing");
    if (std::string mistake = misplacedStar(pattern); !mistake.empty()) failUsage("--only {}: {}", pattern, mistake);
  }
  bool isUsed = !options.partial.only.empty() || !options.partial.map.empty();
  if (isTrain && isUsed && options.train.init.empty())
    failUsage("--only and --map say how weights are read; name some with --init PATH");
}

/// An empty path is an unset variable of the shell; it must not count as a missing option.
static void refuseEmptyValues(CLI::App &command) {
  for (const char *name : {"--checkpoint-dir", "--resume", "--init", "--metrics", "--profile", "--tensorboard",
                           "--checkpoint", "--output", "--tokenizer", "--map", "--only", "--data", "weights"})
    if (CLI::Option *option = command.get_option_no_throw(name))
      option->check(CLI::Validator(
          [](std::string &text) { return text.empty() ? std::string("expected a path, got nothing") : std::string(); },
          ""));
}

static void refuseUnknownCommand(const CLI::App &app, int argc, char **argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands({})) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return;
  failUsage("unknown command '{}'; expected one of {}", argv[1], fmt::join(names, ", "));
}

/// The command that was given.
static const CLI::App &commandOf(const CLI::App &app) {
  std::vector<const CLI::App *> commands = app.get_subcommands([](const CLI::App *one) { return one->parsed(); });
  return commands.empty() ? app : *commands[0];
}

/// The options of a command that are near to one of the arguments, as "; did you mean --steps?".
static std::string nearestOptions(const CLI::App &command, const std::vector<std::string> &arguments) {
  std::vector<std::string> known;
  for (const CLI::Option *option : command.get_options())
    for (const std::string &name : option->get_lnames()) known.push_back("--" + name);
  for (const std::string &argument : arguments) {
    if (!argument.starts_with("--")) continue;
    std::string nearest = nearestWord(argument.substr(0, argument.find('=')), known);
    if (!nearest.empty()) return fmt::format("; did you mean {}?", nearest);
  }
  return "";
}

/// Throws a usage Error for mistakes that CLI11 describes badly: it prints arguments in reverse, and says "weights is
/// required".
static void explainMistake(const CLI::App &app, const CLI::ParseError &error) {
  const CLI::App &command = commandOf(app);
  std::vector<std::string> left = command.remaining();
  if (dynamic_cast<const CLI::ExtrasError *>(&error) && !left.empty())
    failUsage("{}: unexpected argument{} {}{}{}", command.get_name(), left.size() == 1 ? "" : "s", fmt::join(left, " "),
              nearestOptions(command, left), fmt::format("; {} --help lists what it takes", command.get_name()));
  const CLI::Option *weights = command.get_option_no_throw("weights");
  if (dynamic_cast<const CLI::RequiredError *>(&error) && weights && weights->count() == 0)
    failUsage("{0}: name the file: {0} FILE.safetensors", command.get_name());
}

/// Prints the help that was asked for. Throws a usage Error for mistakes; CLI11's messages quote arguments as they are.
static void printHelp(const CLI::App &app, const CLI::ParseError &error) {
  std::ostringstream help, message;
  int code = app.exit(error, help, message);
  printText("{}", help.str());
  if (code == 0) return;
  std::string text = message.str();
  while (text.ends_with('\n')) text.pop_back(); // printing adds one
  throw Error(text, ExitStatus::Usage);
}

namespace {
/// What is to be run.
struct Command {
  std::string name; ///< empty: nothing, as with --help
  Options options;
  std::unique_ptr<LoadedProgram> program;
};
} // namespace

static void requireOneProcess(const std::string &name) {
  if (RankLaunch launch = findRankLaunch(); launch.size > 1)
    failUsage("{}: one process writes the file; start {} without the job launcher", launch.describeAll(), name);
}

static ExitStatus runCommand(Command &command) {
  const auto &[name, options, opened] = command;
  LoadedProgram &program = *opened;
  // The commands that one process runs.
  if (name == "info") return runInfo(program, options);
  if (name == "export") return runExport(program, options);
  if (name == "import") return runImport(program, options);
  RunRanks ranks(program.manifest());
  return ranks.run([&] {
    ranks.connect(program, name, options);
    if (name == "train") return runTrain(program, options, ranks);
    if (name == "eval") return runEvaluate(program, options, ranks);
    if (name == "predict") return runPredict(program, options, ranks);
    return runGenerate(program, options, ranks);
  });
}

/// Parses the command line and opens the program.
static Command openCommand(int argc, char **argv, Payload payload, const std::string &programFile) {
  CLI::App app("a training program made by Tessera");
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  Command command;
  Options &options = command.options;
  addTrain(app, options);
  addEval(app, options);
  addPredict(app, options);
  addOthers(app, options);
  for (CLI::App *command : app.get_subcommands({})) refuseEmptyValues(*command);
  refuseUnknownCommand(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &e) {
    explainMistake(app, e);
    printHelp(app, e);
    return {};
  }
  checkWeightOptions(options, app.got_subcommand("train"));
  if (!app.got_subcommand("train")) releaseSaveRequests();
  command.name = app.get_subcommands()[0]->get_name();
  if (command.name == "export" || command.name == "import") requireOneProcess(command.name);
  command.program = std::make_unique<LoadedProgram>(std::move(payload), programFile);
  command.program->adviseOnMemory(
      [manifest = &command.program->manifest()](int64_t available) { return memoryAdvice(*manifest, available); });
  return command;
}

/// None: the file is the launcher without a program.
static std::optional<Command> openCommand(int argc, char **argv, const std::string &programFile) {
  Payload payload;
  std::string message;
  switch (readPayload(programFile, payload, message)) {
  case PayloadStatus::Found:
    return openCommand(argc, argv, std::move(payload), programFile);
  case PayloadStatus::Broken:
    fail("{}", message);
  case PayloadStatus::None:
    break;
  }
  return std::nullopt;
}

static int loadAndRun(int argc, char **argv, const std::string &programFile) {
  std::optional<Command> command;
  try {
    command = openCommand(argc, argv, programFile);
  } catch (const std::exception &) {
    return static_cast<int>(endBeforeStart(currentFailure()));
  }
  if (command) return static_cast<int>(command->name.empty() ? ExitStatus::Done : runCommand(*command));
  warn("This is the Tessera launcher: the runtime of training programs, without a program.\n"
       "`tessera compile MODEL.tsr -o PROGRAM` makes one.");
  return static_cast<int>(ExitStatus::Usage);
}

/// If a standard stream is closed, the next file opened would get its descriptor, and output would be written into
/// it. Writing to a closed standard output remains an error: what takes its place can only be read.
static void openStandardStreams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) < 0)
      _exit(static_cast<int>(ExitStatus::Fault));
}

/// Results are written to standard output: failing to is an error. (`train` only prints progress there.)
static int finishOutput(int status) {
  bool good = std::fflush(stdout) == 0;
  int code = good ? 0 : errno;
  if (good && !std::ferror(stdout)) return status;
  warn("error: cannot write to standard output{}{}; what was to be printed there is not whole", code ? ": " : "",
       code ? strerror(code) : "");
  return status == 0 ? static_cast<int>(ExitStatus::Fault) : status;
}

int runLauncher(int argc, char **argv, const std::string &programFile) {
  holdSaveRequests(); // first: loading the program takes a while
  openStandardStreams();
  std::signal(SIGXFSZ, SIG_IGN); // exceeding a file size limit is an error of the write, as on a full disk
  int status;
  try {
    status = loadAndRun(argc, argv, programFile);
  } catch (const std::exception &) {
    Failure failure = currentFailure();
    std::fflush(stdout);
    printError(fmt::format("error: {}", failure.text));
    status = static_cast<int>(failure.status);
  }
  status = finishOutput(status);
  if (const char *count = getenv("TESSERA_COUNT_ALLOCATIONS"); count && count[0] == '1')
    warn("allocations inside steps: {}", stepallocator::stepAllocations());
  return status;
}

} // namespace tessera::runtime
