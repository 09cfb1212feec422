//===- Solver.h - the labelling of least cost -----------------------------===//
//
// Minimises a weighted sum of seconds and bytes over all labellings of a `LabelProblem`, with a lower bound.
//
// 1. Message passing (MessagePassing.h) raises a lower bound, and gives one for each label. Labels that are chosen on
//    the way are improved one variable at a time, which gives the best labelling known.
// 2. Labels whose bound is not below that labelling's value go (*reduced-cost fixing*). Variables that are left in at
//    most two pairs are taken out (Contraction.h).
// 3. When the tables are small enough, elimination (Elimination.h) finds the optimum among the labels left.
// 4. When they are not, labels that another one dominates go (Dominance.h), and elimination among the labels of the
//    lowest bounds may find a better labelling, so that more labels go.
// 5. Where cycles leave a gap between bound and value, variables are joined (VariableJoin.h), and all of this begins
//    anew with fewer variables of more labels.
// 6. What cannot be joined is left to *branch and bound*: it takes a variable of the largest tables, first with the
//    label of the lowest bound, then without it.
//
// What limits the search is counted in nodes, passes and table entries, never in seconds. All orders are fixed: the
// same problem gives the same answer, bit for bit.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_SOLVER_H
#define TESSERA_PASSES_SHARDING_SEARCH_SOLVER_H

#include "passes/sharding/search/CostGraph.h"
#include <limits>

namespace tessera {

struct SolverOptions {
  /// The search ends once the bound is this close to the cost, relative to it. 0: it ends with the optimum.
  double tolerance = 1e-4;
  /// Rounds of message passing, one pass in each direction, in a node.
  int mostRounds = 100;
  /// How often variables are joined or labels split.
  int64_t mostNodes = 8;
  /// Of the tables of an elimination, together.
  double mostTableEntries = 1 << 20;
  /// Of a variable that two are joined to (VariableJoin.h); 0: none are.
  size_t mostJoinedLabels = 1 << 12;
};

/// What is known before a search.
struct SolverStart {
  /// Candidates for the best labelling; those that are not allowed are ignored.
  llvm::ArrayRef<Labelling> labellings = {};
  const LabelMessages *messages = nullptr;
  /// Labels that may be chosen; null: all.
  const LabelSets *allowed = nullptr;
  /// A labelling of this value or a larger one is of no use, since there is a better one elsewhere: the search ends
  /// once its bound is not below. What it found until then may be such a labelling.
  double most = std::numeric_limits<double>::infinity();
};

struct SolverEffort {
  int64_t nodes = 0, passes = 0;
  double tableEntries = 0;

  SolverEffort &operator+=(const SolverEffort &other) {
    nodes += other.nodes, passes += other.passes, tableEntries += other.tableEntries;
    return *this;
  }
};

struct LabelSolution {
  bool found = false; ///< a labelling that is allowed
  Labelling labels;
  LabelCost cost;
  double value = 0; ///< the weighted sum; infinite if none was found
  /// No labelling's value is below; at most `value`, and as much if it is proven to be the least, up to the rounding of
  /// sums. Infinite: it is proven that no labelling is allowed.
  double bound = 0;
  LabelMessages messages; ///< of the whole problem, for a start with other weights; empty if no label was allowed
  SolverEffort effort;

  bool isProven() const { return bound >= value; }
};

LabelSolution solve(const LabelProblem &problem, LabelWeights weights, const SolverOptions &options = {},
                    const SolverStart &start = {});

/// The least value of a labelling with a certain label: the price of an alternative.
struct MinMarginal {
  double value;
  bool isExact; ///< else `value` is a lower bound
};

/// For each variable and label, given a solution for the same weights and allowed labels. Exact is what is below the
/// bound of all labels that would make tables too large; infinite values are exact. The value of a label that is not
/// exact is found by solving with that label alone allowed.
std::vector<std::vector<MinMarginal>> minMarginals(const LabelProblem &problem, LabelWeights weights,
                                                   const LabelSolution &solution, const SolverOptions &options = {},
                                                   const LabelSets *allowed = nullptr);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_SOLVER_H
