//===- Alternatives.cpp - the price of what a search rejected -------------===//
//
// The least seconds with each label of a node are its min-marginals (Solver.h); those of an alternative are the least
// ones of the labels that have it.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/search/Alternatives.h"
#include <cmath>
#include <map>

using namespace mlir;
using namespace tessera;

/// Seconds within this of the least, relative to it, are those of a sharding that memory did not decide.
static constexpr double sameSeconds = 1e-2;

/// By the axis that a mesh axis divides, the least of the marginals of the labels of a node.
static std::map<AxisId, MinMarginal> leastByAxis(ArrayRef<Form> labels, ArrayRef<MinMarginal> marginals,
                                                 unsigned along) {
  std::map<AxisId, MinMarginal> least;
  for (auto [form, marginal] : llvm::zip(labels, marginals)) {
    auto [known, isNew] = least.try_emplace(form.along[along], marginal);
    if (!isNew && marginal.value < known->second.value) known->second = marginal;
  }
  return least;
}

std::vector<PricedDivision> tessera::priceAlternatives(const ModuleSharding &found, const SearchDevices &devices) {
  const MeshSolution &step = found.step;
  ShardingGraph graph(found.tables.front().first, found.tiled);
  ShardingCosts costs(graph, step.mesh, devices);
  ArrayRef<ShardingNode> nodes = graph.getNodes();
  if (found.isPinned)
    for (unsigned i = 0; i < nodes.size(); ++i) costs.restrict(i, found.pins.allowed(graph, i, costs.labelsOf(i)));
  LabelProblem problem = costs.problem();
  LabelSolution solution = solve(problem, {1, 0});
  bool hasRoom = solution.found && step.cost.seconds <= (1 + sameSeconds) * solution.cost.seconds;
  std::vector<std::vector<MinMarginal>> marginals = minMarginals(problem, {1, 0}, solution);
  std::vector<PricedDivision> decisions;
  for (auto [i, node] : llvm::enumerate(nodes)) {
    if (node.kind != ShardingNode::Kind::State) continue;
    auto state = cast<StateOp>(node.ops.front());
    for (auto [along, axis] : llvm::enumerate(found.mesh)) {
      PricedDivision decision{state.getPath(), axis.getName(), graph.axisName(step.forms[i].along[along]), {}};
      for (auto [divided, marginal] : leastByAxis(costs.labelsOf(i), marginals[i], along))
        if (divided != step.forms[i].along[along] && std::isfinite(marginal.value))
          decision.rejected.push_back({graph.axisName(divided), marginal.value, marginal.isExact && hasRoom});
      llvm::stable_sort(decision.rejected, [](const auto &a, const auto &b) { return a.seconds < b.seconds; });
      if (!decision.rejected.empty()) decisions.push_back(std::move(decision));
    }
  }
  return decisions;
}

ArrayAttr tessera::describeAlternatives(ModuleOp module, const ModuleSharding &found, const SearchDevices &devices) {
  Builder b(module.getContext());
  auto text = [&](StringRef key, StringRef value) { return b.getNamedAttr(key, b.getStringAttr(value)); };
  SmallVector<Attribute> list;
  for (const PricedDivision &decision : priceAlternatives(found, devices)) {
    SmallVector<Attribute> rejected;
    for (const ShardingAlternative &alternative : decision.rejected)
      rejected.push_back(b.getDictionaryAttr({text("axis", alternative.axis),
                                              b.getNamedAttr("seconds", b.getF64FloatAttr(alternative.seconds)),
                                              b.getNamedAttr("exact", b.getBoolAttr(alternative.isExact))}));
    list.push_back(
        b.getDictionaryAttr({text("state", decision.state), text("along", decision.along),
                             text("chosen", decision.chosen), b.getNamedAttr("rejected", b.getArrayAttr(rejected))}));
  }
  return b.getArrayAttr(list);
}
