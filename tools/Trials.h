//===- Trials.h - plans of a model with other options ---------------------===//

#ifndef TESSERA_TOOLS_TRIALS_H
#define TESSERA_TOOLS_TRIALS_H

#include "tools/Commands.h"
#include "tools/ProgramPlan.h"
#include <chrono>
#include <map>

namespace tessera {

/// An option that a trial has beside those of the command line, which it overrides.
struct TrialOption {
  enum Kind { Set, Precision, Prefer, Memory } kind = Set;
  std::string value; ///< of `--set`: NAME=VALUE

  /// As on the command line: `--set d.batch=8`.
  std::string text() const;
  void applyTo(CommandOptions &options) const;
};
using TrialOptions = std::vector<TrialOption>;

/// All of them as on the command line.
std::string textOf(const TrialOptions &options);

/// What came out of a trial.
struct Trial {
  std::optional<MemoryFit> fit;      ///< none: there is no plan
  std::string whose;                 ///< that memory is, if there are several devices (`whoseMemory`)
  std::string time;                  ///< of a step, for a person; empty: not known
  bool countsData = true;            ///< whether it is known what the data take
  std::string problem;               ///< why there is none
  std::vector<std::string> warnings; ///< of the frontend, by their code and text

  bool fits() const { return fit && fit->fits(); }
  std::optional<int64_t> needed() const { return fit ? std::optional(fit->needed) : std::nullopt; }
};

/// Rows of a step, or elements of a row, and of how many parts a step consists.
struct DataSizes {
  std::map<std::string, int64_t> axes;         ///< `batch`, `seq`: the size
  std::vector<std::string> batched, sequences; ///< names of the sources that have one, and that have a `seq`
  int64_t microBatches = 1;
};

/// Compiles a model with other options than the command line has, in order to see what it would need. Prints nothing
/// but what was tried, once that takes long.
class Trials {
public:
  /// `device` has a known memory. `module` is what a model file is with `options`, after `parse`.
  Trials(mlir::ModuleOp module, const CommandOptions &options, PlannedDevice device);

  const CommandOptions &options() const { return base; }
  /// The device, or the budget of `--memory` in its place if that is less.
  PlannedDevice device() const;
  /// Bytes that a program may need, with the data that it holds in memory.
  int64_t limit() const { return *device().memoryBytes; }
  /// The same without these data, as `--memory` takes it.
  int64_t limitOfProgram() const { return limit() - heldBytes(); }
  const Target &target() const { return compiledFor; }
  /// The type that the model computes in.
  const std::string &computeType() const { return type; }

  /// The sizes of the data, without a plan; none, with a message in `problem`, if the model does not compile.
  std::optional<DataSizes> sizesWith(const TrialOptions &changes, std::string &problem);
  /// A plan. None is made twice.
  const Trial &planWith(const TrialOptions &changes);
  /// Warnings about the data of a program that was planned; compiles it and reads the data again, if they are there.
  std::vector<std::string> dataWarningsWith(const TrialOptions &changes);
  /// The data of the first plan that was made; null if there was none.
  const PlannedData *data() const { return held ? &*held : nullptr; }

private:
  CommandOptions optionsWith(const TrialOptions &changes) const;
  int64_t heldBytes() const;
  Trial tryPlan(const CommandOptions &options);
  void reportProgress(const TrialOptions &changes, const Trial &trial) const;

  mlir::MLIRContext &context;
  CommandOptions base;
  PlannedDevice place;
  Target compiledFor;
  std::string type;
  std::optional<int64_t> budget;   ///< of `--memory`
  std::optional<PlannedData> held; ///< read once: what is held in memory does not depend on sizes
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
  std::map<std::string, Trial> plans; ///< by the text of the options
};

} // namespace tessera

#endif // TESSERA_TOOLS_TRIALS_H
