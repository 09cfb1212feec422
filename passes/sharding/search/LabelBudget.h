//===- LabelBudget.h - the fewest seconds within a budget of bytes --------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_LABELBUDGET_H
#define TESSERA_PASSES_SHARDING_SEARCH_LABELBUDGET_H

#include "passes/sharding/search/Solver.h"

namespace tessera {

struct BudgetOptions {
  SolverOptions solver; ///< of each solve
  /// Nodes of the search within the budget (BudgetSearch.h); 0: there is none. The first node, with its moves, finds
  /// most of what there is.
  int64_t nodes = 1;
  /// An answer with as many seconds or more is of no use: the search ends once it is proven to have them.
  double most = std::numeric_limits<double>::infinity();
};

/// The best labelling known within a budget.
struct BudgetAnswer {
  bool found = false;
  Labelling labels;
  LabelCost cost;
  /// No labelling within the budget has fewer seconds; at most those of the labelling that was found, and as many if it
  /// is proven to be the best, up to the rounding of sums. Infinite: it is proven that none is within the budget.
  double bound = 0;
  /// What a byte less takes at the budget: the weight of bytes, for one of seconds, of the solve whose dual is the best
  /// bound. 0: the budget does not bind.
  double secondsPerByte = 0;
  LabelSolution smallest; ///< of the solve for bytes alone
  SolverEffort effort;

  bool isProven() const { return bound >= (found ? cost.seconds : std::numeric_limits<double>::infinity()); }
};

/// Bisects the weight of bytes between the labellings of the fewest bytes and of the fewest seconds: one of two
/// neighbours is within the budget, the other one above it, and the next weights are those for which the two are equal.
/// Each solve starts with the messages of its neighbours, combined as their weights combine to its own: the dual is
/// concave in both, so its bound starts at least at the same combination of theirs. Where no weights find a labelling
/// between the neighbours, a search within the budget does.
BudgetAnswer solveWithBudget(const LabelProblem &problem, double bytes, const BudgetOptions &options = {});

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_LABELBUDGET_H
