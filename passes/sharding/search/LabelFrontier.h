//===- LabelFrontier.h - bytes against seconds ----------------------------===//
//
// The labellings on the lower convex hull of (bytes, seconds), and the best labelling within a budget of bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_LABELFRONTIER_H
#define TESSERA_PASSES_SHARDING_SEARCH_LABELFRONTIER_H

#include "passes/sharding/search/BudgetSearch.h"
#include <limits>
#include <memory>

namespace tessera {

struct FrontierOptions {
  /// Of each solve. With a tolerance, labellings that it hides are missing.
  SolverOptions solver = {.tolerance = 0};
  /// Two points are neighbours once no labelling on the hull between them can be below their line by more than this,
  /// relative to what the two cost under the weights for which they are equal.
  double depth = 1e-5;
  /// Nodes of each search between two neighbours; 0: there is none. An answer may take as many searches as there are
  /// levels. The first node, with its moves, finds most of what there is.
  int64_t budgetNodes = 1;
  /// Nodes of a search within the budget itself, after those at levels; 0: there is none. It finds what is between the
  /// levels, but what a smaller budget found so, a larger one may miss.
  int64_t ownNodes = 0;
  /// An answer with as many seconds or more is of no use: the search for one ends once it is proven to have them.
  double most = std::numeric_limits<double>::infinity();
  /// No larger budget is asked for: without a labelling within it, that is all that is found out.
  double mostBytes = std::numeric_limits<double>::infinity();
};

/// The best labelling known within a budget.
struct BudgetAnswer {
  bool found = false;
  Labelling labels;
  LabelCost cost;
  /// No labelling within the budget has fewer seconds; at most those of the labelling that was found, and as many if it
  /// is proven to be the best, up to the rounding of sums. Infinite: it is proven that none is within the budget.
  double bound = 0;
  /// No labelling has fewer bytes.
  double leastBytes = 0;
  /// What a byte less takes at the budget: the weight of bytes, for one of seconds, of the solve whose dual is the best
  /// bound. 0: the budget does not bind.
  double secondsPerByte = 0;

  bool isProven() const { return bound >= (found ? cost.seconds : std::numeric_limits<double>::infinity()); }
};

/// Between two labellings on the hull is either one that is best under the weights for which they are equal, or none;
/// so the hull is found by bisection, from the least seconds and the least bytes. Each solve starts with the messages
/// of its two neighbours, combined as their weights combine to its own: the dual is concave in both, so its bound
/// starts at least at the same combination of theirs.
///
/// A budget follows the bisection to the two neighbours around it. Between them, no weights find a labelling; searches
/// within budgets at fixed levels do (BudgetSearch.h). The answer depends on nothing but the problem and the budget,
/// and, without a search within the budget itself, more budget never gives more seconds, up to the tolerance of solves:
///
/// - where the paths of two budgets part, at a labelling that only the larger one has room for, what the smaller one
///   meets afterwards is ignored if it is faster than that (which takes a solve that ended early);
/// - of two budgets between the same neighbours, the larger one sees what the searches of the smaller one met, unless a
///   search has proven that there is something better.
class LabelFrontier {
public:
  explicit LabelFrontier(const LabelProblem &problem, FrontierOptions options = {});
  ~LabelFrontier();

  struct Point {
    Labelling labels;
    LabelCost cost;
  };
  /// From the least bytes to the least seconds, each with more bytes and fewer seconds than the one before; empty if no
  /// labelling was found. Labellings on the line between two others may be missing.
  std::vector<Point> findHull();

  BudgetAnswer findWithin(double bytes);

  /// The solve for seconds alone; that for bytes alone, if the first one found a labelling.
  const LabelSolution &getFastest() const { return fastest->solution; }
  const LabelSolution &getSmallest() const { return smallest->solution; }
  /// Of all solves and searches up to now.
  const SolverEffort &getEffort() const { return effort; }
  int getSolves() const { return solves; }

private:
  struct Solved {
    LabelWeights weights;
    LabelSolution solution;

    const LabelCost &cost() const { return solution.cost; }
    /// No labelling within a budget has fewer seconds: the dual at these weights.
    double secondsWithin(double bytes) const;
  };
  using SolvedRef = std::shared_ptr<const Solved>;
  struct Segment;

  SolvedRef solveWith(LabelWeights weights, const Solved *left, const Solved *right, double most);
  std::unique_ptr<Segment> makeSegment(SolvedRef left, SolvedRef right) const;
  void split(Segment &segment);
  bool isFlat(const Segment &segment) const;
  void addHull(Segment &segment, std::vector<Point> &points);
  struct Query;
  void searchLevels(Segment &segment, Query &query);
  void searchLevel(Segment &segment, int level);
  void searchBudget(const Segment &segment, Query &query);

  const LabelProblem &problem;
  FrontierOptions options;
  SolverEffort effort;
  int solves = 0;
  SolvedRef fastest, smallest;
  std::unique_ptr<Segment> root; ///< null: one of the two is the whole hull
};

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_LABELFRONTIER_H
