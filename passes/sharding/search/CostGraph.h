//===- CostGraph.h - a label problem under one pair of weights ------------===//
//
// What the solver works on: the labels that are left, their costs under one pair of weights, and what message passing
// has moved between them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_COSTGRAPH_H
#define TESSERA_PASSES_SHARDING_SEARCH_COSTGRAPH_H

#include "passes/sharding/search/LabelProblem.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <memory>

namespace tessera {

/// What message passing has moved from each pair to its two variables, of a whole problem: for each pair the labels of
/// its first variable, then those of its second one. Whatever these are, they give a bound; messages of one pair of
/// weights are a good start for another one.
using LabelMessages = std::vector<double>;

/// Message passing moves costs between pairs and variables and leaves the cost of each labelling as it is (a
/// *reparametrisation*): a label costs `costs` and what has been `moved` to it, and a pair of labels so much less.
/// A variable with one label takes part in no pair: the other variables' costs have what the pair said.
struct CostGraph {
  struct Pair {
    unsigned ends[2]; ///< variables, in ascending order
    unsigned origin;  ///< the pair of the problem
    bool forbids;     ///< two labels
    /// Of each label of `ends[k]`, as in `LabelProblem::Pair`; each class has a label.
    std::vector<unsigned> classes[2];
    unsigned counts[2]; ///< of classes
    /// For each class of the other end, of each class of `ends[k]`: the same table, in both orders.
    std::vector<double> costs[2];
    /// To each label of `ends[k]`.
    std::vector<double> moved[2];

    /// Of each class of `ends[side]`, with a label of the other end.
    const double *row(unsigned side, unsigned otherLabel) const {
      return &costs[side][classes[1 - side][otherLabel] * counts[side]];
    }
    double cost(unsigned side, unsigned label, unsigned otherLabel) const {
      return row(side, otherLabel)[classes[side][label]];
    }
  };
  struct Incidence {
    unsigned pair, side; ///< the variable is `ends[side]` of the pair
  };
  struct Variable {
    std::vector<unsigned> labels; ///< those left, as the problem numbers them, or those of variables that were joined
    std::vector<double> costs;    ///< of each of them
    std::vector<double> bounds;   ///< that no labelling with this label is below
    llvm::SmallVector<Incidence> pairs;
  };
  /// A variable that was taken out, by contraction (Contraction.h) or by joining it with another one (VariableJoin.h).
  struct Removed {
    unsigned variable;
    /// Contraction: its label is the best one with those of the other ends of its pairs.
    std::vector<unsigned> labels;
    std::vector<double> costs;
    std::vector<Pair> pairs;
    std::vector<std::vector<unsigned>> otherLabels; ///< of the other end of each pair, in ascending order
    /// Join: a label of `joinedWith` stands for a label of it and one of this variable.
    unsigned joinedWith;
    std::vector<std::array<unsigned, 2>> together;
  };

  /// Of the problem's labels those in `allowed` (empty: all), but for those that are in no labelling that is allowed as
  /// far as arc consistency tells.
  CostGraph(const LabelProblem &problem, LabelWeights weights, const LabelSets &allowed);

  /// Leaves the labels in `kept` (numbered as in this graph), but for those that are then in no labelling that is
  /// allowed, as far as arc consistency tells.
  void restrictTo(LabelSets kept);
  /// The same, of one variable.
  void restrictTo(unsigned variable, llvm::function_ref<bool(unsigned label)> isKept);

  /// Finds the pairs of each variable, after some have changed.
  void findIncidences();

  /// Some variable has no label left.
  bool isEmpty() const { return hasNone; }
  /// Each variable has one.
  bool isDecided() const;
  size_t countLabels() const;
  /// Entries of all pairs' tables, which is what a round of message passing takes.
  size_t countEntries() const;

  /// With the problem's labels, and those of the variables that were taken out.
  Labelling toProblem(llvm::ArrayRef<unsigned> labels) const;
  /// Of the labels and pairs that are left; others keep the messages that they have.
  void importMessages(const LabelProblem &problem, const LabelMessages &messages);
  void exportMessages(const LabelProblem &problem, LabelMessages &messages) const;

  std::vector<Variable> variables;
  std::vector<Pair> pairs;
  std::vector<std::shared_ptr<const Removed>> removed; ///< in the order in which they were taken out
  double bound;                                        ///< that no labelling is below
  double magnitude = 0; ///< of the costs that sums are made of: of each variable and pair the largest one

private:
  void addPair(const LabelProblem::Pair &from, LabelWeights weights);
  void dropUnsupported(LabelSets &kept) const;
  void shrink(const LabelSets &kept);
  void foldDecided();

  bool hasNone = false;
};

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_COSTGRAPH_H
