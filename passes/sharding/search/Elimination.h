//===- Elimination.h - exact minima by eliminating variables --------------===//
//
// Bucket elimination (Dechter, 1999; non-serial dynamic programming: Bertelè and Brioschi, 1972): variables go one by
// one; what the best label of one costs is a table over those that it was in pairs with.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_ELIMINATION_H
#define TESSERA_PASSES_SHARDING_SEARCH_ELIMINATION_H

#include "passes/sharding/search/CostGraph.h"

namespace tessera {

/// The order is chosen once: next is the variable whose elimination adds the fewest pairs among the others
/// (*min-fill*), of those the one with the smallest table, then the first one.
class Elimination {
public:
  /// The graph is used as long as this is.
  explicit Elimination(const CostGraph &graph);

  /// Entries of the largest table and of all together, counting the eliminated variable's labels; known before any
  /// table is there.
  double getLargestTable() const { return largest; }
  double getEntries() const { return entries; }
  /// The least cost, after `minimise`; infinite if no labelling is allowed.
  double getLeast() const { return least; }
  /// How often variables occur in tables with more than this many entries.
  std::vector<unsigned> countLarge(double mostEntries) const;

  /// Labels (the graph's) of least cost. With several, those of the lowest numbers in the order's reverse.
  std::vector<unsigned> minimise();

  /// For each variable and label the least cost of a labelling with it: the same tables, read from the last variable
  /// back to the first. After `minimise`.
  std::vector<std::vector<double>> minMarginals();

private:
  /// What is left of an eliminated variable.
  struct Bucket {
    unsigned variable;
    /// Variables that it was in pairs with, eliminated later; the next one of them is last.
    std::vector<unsigned> scope;
    std::vector<unsigned> children; ///< buckets whose tables have this variable last in their scope
    std::vector<double> table;      ///< over `scope`, in row-major order
    std::vector<unsigned> choices;  ///< the best label for each entry of the table
    std::vector<double> outside;    ///< over `scope`, what all that is not below this bucket costs at least
  };
  /// A table in the bucket of its last variable.
  struct Factor {
    const double *row;           ///< for the entry that is visited, of each label of the bucket's variable
    std::vector<size_t> strides; ///< for each variable of the bucket's scope
    std::vector<double> owned;   ///< the table, if nothing else has it
  };

  void findOrder();
  std::vector<Factor> factorsOf(const Bucket &bucket) const;
  Factor makeFactor(const Bucket &bucket, const double *table, llvm::ArrayRef<unsigned> scope) const;
  size_t labelsOf(unsigned variable) const { return graph.variables[variable].labels.size(); }
  size_t sizeOf(llvm::ArrayRef<unsigned> scope) const;
  template <typename Visit> void forEachEntry(const Bucket &bucket, std::vector<Factor> &factors, Visit visit) const;
  void passOutside(const Bucket &bucket, std::vector<double> &marginals);

  const CostGraph &graph;
  std::vector<Bucket> buckets;  ///< in the order of elimination
  std::vector<unsigned> places; ///< of each variable, in it
  double largest = 0, entries = 0;
  double least = 0; ///< cost of all labellings
};

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_ELIMINATION_H
