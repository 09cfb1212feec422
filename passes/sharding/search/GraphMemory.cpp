//===- GraphMemory.cpp - what goes through memory, and stays there --------===//

#include "passes/sharding/search/GraphMemory.h"
#include "ir/program/Program.h"

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
// The peak of live memory
//===----------------------------------------------------------------------===//

static double bytesOf(Value value) { return static_cast<double>(tensorType(value).getNumBytes()); }

namespace {
struct Peak {
  double bytes = 0;
  SmallVector<Value> alive;
};

/// The values of a block and its repeats by the ops that they live for.
class BlockLives {
public:
  /// `others`: values that live as long as the block. Values in `placed` are somewhere else.
  BlockLives(const ShardingGraph &graph, Block &block, ArrayRef<Value> others, const llvm::DenseSet<Value> &placed);
  Peak findPeak();

private:
  const ShardingGraph &graph;
  struct Life {
    Value value;
    unsigned first, last; ///< places of ops
  };
  SmallVector<Operation *> ops;
  std::vector<Life> lives;
};
} // namespace

BlockLives::BlockLives(const ShardingGraph &graph, Block &block, ArrayRef<Value> others,
                       const llvm::DenseSet<Value> &placed)
    : graph(graph) {
  DenseMap<Operation *, unsigned> places;
  for (Operation &op : block) {
    places[&op] = ops.size();
    ops.push_back(&op);
  }
  for (Value value : others) lives.push_back({value, 0, static_cast<unsigned>(ops.size()) - 1});
  for (Operation &op : block) {
    if (isa<RenameOp>(op) || isSourceless(&op)) continue;
    for (Value result : op.getResults()) {
      if (placed.contains(result) || graph.columnsOf(result) != wholeForm) continue;
      unsigned last = places[&op];
      forEachUse(result, [&](OpOperand &use) { last = std::max(last, places[use.getOwner()]); });
      lives.push_back({result, places[&op], last});
    }
  }
}

/// A repeat needs room for what one iteration makes. What it carries and stacks is a result of it, and written there.
static Peak peakOfRepeat(const ShardingGraph &graph, RepeatOp repeat) {
  llvm::DenseSet<Value> placed;
  for (Value value : repeat.getYield().getValues()) placed.insert(withoutRenames(value));
  return BlockLives(graph, repeat.getBlock(), {}, placed).findPeak();
}

Peak BlockLives::findPeak() {
  std::vector<double> change(ops.size() + 1);
  for (const Life &life : lives) {
    change[life.first] += bytesOf(life.value);
    change[life.last + 1] -= bytesOf(life.value);
  }
  Peak peak;
  unsigned place = 0;
  double live = 0;
  for (unsigned i = 0; i < ops.size(); ++i) {
    live += change[i];
    Peak inside;
    if (auto repeat = dyn_cast<RepeatOp>(ops[i])) inside = peakOfRepeat(graph, repeat);
    if (live + inside.bytes <= peak.bytes) continue;
    inside.bytes += live;
    peak = std::move(inside), place = i;
  }
  for (const Life &life : lives)
    if (life.first <= place && place <= life.last) peak.alive.push_back(life.value);
  return peak;
}

/// A state that is updated is written to its own place.
void tessera::addAlive(MutableArrayRef<ShardingNode> nodes, const ShardingGraph &graph) {
  func::FuncOp function = graph.getFunction();
  Block &body = function.getBody().front();
  llvm::DenseSet<Value> placed;
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (!resultState(function, i).empty() && !isa<BlockArgument>(value)) placed.insert(withoutRenames(value));
  SmallVector<Value> arguments(body.getArguments());
  for (Value value : BlockLives(graph, body, arguments, placed).findPeak().alive)
    if (const ValueSource *source = graph.originOf(value))
      nodes[source->node].alive.push_back({graph.shapeOf(tensorType(value)), source->form});
}
