//===- Options.h - the command line of a training program -----------------===//

#ifndef TESSERA_RUNTIME_COMMANDS_OPTIONS_H
#define TESSERA_RUNTIME_COMMANDS_OPTIONS_H

#include "runtime/base/Error.h"
#include "runtime/weights/ModelWeights.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tessera::runtime {

/// Options of `train` alone.
struct TrainOptions {
  std::optional<int64_t> steps;
  std::string checkpointDir, resume = "auto", init, metrics, profile;
  int64_t logEvery = 0, skipBatches = 0;
  int64_t auditSteps = 0;    ///< steps to compare with f32; 0: train
  int64_t checkReplicas = 0; ///< steps between comparisons of what ranks hold equally; 0: none
  bool quiet = false, overfitBatch = false, profileTable = false;
  std::string tensorboard;
};

/// Options of `generate` alone.
struct GenerateOptions {
  std::string prompt, promptTokens;
  int64_t length = 256, topK = 0;
  double temperature = 1, topP = 1;
  std::string tokenizer;
};

/// Options of `predict` alone.
struct PredictOptions {
  std::string output;                  ///< empty or "-": standard output
  std::vector<std::string> echo, only; ///< fields, and outputs; no `only`: all outputs
  bool likelihood = false;
};

/// The command line of all commands.
struct Options {
  TrainOptions train;
  GenerateOptions generate;
  PredictOptions predict;
  std::vector<std::string> data, set;
  std::optional<uint64_t> seed;
  int threads = 0;
  bool bind = false;
  int rankTimeout = 30;        ///< seconds that a rank waits for another one; 0: for ever
  std::string checkpoint;      ///< of eval, predict, generate and export
  std::string weights, output; ///< of export and import
  WeightOptions partial;       ///< of export, import and train: --only and --map
};

class LoadedProgram;
class RunRanks;

ExitStatus runTrain(LoadedProgram &program, const Options &options, RunRanks &ranks);
ExitStatus runEvaluate(LoadedProgram &program, const Options &options, RunRanks &ranks);
ExitStatus runPredict(LoadedProgram &program, const Options &options, RunRanks &ranks);
ExitStatus runGenerate(LoadedProgram &program, const Options &options, RunRanks &ranks);
ExitStatus runInfo(LoadedProgram &program, const Options &options);
ExitStatus runExport(LoadedProgram &program, const Options &options);
ExitStatus runImport(LoadedProgram &program, const Options &options);

/// The main function of a launcher: reads the payload at the end of `programFile`, parses the command line, runs the
/// command, prints errors. Returns the exit status.
int runLauncher(int argc, char **argv, const std::string &programFile);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_COMMANDS_OPTIONS_H
