//===- BestEvaluation.h - the best evaluation of a run --------------------===//
//
// `save(best = …)` keeps the checkpoint of the best evaluation, `stop(patience = …)` ends a run when evaluations stop
// improving. Both compare one value. What was best is a part of the checkpoint, so that a resumed run goes on with it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_BESTEVALUATION_H
#define TESSERA_RUNTIME_TRAIN_BESTEVALUATION_H

#include "runtime/train/Evaluation.h"

#include <utility>

namespace tessera::runtime {

class BestEvaluation {
public:
  /// `goal`: a loss, which shall be small; `min(NAME)` or `max(NAME)` of a loss or a metric; or empty, for `total`, the
  /// sum of the losses. Throws a usage Error, which names `option`, if `evaluate` has no such value.
  BestEvaluation(const std::string &goal, const EntryFunction &evaluate, const char *option);

  /// Whether this evaluation is better than all before. One that is not finite never is.
  bool note(int64_t step, const EvaluationResult &result);

  /// The step of the best evaluation; -1 if there was none.
  int64_t step() const { return bestStep; }
  /// The step of the best evaluation whose checkpoint was written: an earlier one if that of step() could not be. -1 if
  /// there is none.
  int64_t savedStep() const { return saved; }
  /// Evaluations since the best one.
  int64_t evaluationsSince() const { return since; }
  /// "`max(right)` has not improved in 5 evaluations; the best was 0.97 at step 1250".
  std::string describe() const;

  /// For the checkpoint's manifest.
  Json record() const;
  /// Takes over what a checkpoint recorded, unless it compared another value. What is not a record is ignored: it may
  /// come from a stranger.
  void restore(const Json &record);

  /// The checkpoint of step() was written. `isOnlyBest`: for this reason only, so it goes when a better one is written.
  void noteSaved(bool isOnlyBest);
  /// The checkpoint that a better one left without a reason to exist; -1 if there is none. Asking forgets it.
  int64_t takeSuperseded() { return std::exchange(superseded, -1); }

private:
  double valueOf(const EvaluationResult &result) const;

  std::string goal, name;
  bool isMaximum = false;
  double best = 0;
  int64_t bestStep = -1, since = 0;
  int64_t saved = -1, superseded = -1;
  bool isOnly = false; ///< the checkpoint of `saved` is there for this reason only
};

/// The step of the best evaluation that a checkpoint recorded; -1 if it recorded none.
int64_t bestStepIn(const Json &record);
/// The step of the best evaluation whose checkpoint was written; -1 if there is none.
int64_t savedBestStepIn(const Json &record);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_BESTEVALUATION_H
