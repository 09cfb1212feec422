//===- StepReport.h - the numbers of a step -----------------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_STEPREPORT_H
#define TESSERA_RUNTIME_TRAIN_STEPREPORT_H

#include "runtime/train/Evaluation.h"

#include <optional>

namespace tessera::runtime {

/// The numbers of one finished step.
struct StepReport {
  int64_t step = 0;
  NamedValues losses, metrics;
  double total = 0, rate = 0, gradNorm = 0;
  bool hasRate = false, hasGradNorm = false, finite = true;
  std::optional<double> lossScale; ///< after the step, where it is dynamic
  int64_t skipped = 0;             ///< steps that it has cost since step 0
};

/// Reads what the entry function `step` has left.
StepReport readReport(const Program &program, const EntryFunction &entry, int64_t step);

/// The numbers as docs/metrics.md describes a record, without what does not come of the step itself.
Json recordOf(const StepReport &report);

/// `{"name": number, …}`.
Json namedNumbers(const NamedValues &values);

/// "in the loss 'ce'": what is not finite in a step that is not.
std::string whatIsNotFinite(const StepReport &report);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_STEPREPORT_H
