//===- Commands.h - the commands of the compiler --------------------------===//

#ifndef TESSERA_TOOLS_COMMANDS_H
#define TESSERA_TOOLS_COMMANDS_H

#include "codegen/program/Program.h"
#include "tools/Input.h"

namespace tessera {

/// Large because: each option of a command is a field.
struct CommandOptions {
  InputOptions input;
  CodegenOptions codegen;
  std::string target;        ///< empty: that of the module, else the CPU
  std::string prefer;        ///< `speed` or `memory`; empty: that of the module, else speed
  std::string gemmEpilogues; ///< `bias` or `gelu`; empty: those of the module, else all
  std::string output;
  std::string compileTo;
  std::string dumpDir;
  std::string report; ///< path of an HTML page of decisions; empty: none
  std::string diagnostics = "text";
  std::string code;  ///< of `explain`
  std::string other; ///< of `diff`: what the input is compared with
  bool timing = false;
  bool verbose = false;
  bool useCache = true;
  std::vector<std::string> programArguments; ///< of `train`: passed to the program
};

// Each returns an exit status.
int runCompile(const CommandOptions &options);
int runTrain(const CommandOptions &options);
int runCheck(const CommandOptions &options);
int runPlan(const CommandOptions &options);
int runDiff(const CommandOptions &options);
int runExplain(const CommandOptions &options);

} // namespace tessera

#endif // TESSERA_TOOLS_COMMANDS_H
