//===- Alternatives.cpp - the price of what a search rejected -------------===//
//
// 1. The least seconds with each label of a node are its min-marginals (Solver.h); those of an alternative are the
//    least ones of the labels that have it.
// 2. Where they are bounds only, as on meshes with several axes, the least labelling with these labels alone is looked
//    for, from the decisions about the most time and the most bytes on, as long as there is work left.
//
// Where memory decided, a byte has a price λ, that of the solve whose dual is the bound. A sharding with a label that
// has at most B bytes takes at least m - λB seconds, where m is the min-marginal of seconds + λ · bytes.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/search/Alternatives.h"
#include "ir/program/Program.h"
#include <cmath>
#include <map>
#include <set>

using namespace mlir;
using namespace tessera;

/// Seconds within this of the least, relative to it, are those of a sharding that memory did not decide.
static constexpr double sameSeconds = 1e-2;
/// Labellings with certain labels alone are found as near to the least as this.
static constexpr double priceTolerance = 5e-3;
/// Of all searches for them, in entries of tables that are passed: some seconds.
static constexpr double mostPriceWork = 1.5e9;

namespace {
/// A decision about a node, and the axes of what is rejected.
struct NodeDecision {
  PricedDivision division;
  unsigned node = 0, along = 0;
  llvm::SmallVector<AxisId, 4> axes; ///< of `division.rejected`
  double weight = 0;                 ///< seconds of ops, or bytes of a state
};

/// The label problem of what was found.
class PricedLabels {
public:
  PricedLabels(const ModuleSharding &found, const SearchDevices &devices, RecomputationWay recomputation);

  /// About parameters and moments, then about lines, with prices by min-marginals.
  std::vector<NodeDecision> list() const;
  /// Makes prices exact, as far as there is work left.
  void refine(NodeDecision &decision);

private:
  void add(unsigned node, double weight, const PricedDivision &whose, std::vector<NodeDecision> &decisions) const;
  std::map<std::pair<std::string, unsigned>, unsigned> nodesOfLines() const;
  MinMarginal leastWith(unsigned node, AxisId axis, unsigned along) const;
  ShardingAlternative asAlternative(AxisId axis, const MinMarginal &least) const;

  const ModuleSharding &found;
  ShardingGraph graph;
  ShardingCosts costs;
  LabelWeights weights;
  LabelProblem problem;
  LabelSolution solution;
  std::vector<std::vector<MinMarginal>> marginals; ///< by node and label, under the weights
  std::vector<double> mostSeconds;                 ///< of each node alone, with any of its labels
  bool isLimited = false; ///< memory decided, or exchanges run beside kernels: prices are lower bounds
  double entries = 0;     ///< of all tables
  double work = 0;        ///< up to now
};
} // namespace

PricedLabels::PricedLabels(const ModuleSharding &found, const SearchDevices &devices, RecomputationWay recomputation)
    : found(found), graph(found.tables.front().first, found.tiled),
      costs(graph, found.step.mesh, devices, recomputation), weights{1, found.step.secondsPerByte} {
  ArrayRef<ShardingNode> nodes = graph.getNodes();
  if (found.isPinned)
    for (unsigned i = 0; i < nodes.size(); ++i) costs.restrict(i, found.pins.allowed(graph, i, costs.labelsOf(i)));
  if (costs.haveBeside()) costs.setShares(found.step.shares);
  problem = costs.problem(found.step.weights ? *found.step.weights : MomentWeights(graph.countMoments()));
  solution = solve(problem, weights);
  isLimited = costs.haveBeside() || weights.bytes > 0 || !solution.found ||
              found.step.cost.seconds > (1 + sameSeconds) * solution.cost.seconds;
  marginals = minMarginals(problem, weights, solution);
  for (unsigned i = 0; i < nodes.size(); ++i) {
    double most = 0;
    for (const LabelCost &cost : problem.labels(i))
      if (cost.isAllowed()) most = std::max(most, cost.seconds);
    mostSeconds.push_back(most);
  }
  for (const LabelProblem::Pair &pair : problem.getPairs())
    entries += static_cast<double>(pair.classes[0].size() + pair.classes[1].size() + pair.table.size());
}

/// By line, in the order of the model, the node that takes the most time.
std::map<std::pair<std::string, unsigned>, unsigned> PricedLabels::nodesOfLines() const {
  std::map<std::pair<std::string, unsigned>, unsigned> nodes;
  for (auto [i, node] : llvm::enumerate(graph.getNodes())) {
    if (node.kind != ShardingNode::Kind::Ops) continue;
    FileLineColLoc place = userPlace(node.ops.front()->getLoc());
    if (!place) continue;
    auto [known, isNew] =
        nodes.try_emplace({fileNameInLines(place.getFilename().getValue()), place.getLine()}, unsigned(i));
    if (!isNew && mostSeconds[i] > mostSeconds[known->second]) known->second = unsigned(i);
  }
  return nodes;
}

/// By the min-marginals of the labels with which a mesh axis divides an axis of a node.
MinMarginal PricedLabels::leastWith(unsigned node, AxisId axis, unsigned along) const {
  MinMarginal least{INFINITY, true};
  for (auto [form, marginal] : llvm::zip(costs.labelsOf(node), marginals[node]))
    if (form.along[along] == axis && marginal.value < least.value) least = marginal;
  return least;
}

ShardingAlternative PricedLabels::asAlternative(AxisId axis, const MinMarginal &least) const {
  double seconds = weights.bytes > 0 ? std::max(0.0, least.value - weights.bytes * found.bytes) : least.value;
  return {graph.axisName(axis), seconds, least.isExact && !isLimited};
}

