//===- Divergence.h - when a run has diverged -----------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_DIVERGENCE_H
#define TESSERA_RUNTIME_TRAIN_DIVERGENCE_H

#include "runtime/train/LossGrowth.h"

namespace tessera::runtime {

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
  LossGrowth growth;
  int count = 0;
  std::string first;               ///< the first of these steps, and what was not finite in it
  std::optional<NonFinite> source; ///< of the first non-finite value
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_DIVERGENCE_H
