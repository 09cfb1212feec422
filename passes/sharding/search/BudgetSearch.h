//===- BudgetSearch.h - the fewest seconds within a budget ----------------===//
//
// Where no weights find a labelling within a budget: branch and bound with the Lagrangian dual.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_BUDGETSEARCH_H
#define TESSERA_PASSES_SHARDING_SEARCH_BUDGETSEARCH_H

#include "passes/sharding/search/Solver.h"
#include <optional>

namespace tessera {

/// 1. Labels go whose bound, value − λ · budget, is not below the seconds of the best labelling known. Greedy moves
///    (BudgetMoves.h) change labellings to fit; with what they find, more labels go.
/// 2. A node of branch and bound allows some of the labels left. Solves for seconds + λ · bytes, λ bisected, raise its
///    bound, until one labelling within the budget and one above it are equal for the last λ. Then the labels of a
///    variable in which the two differ are split: the label above the budget, and the others.
class BudgetSearch {
public:
  struct Found {
    Labelling labels;
    LabelCost cost;
  };

  /// `lambda` is the seconds that a byte is worth near the budget, `messages` those of a solve with it.
  BudgetSearch(const LabelProblem &problem, SolverOptions options, double lambda, const LabelMessages &messages);

  /// `known` are labellings, at least one within the budget. Those with `most` seconds or more are of no use.
  void run(double bytes, int64_t mostNodes, llvm::ArrayRef<Found> known,
           double most = std::numeric_limits<double>::infinity());

  /// Labellings that the last run met, none of which is above another one in both seconds and bytes; the fewest bytes
  /// are first.
  llvm::ArrayRef<Found> getFound() const { return found; }
  /// No labelling within the budget of the last run has fewer seconds; as many as the best one found if there is proven
  /// to be none, but for the rounding of sums.
  double getBound() const { return bound; }
  const SolverEffort &getEffort() const { return effort; }

private:
  /// What the solves of a node found; a child starts with its parent's λ and bound.
  struct Node {
    double lambda;
    double bound;
    std::optional<Found> within, above; ///< with the labels that are left
  };

  bool reduce();
  void moveToFit(llvm::ArrayRef<Found> known);
  void search(LabelSets allowed, Node node);
  bool bisect(Node &node, const LabelSets &allowed);
  bool solveNode(Node &node, const LabelSets &allowed, LabelWeights weights);
  bool findOther(Node &node, const LabelSets &allowed);
  std::pair<unsigned, unsigned> chooseBranch(const Node &node) const;
  void keep(const Labelling &labelsLeft);
  void keep(Found labelling);
  void close(double least) { bound = std::min(bound, least); }
  double best() const;
  double cutoff() const;

  const LabelProblem &problem;
  SolverOptions options;
  double startLambda;
  const LabelMessages &startMessages;
  double budget = 0, bound = 0, most = 0;
  int64_t nodes = 0, mostNodes = 0;
  std::vector<Found> found;
  SolverEffort effort;

  LabelProblem rest; ///< with the labels that are left
  LabelMessages messages;
  std::vector<std::vector<unsigned>> numbers; ///< of these labels in the problem
};

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_BUDGETSEARCH_H
