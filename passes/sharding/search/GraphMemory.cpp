//===- GraphMemory.cpp - what goes through memory, and stays there --------===//

#include "passes/sharding/search/GraphMemory.h"
#include "ir/program/Program.h"
#include "passes/sharding/Sharding.h"

using namespace mlir;
using namespace tessera;

void tessera::addTraffic(MutableArrayRef<ShardingNode> nodes, const ShardingGraph &graph) {
  DenseMap<Operation *, unsigned> nodeOf;
  for (auto [i, node] : llvm::enumerate(nodes))
    if (node.kind == ShardingNode::Kind::Ops)
      for (Operation *op : node.ops) nodeOf[op] = i;
  auto isIn = [&](Operation *op, unsigned node) {
    auto it = op ? nodeOf.find(op) : nodeOf.end();
    return it != nodeOf.end() && it->second == node;
  };
  for (auto [i, node] : llvm::enumerate(nodes)) {
    if (node.kind != ShardingNode::Kind::Ops) continue;
    llvm::SmallDenseSet<Value> known;
    for (Operation *op : node.ops) {
      for (OpOperand &operand : op->getOpOperands()) {
        Value value = withoutRenames(operand.get());
        Operation *def = value.getDefiningOp();
        if (isIn(def, i) || (def && isSourceless(def)) || !known.insert(value).second) continue;
        node.read.push_back(
            {graph.shapeOf(tensorType(operand.get())), graph.wantedForm(operand, i), graph.columnsOf(value)});
      }
      for (Value result : op->getResults()) {
        bool isWritten = false;
        forEachUse(result, [&, i = i](OpOperand &use) { isWritten |= !isIn(use.getOwner(), i); });
        NamedTensorType type = tensorType(result);
        if (isWritten)
          node.written.push_back({graph.shapeOf(type), graph.producedForm(op, type, i), graph.columnsOf(result)});
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// What is alive when
//===----------------------------------------------------------------------===//

RunMoments::RunMoments(func::FuncOp function) { add(function.getBody().front()); }

void RunMoments::add(Block &block) {
  for (Operation &op : block) {
    unsigned first = number;
    if (auto repeat = dyn_cast<RepeatOp>(op))
      add(repeat.getBlock());
    else
      ++number;
    lives[&op] = {first, number - 1};
  }
}

Life RunMoments::of(Value value) const {
  Operation *def = value.getDefiningOp();
  Life life = def ? of(def) : Life{number, 0};
  forEachUse(value, [&](OpOperand &use) {
    Life ofUse = of(use.getOwner());
    life.first = std::min(life.first, ofUse.first), life.last = std::max(life.last, ofUse.last);
  });
  return life.first == number ? Life() : life;
}

bool tessera::isCarriedBy(RepeatOp repeat, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == &repeat.getBlock() && argument.getArgNumber() <= repeat.getCarried().size();
}

namespace {
/// Finds which values and exchanges of a function take memory when. What repeats carry and stack is a result of them,
/// and written there, and so is what is added to a carried value; a state that is updated is written to its own place.
class LiveMemory {
public:
  LiveMemory(MutableArrayRef<ShardingNode> nodes, MutableArrayRef<ShardingEdge> edges, const ShardingGraph &graph,
             const RunMoments &moments);
  void add();

private:
  void addArguments();
  void addValue(Value value);
  void addParts(Operation *op);
  void addCopy(ShardingEdge &edge);
  Life besideKernels(const ShardingEdge &edge) const;
  bool staysInNode(Value value, unsigned node) const;
  bool isAddedToCarried(Value value) const;

  MutableArrayRef<ShardingNode> nodes;
  MutableArrayRef<ShardingEdge> edges;
  const ShardingGraph &graph;
  const RunMoments &moments;
  llvm::DenseSet<Value> placed;           ///< elsewhere
  DenseMap<Operation *, unsigned> nodeOf; ///< of ops
};
} // namespace

LiveMemory::LiveMemory(MutableArrayRef<ShardingNode> nodes, MutableArrayRef<ShardingEdge> edges,
                       const ShardingGraph &graph, const RunMoments &moments)
    : nodes(nodes), edges(edges), graph(graph), moments(moments) {
  func::FuncOp function = graph.getFunction();
  for (auto [i, value] : llvm::enumerate(function.getBody().front().getTerminator()->getOperands()))
    if (!resultState(function, i).empty() && !isa<BlockArgument>(value)) placed.insert(withoutRenames(value));
  function.walk([&](YieldOp yield) {
    for (Value value : yield.getValues()) placed.insert(withoutRenames(value));
  });
  SmallVector<Value> added;
  function.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (isAddedToCarried(result)) added.push_back(result);
  });
  placed.insert_range(added);
  for (auto [i, node] : llvm::enumerate(nodes))
    for (Operation *op : node.ops) nodeOf[op] = i;
}

void LiveMemory::addArguments() {
  func::FuncOp function = graph.getFunction();
  for (BlockArgument argument : function.getArguments())
    if (const ValueSource *source = graph.originOf(argument))
      nodes[source->node].alive.push_back(
          {{graph.shapeOf(tensorType(argument)), source->form}, {0, moments.count() - 1}});
}

/// Whether it is a term of a sum that a repeat carries on: an accumulator.
bool LiveMemory::isAddedToCarried(Value value) const {
  bool isAdded = !value.use_empty();
  forEachUse(value, [&](OpOperand &use) {
    auto add = dyn_cast<AddOp>(use.getOwner());
    auto repeat = add ? dyn_cast<RepeatOp>(add->getParentOp()) : RepeatOp();
    isAdded &= repeat && placed.contains(add.getResult()) && llvm::any_of(add.getOperands(), [&](Value operand) {
                 return isCarriedBy(repeat, withoutRenames(operand));
               });
  });
  return isAdded;
}

/// Fused kernels keep what only ops of their chain read in registers.
bool LiveMemory::staysInNode(Value value, unsigned node) const {
  bool stays = !value.use_empty();
  forEachUse(value, [&](OpOperand &use) {
    auto reader = nodeOf.find(use.getOwner());
    stays &= reader != nodeOf.end() && reader->second == node;
  });
  return stays;
}

void LiveMemory::addValue(Value value) {
  const ValueSource *source = graph.sourceOf(value), *origin = graph.originOf(value);
  if (!source || placed.contains(value) || graph.columnsOf(value) != wholeForm || staysInNode(value, source->node))
    return;
  auto add = [&](const ValueSource &as, Life life) {
    nodes[as.node].alive.push_back({{graph.shapeOf(tensorType(value)), as.form}, life});
  };
  Life life = moments.of(value);
  // What a repeat carries may get another form behind it, as a sum that is completed there.
  auto repeat = value.getDefiningOp<RepeatOp>();
  unsigned end = repeat ? moments.of(repeat).last : life.first;
  if (repeat && origin != source) add(*origin, {life.first, end}), life.first = end + 1;
  if (life.first <= life.last) add(*source, life);
}

/// A composite that is divided along an axis that it mixes has its elements in memory: an attention its scores, others
/// as many as they read, for as long as what they read.
void LiveMemory::addParts(Operation *op) {
  auto node = nodeOf.find(op);
  if (!isa<DecomposeOpInterface>(op) || node == nodeOf.end()) return;
  SmallVector<AxisId, 2> mixed;
  for (const SizedAxis &axis : nodes[node->second].axes)
    if (mustDecompose(op, graph.axisName(axis.id))) mixed.push_back(axis.id);
  if (mixed.empty()) return;
  Value read = op->getOperand(0);
  LiveTensor parts{{graph.shapeOf(tensorType(read)), graph.wantedForm(op->getOpOperand(0), node->second)},
                   moments.of(withoutRenames(read))};
  if (auto attention = dyn_cast<AttentionOp>(op)) {
    SmallVector<StringRef> hidden = names(attention.getHidden());
    TensorShape &shape = parts.tensor.shape;
    llvm::erase_if(shape.axes,
                   [&](const SizedAxis &axis) { return llvm::is_contained(hidden, graph.axisName(axis.id)); });
    shape.axes.push_back(
        {graph.axisNumber(attention.getKey()), tensorType(attention.getK()).getSize(attention.getKey())});
    shape.elementBytes = static_cast<double>(tensorType(attention.getShift()).getElementBytes());
    for (const SizedAxis &axis : shape.axes) parts.tensor.form.set(axis.id, axis.id);
    parts.life = moments.of(op);
  }
  nodes[node->second].aliveInParts.push_back({mixed, parts});
}

void LiveMemory::addCopy(ShardingEdge &edge) {
  using Copy = ShardingEdge::Copy;
  Operation *def = edge.value.getDefiningOp();
  const ShardingNode &reader = nodes[edge.to];
  bool isOwnNode = reader.value == edge.value; // as which it lives on
  if (placed.contains(edge.value)) {
    edge.copy = Copy::Sent, edge.copied = moments.of(edge.value);
  } else if (reader.kind == ShardingNode::Kind::Ops) {
    Life readers{moments.count(), 0};
    forEachUse(edge.value, [&](OpOperand &use) {
      auto node = nodeOf.find(use.getOwner());
      if (node == nodeOf.end() || node->second != edge.to) return;
      Life life = moments.of(use.getOwner());
      readers = {std::min(readers.first, life.first), std::max(readers.last, life.last)};
    });
    if (readers.first <= readers.last) edge.copy = Copy::Received, edge.copied = readers;
  } else if (isOwnNode && !def) {
    edge.copy = Copy::Received, edge.copied = moments.of(edge.value);
  } else if (isOwnNode && !isa<RepeatOp>(def)) {
    unsigned last = moments.of(def).last;
    edge.copy = Copy::Sent, edge.copied = {last, last};
  }
}

/// As `schedule` places exchanges (passes/launch/OverlappedExchanges.h): what is early or late in a repeat has a place
/// until the repeat ends; others start before the last repeat before what reads them, if what they send is there by
/// then, or else at the beginning of the block.
Life LiveMemory::besideKernels(const ShardingEdge &edge) const {
  Life life = edge.copied;
  if (edge.besideIn != 0) return moments.of(graph.getRepeats()[edge.besideIn].op);
  if (edge.copy != ShardingEdge::Copy::Received || nodes[edge.to].kind != ShardingNode::Kind::Ops) return life;
  Operation *reader = nodes[edge.to].ops.front(), *before = reader->getPrevNode();
  while (before && !isa<RepeatOp>(before)) before = before->getPrevNode();
  Operation *maker = edge.value.getDefiningOp();
  bool isThere = !maker || maker->getBlock() != reader->getBlock() || (before && maker->isBeforeInBlock(before));
  if (isThere) life.first = std::min(life.first, moments.of(before ? before : &reader->getBlock()->front()).first);
  return life;
}

void LiveMemory::add() {
  addArguments();
  func::FuncOp(graph.getFunction()).walk([&](Operation *op) {
    if (isa<RenameOp, func::FuncOp>(op) || isSourceless(op)) return;
    for (Value result : op->getResults()) addValue(result);
    addParts(op);
  });
  for (ShardingEdge &edge : edges) addCopy(edge), edge.copiedBeside = besideKernels(edge);
}

void tessera::addAlive(MutableArrayRef<ShardingNode> nodes, MutableArrayRef<ShardingEdge> edges,
                       const ShardingGraph &graph, const RunMoments &moments) {
  LiveMemory(nodes, edges, graph, moments).add();
}
