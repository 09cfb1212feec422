//===- ShardingCosts.h - what a sharding costs on a mesh ------------------===//
//
// The labels of the nodes of a graph (ShardingGraph.h) on a mesh, and what they cost: the time that ops take on their
// parts, that of the exchanges which bring values from one form to another, and the memory of what is alive at once.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_SHARDINGCOSTS_H
#define TESSERA_PASSES_SHARDING_SEARCH_SHARDINGCOSTS_H

#include "passes/cost/CostModel.h"
#include "passes/cost/RankLinks.h"
#include "passes/sharding/search/LabelProblem.h"
#include "passes/sharding/search/ShardingGraph.h"
#include <map>

namespace tessera {

/// What a program runs on.
struct SearchDevices {
  Target target;
  CostModel model;
  std::optional<Machines> machines; ///< none: all ranks are on one machine
  int64_t leastDivided = 0;         ///< elements of a sum from which on each rank adds a part of it
};

/// What bytes count by the moments in which they are alive. If the weights add up to 1, then no labelling that has at
/// most some bytes at each moment has more weighted ones: a surrogate of all these limits.
class MomentWeights {
public:
  /// No bytes count.
  explicit MomentWeights(unsigned moments) : before(moments + 1) {}
  /// Gives one moment this share of all weights.
  void give(unsigned moment, double share);
  /// Of all moments of a life together.
  double of(Life life) const { return before[life.last + 1] - before[life.first]; }

private:
  std::vector<double> before; ///< for each moment, the sum of the weights before it
};

/// What may be computed again instead of being stored.
enum class RecomputationWay {
  None,
  Values,   ///< single stacks, each iteration of a repeat by itself
  Segments, ///< all iterations, in segments of which there are as many as each has iterations
  Both      ///< segments, and in them each iteration by itself
};

/// How much of a repeat's time is that of the exchanges which run beside its kernels, by repeat (`getRepeats`). The
/// repeat takes the longer of the two: max(K, B) ≥ (1 - s) K + s B for each share s from 0 to 1, which is linear.
using BesideShares = std::vector<double>;

class ShardingCosts {
public:
  struct Peak {
    unsigned moment = 0;
    double bytes = 0;
  };
  /// What a labelling takes.
  struct Times {
    struct OfRepeat {
      double kernels = 0, beside = 0; ///< of exchanges that run beside them
    };
    double seconds = 0;
    std::vector<OfRepeat> repeats; ///< by number; empty if no exchange runs beside kernels
  };

  /// `mesh`: ranks along each axis, of which there are at most `mostMeshAxes`.
  ShardingCosts(const ShardingGraph &graph, llvm::ArrayRef<int64_t> mesh, const SearchDevices &devices,
                RecomputationWay recomputation = RecomputationWay::None);

  ShardingCosts(ShardingCosts &&) = default;
  ShardingCosts(const ShardingCosts &) = delete; // tables are known by their addresses

