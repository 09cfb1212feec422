//===- Commands.h - the commands of the compiler --------------------------===//

#ifndef TESSERA_TOOLS_COMMANDS_H
#define TESSERA_TOOLS_COMMANDS_H

#include "codegen/program/Program.h"
#include "tools/DeviceOption.h"
#include "tools/Input.h"
#include "tools/MemoryOption.h"
#include "tools/MeshOption.h"

namespace tessera {

/// Large because: each option of a command is a field.
struct CommandOptions {
  InputOptions input;
  CodegenOptions codegen;
  std::string target;                 ///< empty: that of the module, else the CPU
  std::string march;                  ///< empty: that of `device`, else this machine's
  std::string on;                     ///< of `devices`: what to print
  std::optional<DeviceOption> device; ///< what `on` says; none: what `target` and `march` select
  std::string prefer;                 ///< `speed` or `memory`; empty: that of the module, else speed
  MemoryOptions memory;
  MeshOptions mesh;
  std::string gemmEpilogues; ///< `bias` or `gelu`; empty: those of the module, else all
  std::string output;
  std::string compileTo;
  std::string dumpDir;
  std::string report; ///< path of an HTML page about the program; empty: none
  std::string diagnostics = "text";
  std::string code;      ///< of `explain`
  std::string other;     ///< of `diff`: what the input is compared with
  std::string failAbove; ///< of `diff`: the limit, such as `2%`; empty: none
  bool timing = false;
  bool verbose = false;
  bool plansDevices = false;   ///< `plan`: `on` may name more devices than a program without a mesh runs on
  bool json = false;           ///< of `plan` and `diff`
  bool listsValues = false;    ///< of `plan`: what layers save and recompute
  std::optional<double> price; ///< of `plan`: US dollars for an hour of the device
  std::string largest;         ///< of `plan`: the axis whose largest size is searched for; empty: none
  bool suggests = false;       ///< of `plan`
  /// The options are tried: a defect of the compiler leaves no file.
  bool isTrial = false;
  /// A program that takes more than `--memory` allows, but the least that it can, is no error.
  bool takesLeast = false;
  std::vector<std::string> data;     ///< of `plan`: files in place of those that the model names
  std::vector<std::string> profiles; ///< of `calibrate`: take the times of these
  bool useCache = true;
  std::vector<std::string> programArguments; ///< of `train`: passed to the program

  /// Whether it is shown what the alternatives of the values of layers cost, which takes a while to find out.
  bool pricesValues() const { return !isTrial && (listsValues || json || !report.empty()); }
};

/// Enters what `on` says: the device, and from it the target and the processor. Prints errors, among them what
/// `--target` and `--march` contradict, and returns an exit status.
int applyDevice(CommandOptions &options, bool maySeveral);

/// Reads the input as a module for the target. Prints errors; then there is no module.
Input readForTarget(mlir::MLIRContext &context, const CommandOptions &options);
/// Runs the phases, and describes the program without its code. Prints errors.
mlir::FailureOr<std::string> manifestOf(Input &input, const CommandOptions &options);

// Each returns an exit status.
int runCompile(const CommandOptions &options);
int runTrain(const CommandOptions &options);
int runCheck(const CommandOptions &options);
int runPlan(const CommandOptions &options);
int runDevices(const CommandOptions &options);
int runDiff(const CommandOptions &options);
int runExplain(const CommandOptions &options);

} // namespace tessera

#endif // TESSERA_TOOLS_COMMANDS_H
