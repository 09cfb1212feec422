//===- Alternatives.cpp - the price of what a search rejected -------------===//
//
// The least seconds with each label of a node are its min-marginals (Solver.h); those of an alternative are the least
// ones of the labels that have it.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/search/Alternatives.h"
#include "ir/program/Program.h"
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

namespace {
/// The label problem of what was found, with the prices of all labels.
struct PricedLabels {
  PricedLabels(const ModuleSharding &found, const SearchDevices &devices)
      : graph(found.tables.front().first, found.tiled), costs(graph, found.step.mesh, devices) {
    ArrayRef<ShardingNode> nodes = graph.getNodes();
    if (found.isPinned)
      for (unsigned i = 0; i < nodes.size(); ++i) costs.restrict(i, found.pins.allowed(graph, i, costs.labelsOf(i)));
    LabelProblem problem = costs.problem();
    LabelSolution solution = solve(problem, {1, 0});
    hasRoom = solution.found && found.step.cost.seconds <= (1 + sameSeconds) * solution.cost.seconds;
    marginals = minMarginals(problem, {1, 0}, solution);
    for (unsigned i = 0; i < nodes.size(); ++i) {
      double most = 0;
      for (const LabelCost &cost : problem.labels(i))
        if (cost.isAllowed()) most = std::max(most, cost.seconds);
      mostSeconds.push_back(most);
    }
  }

  ShardingGraph graph;
  ShardingCosts costs;
  std::vector<std::vector<MinMarginal>> marginals; ///< by node and label
  std::vector<double> mostSeconds;                 ///< of each node alone, with any of its labels
  bool hasRoom = false;                            ///< memory did not decide
};
} // namespace

/// By line, in the order of the model, the node that takes the most time.
static std::map<std::pair<std::string, unsigned>, unsigned> nodesOfLines(const PricedLabels &priced) {
  std::map<std::pair<std::string, unsigned>, unsigned> nodes;
  for (auto [i, node] : llvm::enumerate(priced.graph.getNodes())) {
    if (node.kind != ShardingNode::Kind::Ops) continue;
    FileLineColLoc place = userPlace(node.ops.front()->getLoc());
    if (!place) continue;
    auto [known, isNew] =
        nodes.try_emplace({fileNameInLines(place.getFilename().getValue()), place.getLine()}, unsigned(i));
    if (!isNew && priced.mostSeconds[i] > priced.mostSeconds[known->second]) known->second = unsigned(i);
  }
  return nodes;
}

/// Adds what each mesh axis divides of a node, if it could divide something else.
static void addDecisions(unsigned node, const PricedDivision &whose, const ModuleSharding &found,
                         const PricedLabels &priced, std::vector<PricedDivision> &decisions) {
  for (auto [along, axis] : llvm::enumerate(found.mesh)) {
    AxisId chosen = found.step.forms[node].along[along];
    if (chosen == pendingForm) continue;
    PricedDivision decision = whose;
    decision.along = axis.getName(), decision.chosen = priced.graph.axisName(chosen);
    for (auto [divided, marginal] : leastByAxis(priced.costs.labelsOf(node), priced.marginals[node], along))
      if (divided != chosen && divided != pendingForm && std::isfinite(marginal.value))
        decision.rejected.push_back(
            {priced.graph.axisName(divided), marginal.value, marginal.isExact && priced.hasRoom});
    llvm::stable_sort(decision.rejected, [](const auto &a, const auto &b) { return a.seconds < b.seconds; });
    if (!decision.rejected.empty()) decisions.push_back(std::move(decision));
  }
}

std::vector<PricedDivision> tessera::priceAlternatives(const ModuleSharding &found, const SearchDevices &devices) {
  PricedLabels priced(found, devices);
  std::vector<PricedDivision> decisions;
  for (auto [i, node] : llvm::enumerate(priced.graph.getNodes()))
    if (node.kind == ShardingNode::Kind::State)
      addDecisions(i, {cast<StateOp>(node.ops.front()).getPath().str(), {}, {}, {}, {}, {}}, found, priced, decisions);
  for (const auto &[place, node] : nodesOfLines(priced)) {
    StringRef op = priced.graph.getNodes()[node].ops.front()->getName().stripDialect();
    PricedDivision whose{{}, place.first + ":" + std::to_string(place.second), op.str(), {}, {}, {}};
    addDecisions(node, whose, found, priced, decisions);
  }
  return decisions;
}

/// The keys `seconds` and `exact`.
static SmallVector<NamedAttribute> describePrice(double seconds, bool isExact, Builder &b) {
  return {b.getNamedAttr("seconds", b.getF64FloatAttr(seconds)), b.getNamedAttr("exact", b.getBoolAttr(isExact))};
}

ArrayAttr tessera::describeAlternatives(ModuleOp module, const ModuleSharding &found, const SearchDevices &devices) {
  Builder b(module.getContext());
  auto text = [&](StringRef key, StringRef value) { return b.getNamedAttr(key, b.getStringAttr(value)); };
  SmallVector<Attribute> list;
  for (const PricedDivision &decision : priceAlternatives(found, devices)) {
    SmallVector<Attribute> rejected;
    for (const ShardingAlternative &alternative : decision.rejected) {
      SmallVector<NamedAttribute> entries = describePrice(alternative.seconds, alternative.isExact, b);
      entries.push_back(text("axis", alternative.axis));
      rejected.push_back(b.getDictionaryAttr(entries));
    }
    SmallVector<NamedAttribute> entries{text("along", decision.along), text("chosen", decision.chosen),
                                        b.getNamedAttr("rejected", b.getArrayAttr(rejected))};
    if (decision.state.empty())
      entries.append({text("line", decision.line), text("op", decision.op)});
    else
      entries.push_back(text("state", decision.state));
    list.push_back(b.getDictionaryAttr(entries));
  }
  return b.getArrayAttr(list);
}

ArrayAttr tessera::describeMeshes(ModuleOp module, const ModuleSharding &found) {
  Builder b(module.getContext());
  std::vector<SearchedMesh> others = found.meshes;
  llvm::erase_if(others, [&](const SearchedMesh &searched) {
    return searched.mesh == found.step.mesh || !std::isfinite(searched.seconds);
  });
  llvm::stable_sort(others, [](const auto &one, const auto &other) { return one.seconds < other.seconds; });
  return b.getArrayAttr(llvm::map_to_vector(others, [&](const SearchedMesh &searched) -> Attribute {
    SmallVector<NamedAttribute> entries = describePrice(searched.seconds, searched.isExact, b);
    entries.push_back(b.getNamedAttr("mesh", b.getI64ArrayAttr(searched.mesh)));
    return b.getDictionaryAttr(entries);
  }));
}
