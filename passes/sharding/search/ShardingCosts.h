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

class ShardingCosts {
public:
  /// `mesh`: ranks along each axis, of which there are at most `mostMeshAxes`. `recomputes`: stacks may be computed
  /// again instead of being stored.
  ShardingCosts(const ShardingGraph &graph, llvm::ArrayRef<int64_t> mesh, const SearchDevices &devices,
                bool recomputes = false);

  /// The forms that a node may have, in a fixed order; unless restricted, the first is whole. Nodes that may run again,
  /// and stacks that need not be stored, have each form twice: as it is, then with that.
  llvm::ArrayRef<Form> labelsOf(unsigned node) const { return labels[node]; }
  /// Leaves a node some of its labels; before `problem`.
  void restrict(unsigned node, std::vector<Form> kept) { labels[node] = std::move(kept); }
  /// A variable for each node, with these labels.
  LabelProblem problem();

private:
  bool canDivideNode(unsigned node, const SizedAxis &axis, unsigned along) const;
  void addLabels(unsigned node, Form form, unsigned along);
  bool maySayAgain(unsigned node) const;
  /// Whether a label says that the node runs again, or that the stack is not stored.
  bool saysAgain(unsigned node, unsigned label) const { return maySayAgain(node) && label >= labels[node].size() / 2; }
  void addEdge(LabelProblem &problem, const ShardingEdge &edge);
  double elementsOf(const TensorShape &shape, const Form &form) const;
  double bytesOf(const ShardedAccess &access, const Form &ofNode) const;
  double secondsOf(unsigned node, const Form &form) const;
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

  const ShardingGraph &graph;
  llvm::SmallVector<int64_t, mostMeshAxes> ranks; ///< along each mesh axis
  const CostModel &model;
  int64_t leastDivided;
  bool recomputes;
  RankLinks links;
  ExchangeFigures allToAll, allGather;
  std::vector<std::vector<Form>> labels;                         ///< by node
  std::map<std::vector<int64_t>, std::vector<double>> exchanges; ///< tables that are known
};

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_SHARDINGCOSTS_H
