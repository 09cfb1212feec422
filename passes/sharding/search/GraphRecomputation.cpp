//===- GraphRecomputation.cpp - what of a graph may be computed again -----===//

#include "passes/sharding/search/GraphRecomputation.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

using namespace mlir;
using namespace tessera;

using Again = ShardingEdge::Again;

namespace {
/// A repeat whose stacks are read in the opposite order.
class RecomputedRepeat {
public:
  RecomputedRepeat(RepeatOp repeat, MutableArrayRef<ShardingNode> nodes, MutableArrayRef<ShardingEdge> edges,
                   const ShardingGraph &graph, const RunMoments &moments);
  void mark();

private:
  bool isReadInReverse(OpResult stack);
  bool isInBody(const ShardingNode &node);
  Again sourceOf(const ShardingEdge &edge);

  RepeatOp repeat;
  MutableArrayRef<ShardingNode> nodes;
  MutableArrayRef<ShardingEdge> edges;
  llvm::SmallDenseSet<Value> stacked;   ///< in the body
  llvm::SmallDenseSet<unsigned> stacks; ///< nodes
  Life life{UINT_MAX, 0};               ///< of all stacks
};
} // namespace

RecomputedRepeat::RecomputedRepeat(RepeatOp repeat, MutableArrayRef<ShardingNode> nodes,
                                   MutableArrayRef<ShardingEdge> edges, const ShardingGraph &graph,
                                   const RunMoments &moments)
    : repeat(repeat), nodes(nodes), edges(edges) {
  YieldOp yield = repeat.getYield();
  for (OpResult stack : repeat->getResults().drop_front(repeat.getCarried().size())) {
    if (!isReadInReverse(stack)) continue;
    Value value = withoutRenames(yield.getValues()[stack.getResultNumber()]);
    stacked.insert(value);
    const ValueSource *source = graph.originOf(stack);
    // Of all stacks those of one segment, and of what is carried also the value at the beginning of each one.
    auto iterations = static_cast<double>(repeat.getAxis().getSize());
    double share = 1 / std::sqrt(iterations);
    if (source) nodes[source->node].segmentShare = std::min(1.0, (isCarriedBy(repeat, value) ? 2 : 1) * share);
    if (!value.getDefiningOp() || !source || nodes[source->node].alive.empty()) continue;
    stacks.insert(source->node);
    Life ofStack = moments.of(stack);
    life = {std::min(life.first, ofStack.first), std::max(life.last, ofStack.last)};
  }
}

bool RecomputedRepeat::isReadInReverse(OpResult stack) {
  bool isReversed = !stack.use_empty();
  forEachUse(stack, [&](OpOperand &use) {
    auto reader = dyn_cast<RepeatOp>(use.getOwner());
    isReversed &= reader && reader.getReverse() != repeat.getReverse() &&
                  reader.getAxis().getName() == repeat.getAxis().getName();
  });
  return isReversed;
}

bool RecomputedRepeat::isInBody(const ShardingNode &node) {
  Block *body = &repeat.getBlock();
  if (node.kind == ShardingNode::Kind::Ops) return node.ops.front()->getBlock() == body;
  Operation *def = node.value ? node.value.getDefiningOp() : nullptr;
  return node.kind == ShardingNode::Kind::Value && def && def->getBlock() == body;
}

/// Where what an edge brings is from, if the node that it goes to runs again.
Again RecomputedRepeat::sourceOf(const ShardingEdge &edge) {
  bool isOwnNode = nodes[edge.to].value == edge.value; // which its stack is of
  if (stacked.contains(edge.value) && !isOwnNode) return Again::Stored;
  if (isInBody(nodes[edge.from])) return Again::Computed;
  return isCarriedBy(repeat, edge.value) ? Again::Kept : Again::Stored;
}

void RecomputedRepeat::mark() {
  if (stacks.empty()) return;
  llvm::SmallSetVector<unsigned, 32> left;
  for (const ShardingEdge &edge : edges)
    if (stacks.contains(edge.to) && isInBody(nodes[edge.from])) left.insert(edge.from);
  for (unsigned i = 0; i < left.size(); ++i)
    for (const ShardingEdge &edge : edges)
      if (edge.to == left[i] && isInBody(nodes[edge.from])) left.insert(edge.from);
  auto iterations = static_cast<double>(repeat.getAxis().getSize());
  for (unsigned node : left) nodes[node].iterations = iterations;
  for (unsigned node : stacks) nodes[node].isStack = true;
  for (ShardingEdge &edge : edges) {
    if (left.contains(edge.to)) edge.again = sourceOf(edge), edge.stacked = life;
    if (stacks.contains(edge.to) && !left.contains(edge.from)) nodes[edge.to].isStack = false;
  }
}

void tessera::addRecomputation(MutableArrayRef<ShardingNode> nodes, MutableArrayRef<ShardingEdge> edges,
                               const ShardingGraph &graph, const RunMoments &moments) {
  func::FuncOp(graph.getFunction()).walk([&](RepeatOp repeat) {
    RecomputedRepeat(repeat, nodes, edges, graph, moments).mark();
  });
}
