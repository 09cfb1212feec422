//===- BudgetMoves.h - labellings changed to fit a budget -----------------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_BUDGETMOVES_H
#define TESSERA_PASSES_SHARDING_SEARCH_BUDGETMOVES_H

#include "passes/sharding/search/LabelProblem.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace tessera {

/// Greedy changes of one variable at a time.
class BudgetMoves {
public:
  explicit BudgetMoves(const LabelProblem &problem);

  /// Saves bytes where they cost the fewest seconds until the labelling fits; then saves seconds, most first, as long
  /// as it still fits. False if it does not come to fit. `labels` must be allowed.
  bool fit(Labelling &labels, double bytes) const;

private:
  struct Move {
    unsigned variable, label;
    LabelCost change;
  };
  struct Incidence {
    unsigned pair;
    bool isFirst;
  };

  LabelCost costOf(const Labelling &labels, unsigned variable, unsigned label) const;
  /// The best one of all that `rank` has a number for, the lowest one being best.
  template <typename Rank> std::optional<Move> bestMove(const Labelling &labels, Rank rank) const;

  const LabelProblem &problem;
  std::vector<llvm::SmallVector<Incidence>> incidences;
};

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_BUDGETMOVES_H