/// Adds what each mesh axis divides of a node, if it could divide something else.
void PricedLabels::add(unsigned node, double weight, const PricedDivision &whose,
                       std::vector<NodeDecision> &decisions) const {
  for (auto [along, axis] : llvm::enumerate(found.mesh)) {
    AxisId chosen = found.step.forms[node].along[along];
    if (chosen == pendingForm) continue;
    NodeDecision decision{whose, node, unsigned(along), {}, weight};
    decision.division.along = axis.getName(), decision.division.chosen = graph.axisName(chosen);
    std::set<AxisId> others;
    for (const Form &form : costs.labelsOf(node)) others.insert(form.along[along]);
    for (AxisId other : others) {
      if (other == chosen || other == pendingForm) continue;
      MinMarginal least = leastWith(node, other, along);
      if (!std::isfinite(least.value)) continue;
      decision.axes.push_back(other), decision.division.rejected.push_back(asAlternative(other, least));
    }
    if (!decision.axes.empty()) decisions.push_back(std::move(decision));
  }
}

std::vector<NodeDecision> PricedLabels::list() const {
  std::vector<NodeDecision> decisions;
  ArrayRef<ShardingNode> nodes = graph.getNodes();
  for (auto [i, node] : llvm::enumerate(nodes)) {
    if (node.kind != ShardingNode::Kind::State) continue;
    auto state = cast<StateOp>(node.ops.front());
    add(i, static_cast<double>(state.getTensorType().getNumBytes()), {state.getPath().str(), {}, {}, {}, {}, {}},
        decisions);
  }
  for (const auto &[place, node] : nodesOfLines()) {
    StringRef op = nodes[node].ops.front()->getName().stripDialect();
    add(node, mostSeconds[node], {{}, place.first + ":" + std::to_string(place.second), op.str(), {}, {}, {}},
        decisions);
  }
  return decisions;
}

void PricedLabels::refine(NodeDecision &decision) {
  unsigned node = decision.node;
  for (auto [axis, rejected] : llvm::zip_equal(decision.axes, decision.division.rejected)) {
    MinMarginal least = leastWith(node, axis, decision.along);
    if (least.isExact || work > mostPriceWork) continue;
    LabelSets allowed;
    for (unsigned i = 0; i < problem.size(); ++i) allowed.emplace_back(problem.labels(i).size(), true);
    for (auto [label, form] : llvm::enumerate(costs.labelsOf(node)))
      allowed[node][label] = form.along[decision.along] == axis;
    SolverOptions options;
    options.tolerance = priceTolerance;
    SolverStart start;
    start.messages = &solution.messages, start.allowed = &allowed;
    LabelSolution with = solve(problem, weights, options, start);
    work += static_cast<double>(with.effort.passes) * entries + with.effort.tableEntries;
    least.value = std::max(least.value, with.bound);
    least.isExact = with.found && with.value <= (1 + 2 * priceTolerance) * with.bound;
    rejected = asAlternative(axis, least);
  }
}

/// The decisions by their weights, the first of states and of lines in turn.
static std::vector<NodeDecision *> inOrderOfWeight(std::vector<NodeDecision> &decisions) {
  std::vector<NodeDecision *> ofStates, ofLines, all;
  for (NodeDecision &decision : decisions) (decision.division.state.empty() ? ofLines : ofStates).push_back(&decision);
  for (std::vector<NodeDecision *> *list : {&ofStates, &ofLines})
    llvm::stable_sort(*list, [](const NodeDecision *a, const NodeDecision *b) { return a->weight > b->weight; });
  for (size_t i = 0; i < std::max(ofStates.size(), ofLines.size()); ++i) {
    if (i < ofLines.size()) all.push_back(ofLines[i]);
    if (i < ofStates.size()) all.push_back(ofStates[i]);
  }
  return all;
}

static std::vector<NodeDecision> price(const ModuleSharding &found, const SearchDevices &devices,
                                       RecomputationWay recomputation) {
  PricedLabels priced(found, devices, recomputation);
  std::vector<NodeDecision> decisions = priced.list();
  for (NodeDecision *decision : inOrderOfWeight(decisions)) priced.refine(*decision);
  return decisions;
}

/// An alternative may be cheaper with other recomputation.
static void lowerPrices(std::vector<NodeDecision> &decisions, ArrayRef<NodeDecision> others) {
  std::map<std::tuple<unsigned, unsigned, AxisId>, double> seconds;
  for (const NodeDecision &other : others)
    for (auto [axis, rejected] : llvm::zip_equal(other.axes, other.division.rejected))
      seconds[{other.node, other.along, axis}] = rejected.seconds;
  for (NodeDecision &decision : decisions)
    for (auto [axis, rejected] : llvm::zip_equal(decision.axes, decision.division.rejected))
      if (auto other = seconds.find({decision.node, decision.along, axis}); other != seconds.end())
        rejected.seconds = std::min(rejected.seconds, other->second);
}

std::vector<PricedDivision> tessera::priceAlternatives(const ModuleSharding &found, const SearchDevices &devices) {
  RecomputationWay chosen = found.step.recomputation;
  std::vector<NodeDecision> decisions = price(found, devices, chosen);
  if (chosen != RecomputationWay::None)
    for (RecomputationWay other : {RecomputationWay::Values, RecomputationWay::Segments, RecomputationWay::Both})
      if (other != chosen) lowerPrices(decisions, price(found, devices, other));
  std::vector<PricedDivision> divisions;
  for (NodeDecision &decision : decisions) {
    PricedDivision &division = divisions.emplace_back(std::move(decision.division));
    llvm::erase_if(division.rejected, [](const ShardingAlternative &other) { return !std::isfinite(other.seconds); });
    llvm::stable_sort(division.rejected, [](const auto &a, const auto &b) { return a.seconds < b.seconds; });
    if (division.rejected.empty()) divisions.pop_back();
  }
  return divisions;
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
