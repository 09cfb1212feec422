//===- Commands.h - what each command does --------------------------------===//

#ifndef TESSERA_TOOLS_COMMANDS_H
#define TESSERA_TOOLS_COMMANDS_H

#include "codegen/program/Program.h"
#include "tools/Input.h"

namespace tessera {

struct CommandOptions {
  InputOptions input;
  CodegenOptions codegen;
  std::string target;        ///< empty: what the module says, or the CPU
  std::string gemmEpilogues; ///< `bias` or `gelu`; empty: what the module says, or all
  std::string output;
  std::string compileTo;
  std::string dumpDir;
  std::string report; ///< a page of what was decided; empty: none
  std::string diagnostics = "text";
  std::string code;  ///< of `explain`
  std::string other; ///< of `diff`: what the input is compared with
  bool timing = false;
  bool verbose = false;
  bool useCache = true;
  std::vector<std::string> programArguments; ///< of `train`: what the program gets
};

// Each returns an exit code.
int runCompile(const CommandOptions &options);
int runTrain(const CommandOptions &options);
int runCheck(const CommandOptions &options);
int runPlan(const CommandOptions &options);
int runDiff(const CommandOptions &options);
int runExplain(const CommandOptions &options);

} // namespace tessera

#endif // TESSERA_TOOLS_COMMANDS_H