  /// The forms that a node may have, in a fixed order; unless restricted, the first is whole. Nodes that may run again,
  /// and stacks that need not be stored, have each form twice: as it is, then with that.
  llvm::ArrayRef<Form> labelsOf(unsigned node) const { return labels[node]; }
  /// Leaves a node some of its labels; before `problem`.
  void restrict(unsigned node, std::vector<Form> kept) { labels[node] = std::move(kept); }
  /// A variable for each node, with these labels. A lower bound of `timesOf` if exchanges run beside kernels: that of
  /// the shares.
  LabelProblem problem(const MomentWeights &weights);
  /// The moment at which the most bytes are alive on a rank. Exchanges beside kernels have places for longer, which
  /// `schedule` gives them as far as there is memory.
  Peak peakOf(const Labelling &labels, bool withPlacesBeside = false) const;
  /// Whether exchanges can run beside kernels.
  bool haveBeside() const { return !shares.empty(); }
  /// For `problem`, one for each repeat; at first all are 0. Only if exchanges can run beside kernels.
  const BesideShares &getShares() const { return shares; }
  void setShares(const BesideShares &ofRepeats) { shares = ofRepeats; }
  Times timesOf(const Labelling &labels);

private:
  bool canDivideNode(unsigned node, const SizedAxis &axis, unsigned along) const;
  void addLabels(unsigned node, Form form, unsigned along);
  bool maySayAgain(unsigned node) const;
  /// How often a node runs, because all iterations do.
  double runsOf(const ShardingNode &node) const;
  double runsOf(unsigned node, unsigned label) const;
  double storedShare(const ShardingNode &node) const;
  /// Whether a label says that the node runs again, or that the stack is not stored.
  bool saysAgain(unsigned node, unsigned label) const { return maySayAgain(node) && label >= labels[node].size() / 2; }
  void addEdge(LabelProblem &problem, unsigned edge, const MomentWeights &weights);
  using VisitAlive = llvm::function_ref<void(double bytes, Life life)>;
  void forEachAlive(unsigned node, unsigned label, VisitAlive visit) const;
  /// What is on both sides of an edge: its form, and whether the node runs again, or need not be stored. And when an
  /// exchange between them takes memory.
  struct EdgeEnds {
    const Form &produced, &wanted;
    bool fromAgain, toAgain;
    Life copied;
  };
  void forEachAlive(const ShardingEdge &edge, const EdgeEnds &ends, double exchangeSeconds, VisitAlive visit) const;
  double elementsOf(const TensorShape &shape, const Form &form) const;
  double bytesOf(const ShardedAccess &access, const Form &ofNode) const;
  /// Of the ops of a node, once.
  struct OpTimes {
    double kernels = 0, exchanges = 0;
  };
  OpTimes timesOf(unsigned node, const Form &form) const;
  const std::vector<std::vector<OpTimes>> &getOpTimes();
  double shareOfKernels(const ShardingNode &node) const;
  /// How many seconds of a step each second of an exchange takes.
  double factorOf(const ShardingEdge &edge) const;
  CallWork workOf(unsigned node, const Form &form) const;
  int64_t sizeOf(llvm::StringRef axis, int64_t size, const Form &form) const;
  /// Its bytes, and what is left of them if it is divided.
  struct DividedShape {
    DividedShape(const TensorShape &shape, llvm::ArrayRef<int64_t> ranks, int64_t leastDivided);
    double bytes, termBytes;  ///< as a value, and as a term of a sum
    double leastDividedBytes; ///< smaller sums are not divided among the ranks that add them
    std::array<std::array<double, pendingForm>, mostMeshAxes> parts{}; ///< by mesh axis, and the axis divided along it
  };
  double secondsOfExchange(const DividedShape &shape, Form from, const Form &to) const;
  /// For each form that is produced, that of each one that is wanted.
  const std::vector<double> &exchangesOf(const TensorShape &shape, const std::vector<Form> &produced,
                                         const std::vector<Form> &wanted);
  double secondsOfMessage(ExchangeKind kind, unsigned along, double bytes) const;
  /// Of the labels of a node the forms that they give a value, each once, and for each label which of them.
  struct FormsOfNode {
    std::vector<Form> forms;
    std::vector<unsigned> classes; ///< by label: twice the number of its form, and one more if it says `again`
    bool hasAgain;                 ///< else no label says it, and classes are the numbers of forms
    size_t countClasses() const { return forms.size() * (hasAgain ? 2 : 1); }
    unsigned formOf(unsigned number) const { return hasAgain ? number / 2 : number; }
    bool saysAgain(unsigned number) const { return hasAgain && number % 2 == 1; }
  };
  FormsOfNode formsOf(unsigned node, const FormMap &map) const;
  /// What is the same in all problems.
  struct EdgeForms {
    FormsOfNode from, to;
    const std::vector<double> *seconds = nullptr; ///< of `exchangesOf`
  };
  const EdgeForms &formsOf(unsigned edge);

  const ShardingGraph &graph;
  llvm::SmallVector<int64_t, mostMeshAxes> ranks; ///< along each mesh axis
  const CostModel &model;
  int64_t leastDivided;
  RecomputationWay recomputation;
  RankLinks links;
  ExchangeFigures allToAll, allGather;
  BesideShares shares;
  std::vector<std::vector<Form>> labels;                         ///< by node
  std::vector<std::vector<OpTimes>> opTimes;                     ///< of each node, by label; once known
  std::vector<EdgeForms> edgeForms;                              ///< likewise
  std::map<std::vector<int64_t>, std::vector<double>> exchanges; ///< tables that are known
};

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_SHARDINGCOSTS_H
