//===- Divergence.h - when a run has diverged -----------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_DIVERGENCE_H
#define TESSERA_RUNTIME_TRAIN_DIVERGENCE_H

#include "runtime/train/LossGrowth.h"

namespace tessera::runtime {

/// What to do about a value that is not finite whatever the learning rate is.
inline constexpr const char *formulaAdvice =
    "a formula is probably outside of its domain (log or sqrt of 0 or less, a division by 0, exp of a large number); "
    "guard it, as in `where(x > 0, log(x), 0)`";

/// Counts consecutive steps with non-finite results, and watches how the loss grows before.
class Divergence {
public:
  /// After so many of them a retry is useless, and the run ends.
  static constexpr int longest = 10;

  void note(const StepReport &report);
  /// Of the finite losses.
  LossGrowth &lossGrowth() { return growth; }

  /// Whether the last step was finite.
  bool isFinite() const { return count == 0; }
  /// Whether the run ends if the next step is not finite either. That step looks for the source.
  bool isLastChance() const { return count + 1 == longest; }
  bool isOver() const { return count >= longest; }

  void setSource(std::optional<NonFinite> found) { source = std::move(found); }

  /// The message that ends the run at step `step`. `lastGood`: the last checkpoint before the divergence, or empty.
  std::string describe(int64_t step, const std::string &lastGood) const;

private:
  std::string advice() const;

  LossGrowth growth;
  int count = 0;
  StepReport first;                ///< of these steps
  std::optional<NonFinite> source; ///< of the first non-finite value
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_DIVERGENCE_H
