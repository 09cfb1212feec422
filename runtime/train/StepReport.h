//===- StepReport.h - the results of a step -------------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_STEPREPORT_H
#define TESSERA_RUNTIME_TRAIN_STEPREPORT_H

#include "runtime/train/Evaluation.h"

#include <optional>

namespace tessera::runtime {

/// The scalars of one finished step.
struct StepReport {
  int64_t step = 0;
  NamedValues losses, metrics;
  double total = 0, rate = 0, gradNorm = 0;
  bool hasRate = false, hasGradNorm = false;
  bool finite = true;              ///< the losses and the gradients; the step updated nothing if a gradient is not
  std::optional<double> lossScale; ///< after the step, if it is dynamic
  int64_t skipped = 0;             ///< steps without an update since step 0, because the scaled gradients overflowed
};

/// Reads the outputs of the entry function `step`.
StepReport readReport(const LoadedProgram &program, const EntryFunction &entry, int64_t step);

/// The record of docs/metrics.md, without keys that do not come from the step itself.
Json recordOf(const StepReport &report);

/// `{"name": number, …}`.
Json namedNumbers(const NamedValues &values);

/// Describes what is not finite: "in the loss 'ce'".
std::string whatIsNotFinite(const StepReport &report);

/// The first loss that is not finite; empty if all are.
std::string lossThatIsNotFinite(const NamedValues &losses);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_STEPREPORT_H
