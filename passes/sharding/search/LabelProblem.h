//===- LabelProblem.h - one label for each variable, at least cost --------===//
//
// What automatic sharding leaves when ops are forgotten: variables with labels, what each label costs, and what the
// labels of two variables cost together. The field's names for it: a weighted constraint satisfaction problem, a
// partitioned Boolean quadratic problem (PBQP), MAP inference in a pairwise Markov random field. Independent of IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_LABELPROBLEM_H
#define TESSERA_PASSES_SHARDING_SEARCH_LABELPROBLEM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include <vector>

namespace tessera {

/// What a choice costs; costs of a labelling are sums of them. Finite, but infinite seconds say that a choice is not
/// allowed. Either may be negative. Whole bytes add exactly below 2^53.
struct LabelCost {
  double seconds = 0, bytes = 0;

  LabelCost &operator+=(const LabelCost &other) {
    seconds += other.seconds, bytes += other.bytes;
    return *this;
  }
  bool isAllowed() const;
};

/// What is minimised: `seconds` · seconds + `bytes` · bytes. Neither is negative.
struct LabelWeights {
  double seconds = 1, bytes = 0;

  /// Infinite for what is not allowed, whatever the weights are.
  double of(const LabelCost &cost) const;
};

/// The label of each variable.
using Labelling = std::vector<unsigned>;
/// For each variable and each of its labels, whether it may be chosen.
using LabelSets = std::vector<std::vector<bool>>;

class LabelProblem {
public:
  /// Labels of a variable that cost the same with each label of the other one are of one class in the pair: an exchange
  /// depends on how a value is divided, and ops have more axes than their values.
  struct Pair {
    unsigned ends[2];                 ///< variables, in ascending order
    std::vector<unsigned> classes[2]; ///< of each label of `ends[k]`
    unsigned counts[2];               ///< of classes
    std::vector<LabelCost> table;     ///< for each class of the first variable, of each class of the second one

    const LabelCost &cost(unsigned firstLabel, unsigned secondLabel) const {
      return table[classes[0][firstLabel] * counts[1] + classes[1][secondLabel]];
    }
  };

  /// A variable with at least one label. The solver is at its best if variables that meet in pairs have numbers close
  /// to each other, as the ops of a program have.
  unsigned addVariable(llvm::ArrayRef<LabelCost> labels);

  /// `table` has, for each label of `a`, the costs of each label of `b`. Tables of the same pair add up. A table of a
  /// variable with itself is what its diagonal says of the variable's labels.
  void addPair(unsigned a, unsigned b, llvm::ArrayRef<LabelCost> table);

  /// The same, with costs of classes: of each label of `a` and of `b` its class, from 0 on, and the table of the
  /// classes. What is known to have classes is added faster so.
  void addPair(unsigned a, unsigned b, llvm::ArrayRef<unsigned> classesOfA, llvm::ArrayRef<unsigned> classesOfB,
               llvm::ArrayRef<LabelCost> table);

  /// Adds to what a label costs; infinite seconds forbid it.
  void addCost(unsigned variable, unsigned label, LabelCost cost);

  unsigned size() const { return variables.size(); }
  llvm::ArrayRef<LabelCost> labels(unsigned variable) const { return variables[variable]; }
  llvm::ArrayRef<Pair> getPairs() const { return pairs; }

  LabelCost cost(llvm::ArrayRef<unsigned> labelling) const;

  /// The problem with these labels alone, numbered in their order; at least one of each variable.
  LabelProblem restrictedTo(const LabelSets &kept) const;

private:
  std::vector<std::vector<LabelCost>> variables;
  std::vector<Pair> pairs;
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> pairNumbers;
};

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_LABELPROBLEM_H
