//===- Options.h - the command line of a training program ---------------------===//

#ifndef TESSERA_RUNTIME_COMMANDS_OPTIONS_H
#define TESSERA_RUNTIME_COMMANDS_OPTIONS_H

#include "runtime/base/Error.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tessera::runtime {

/// What was typed, of all commands.
struct Options {
  // train
  std::vector<std::string> data, set;
  std::optional<int64_t> steps;
  std::optional<uint64_t> seed;
  std::string checkpointDir, resume = "auto", init, metrics, profile;
  int64_t logEvery = 0, skipBatches = 0;
  int64_t auditSteps = 0; ///< steps to compare with f32; 0: train
  bool quiet = false, overfitBatch = false;
  int threads = 0;
  bool bind = false;
  // eval, generate, export
  std::string checkpoint;
  // generate
  std::string prompt, promptTokens;
  int64_t length = 256, topK = 0;
  double temperature = 1, topP = 1;
  // export, import
  std::string weights, output;
  // accepted, and refused with a reason
  std::string tensorboard, tokenizer, map;
};

class Program;

ExitCode runTrain(Program &program, const Options &options);
ExitCode runEvaluate(Program &program, const Options &options);
ExitCode runGenerate(Program &program, const Options &options);
ExitCode runInfo(Program &program, const Options &options);
ExitCode runExport(Program &program, const Options &options);
ExitCode runImport(Program &program, const Options &options);

/// Everything a launcher does: reads the payload at the end of `programFile`,
/// parses the command line, runs the command, prints errors. Returns the exit status.
int runLauncher(int argc, char **argv, const std::string &programFile);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_COMMANDS_OPTIONS_H
