//===- ShardingGraphBuilder.cpp - the graph of a function -----------------===//

#include "ir/dialect/GraphBuilder.h"
#include "ir/program/Program.h"
#include "passes/sharding/Assignment.h"
#include "passes/sharding/search/DelayedSums.h"
#include "passes/sharding/search/GraphMemory.h"
#include "passes/sharding/search/GraphRecomputation.h"
#include "passes/sharding/search/ShardingGraph.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tessera;

/// Of a value that is an input, perhaps under another type or other names, the split that makes blocks of it.
static SplitOp blocksOfInput(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!isa<CastOp, RenameOp>(def)) return {};
    value = def->getOperand(0);
  }
  auto argument = cast<BlockArgument>(value);
  return isa<func::FuncOp>(argument.getOwner()->getParentOp()) ? splitIntoBlocks(argument) : SplitOp();
}

namespace tessera {
class ShardingGraphBuilder {
public:
  explicit ShardingGraphBuilder(ShardingGraph &graph)
      : graph(graph), module(graph.function->getParentOfType<ModuleOp>()), repeated(repeatedAxes(graph.function)),
        repeatedAnywhere(repeatedAxes(module)), delayed(graph.function), states(statesByPath(module)) {}

  void build();

private:
  void numberAxes();
  unsigned stateNode(StringRef path);
  void addArguments();
  void addResults();
  void addBlock(Block &block, double runs);
  void findChains(Block &block);
  bool joins(Operation *op, Value operand) const;
  mlir::SmallVector<AxisAttr> dividedSpace(Operation *op) const;
  void addOp(Operation &op, double runs);
  void addCombined(Operation *op, unsigned node);
  void addRepeat(RepeatOp repeat, double runs);
  void setSource(Value value, const ValueSource &source, double runs);
  void addEdge(Value value, unsigned to, const FormMap &wanted, double runs, unsigned leaves = 0);
  unsigned repeatBringing(Value value) const;

  unsigned addNode(ShardingNode::Kind kind, ArrayRef<AxisAttr> axes, double runs);
  unsigned addValueNode(Value value, double runs);
  FormMap identityOf(unsigned node) const;
  /// What stands for the node of an op, before there are nodes.
  Operation *leader(Operation *op) const { return chains.contains(op) ? chains.getLeaderValue(op) : op; }

  ShardingGraph &graph;
  ModuleOp module;
  llvm::StringSet<> repeated;                   ///< axes of repeats of the function
  llvm::StringSet<> repeatedAnywhere;           ///< and of all functions: no state is divided along them
  llvm::EquivalenceClasses<Operation *> chains; ///< elementwise ops with equal axes, joined by what they read
  DelayedSums delayed;
  unsigned repeat = 0;                                                    ///< around what is added, by number
  DenseMap<Operation *, unsigned> numbers;                                ///< of repeats
  DenseMap<Operation *, unsigned> nodeOfChain;                            ///< by leader
  DenseMap<std::pair<Value, unsigned>, SmallVector<unsigned, 1>> edgesOf; ///< of a value to a node
  llvm::StringMap<StateOp> states;                                        ///< by path
  llvm::StringMap<unsigned> nodeOfState;                                  ///< by path
  llvm::StringMap<unsigned> momentsOf;                                    ///< by the path of the parameter
};
} // namespace tessera

ShardingGraph::ShardingGraph(func::FuncOp function, const TiledContractions &tiled) : function(function), tiled(tiled) {
  ShardingGraphBuilder(*this).build();
}

void ShardingGraphBuilder::build() {
  numberAxes();
  addNode(ShardingNode::Kind::Value, {}, 1); // what is always whole
  graph.function.walk([&](Block *block) { findChains(*block); });
  addArguments();
  addBlock(graph.function.getBody().front(), 1);
  addResults();
  addTraffic(graph.nodes, graph);
  RunMoments moments(graph.function);
  graph.moments = moments.count();
  addAlive(graph.nodes, graph.edges, graph, moments);
  addRecomputation(graph.nodes, graph.edges, graph, moments);
}

void ShardingGraphBuilder::numberAxes() {
  static_assert(mostSearchedNames < pendingForm, "an axis has the number of a form");
  graph.axisNames.push_back("");
  if (mostAxisNames(module) > mostSearchedNames) return;
  for (StringRef name : axisNamesOf(graph.function)) {
    graph.axisIds[name] = static_cast<AxisId>(graph.axisNames.size());
    graph.axisNames.push_back(name);
  }
}

unsigned ShardingGraphBuilder::addNode(ShardingNode::Kind kind, ArrayRef<AxisAttr> axes, double runs) {
  ShardingNode &node = graph.nodes.emplace_back();
  node.kind = kind, node.runs = runs, node.repeat = repeat;
  const llvm::StringSet<> &whole = kind == ShardingNode::Kind::State ? repeatedAnywhere : repeated;
  for (AxisAttr axis : axes)
    if (AxisId id = graph.axisNumber(axis.getName()); id != wholeForm && !whole.contains(axis.getName()))
      node.axes.push_back({id, axis.getSize()});
  return graph.nodes.size() - 1;
}

unsigned ShardingGraphBuilder::addValueNode(Value value, double runs) {
  unsigned node = addNode(ShardingNode::Kind::Value, tensorType(value).getAxes(), runs);
  graph.nodes[node].value = value;
  return node;
}

FormMap ShardingGraphBuilder::identityOf(unsigned node) const {
  FormMap map;
  for (const SizedAxis &axis : graph.nodes[node].axes) map.set(axis.id, axis.id);
  return map;
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

/// The node of a state; moments have that of the first moment of their parameter.
unsigned ShardingGraphBuilder::stateNode(StringRef path) {
  if (auto known = nodeOfState.find(path); known != nodeOfState.end()) return known->second;
  StateOp state = states.lookup(path);
  StringRef owner = path.rsplit('.').first;
  bool isMoment = state.getKind() == "moment" && states.contains(owner);
  auto shared = isMoment ? momentsOf.find(owner) : momentsOf.end();
  unsigned node = shared != momentsOf.end() ? shared->second
                                            : addNode(ShardingNode::Kind::State, state.getTensorType().getAxes(), 1);
  if (isMoment) momentsOf[owner] = node;
  graph.nodes[node].ops.push_back(state);
  return nodeOfState[path] = node;
}

void ShardingGraphBuilder::addArguments() {
  func::FuncOp function = graph.function;
  for (BlockArgument argument : function.getArguments()) {
    ArrayRef<AxisAttr> axes = tensorType(argument).getAxes();
    if (axes.empty()) continue;
    StringRef path = argumentState(function, argument.getArgNumber());
    if (path.empty() && !isGivenInParts(function, argument.getArgNumber())) continue;
    unsigned node = path.empty() ? addNode(ShardingNode::Kind::Input, axes, 1) : stateNode(path);
    if (path.empty()) graph.nodes[node].value = argument;
    setSource(argument, {node, identityOf(node)}, 1);
  }
}

void ShardingGraphBuilder::addResults() {
  for (auto [i, value] : llvm::enumerate(graph.function.getBody().front().getTerminator()->getOperands())) {
    StringRef path = resultState(graph.function, i);
    unsigned node = path.empty() || tensorType(value).getAxes().empty() ? 0 : stateNode(path);
    addEdge(value, node, identityOf(node), 1);
  }
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Whether an elementwise op belongs to the chain of what computes an operand.
bool ShardingGraphBuilder::joins(Operation *op, Value operand) const {
  Operation *def = operand.getDefiningOp();
  return def && def->getBlock() == op->getBlock() && isa<ElementwiseOpInterface>(def) &&
         delayed.mayPend(def) == delayed.mayPend(op) &&
         tensorType(operand).getAxes() == tensorType(op->getResult(0)).getAxes();
}

void ShardingGraphBuilder::findChains(Block &block) {
  for (Operation &op : block.without_terminator()) {
    bool isScalar = tensorType(op.getResult(0)).getAxes().empty();
    if (!isa<ElementwiseOpInterface>(op) || (isScalar && !delayed.mayPend(&op))) continue;
    chains.insert(&op);
    for (Value operand : op.getOperands())
      if (joins(&op, operand)) chains.unionSets(&op, operand.getDefiningOp());
  }
}

void ShardingGraphBuilder::addBlock(Block &block, double runs) {
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (auto repeat = dyn_cast<RepeatOp>(op))
      addRepeat(repeat, runs);
    else
      addOp(op, runs);
  }
}

/// The axes that an op may be divided along. An input in blocks is not divided in whole blocks; and if it has no node,
/// its blocks are whole.
SmallVector<AxisAttr> ShardingGraphBuilder::dividedSpace(Operation *op) const {
  SmallVector<AxisAttr> space = spaceOf(op);
  auto split = dyn_cast<SplitOp>(op);
  SplitOp blocks = split ? blocksOfInput(split.getX()) : SplitOp();
  if (!blocks) return space;
  bool isWhole = !graph.sourceOf(split.getX());
  llvm::erase_if(space, [&](AxisAttr axis) {
    return axis.getName() == names(split.getInto()).front() || (isWhole && axis.getName() == blocks.getAxis());
  });
  return space;
}

void ShardingGraphBuilder::addOp(Operation &op, double runs) {
  if (isSourceless(&op)) return;
  if (auto rename = dyn_cast<RenameOp>(op)) {
    const ValueSource *source = graph.sourceOf(rename.getX());
    if (!source) return;
    SmallVector<StringRef> from = names(rename.getFrom()), to = names(rename.getTo());
    FormMap map;
    for (AxisAttr axis : tensorType(rename.getX()).getAxes()) {
      auto place = llvm::find(from, axis.getName());
      StringRef name = place == from.end() ? axis.getName() : to[place - from.begin()];
      map.set(graph.axisIds.lookup(axis.getName()), graph.axisIds.lookup(name));
    }
    graph.sources[rename.getResult()] = {source->node, source->form.then(map)};
    return;
  }
  SmallVector<AxisAttr> space = dividedSpace(&op);
  bool mayPend = delayed.mayPend(&op);
  if (space.empty() && !mayPend) { // of scalars
    for (Value operand : op.getOperands()) addEdge(operand, 0, FormMap(), runs);
    return;
  }
  auto [it, isNew] = nodeOfChain.try_emplace(leader(&op), 0);
  if (isNew) it->second = addNode(ShardingNode::Kind::Ops, space, runs);
  unsigned node = it->second;
  graph.nodes[node].ops.push_back(&op);
  graph.nodes[node].mayPend = mayPend;
  addCombined(&op, node);
  for (OpOperand &operand : op.getOpOperands()) addEdge(operand.get(), node, graph.wantedForm(operand, node), runs);
  for (Value result : op.getResults())
    setSource(result, {node, graph.producedForm(&op, tensorType(result), node)}, runs);
}

/// `partition` decomposes a composite that is divided along an axis that it mixes: its parts combine what ranks have.
void ShardingGraphBuilder::addCombined(Operation *op, unsigned node) {
  auto combine = [&](Operation *part, ArrayRef<SizedAxis> axes) {
    auto reduce = dyn_cast<ReduceOp>(part);
    if (!reduce && !isa<ContractOp, GatherOp>(part)) return;
    for (const SizedAxis &axis : axes) {
      StringRef name = graph.axisNames[axis.id];
      bool isOver = llvm::any_of(spaceOf(part), [&](AxisAttr of) { return of.getName() == name; });
      NamedTensorType result = tensorType(part->getResult(0));
      if (isOver && !result.hasAxis(name)) graph.nodes[node].combined.push_back({axis.id, graph.shapeOf(result)});
    }
  };
  ArrayRef<SizedAxis> axes = graph.nodes[node].axes;
  if (isa<ReduceOp>(op) && !isSum(op)) combine(op, axes);
  auto mixed =
      llvm::filter_to_vector(axes, [&](const SizedAxis &axis) { return mustDecompose(op, graph.axisNames[axis.id]); });
  if (mixed.empty()) return;
  OpBuilder builder(op);
  Operation *copy = builder.clone(*op);
  GraphBuilder parts(copy);
  Operation *previous = copy->getPrevNode();
  cast<DecomposeOpInterface>(copy).decompose(parts);
  Block &block = *copy->getBlock();
  SmallVector<Operation *> made;
  for (Operation &part :
       llvm::make_range(previous ? std::next(previous->getIterator()) : block.begin(), copy->getIterator()))
    made.push_back(&part);
  for (Operation *part : made) combine(part, mixed);
  copy->erase();
  for (Operation *part : llvm::reverse(made)) part->erase();
}

/// The repeat that a value comes into as a slice or an invariant: it is there an iteration early.
unsigned ShardingGraphBuilder::repeatBringing(Value value) const {
  auto argument = dyn_cast<BlockArgument>(withoutRenames(value));
  auto repeat = argument ? dyn_cast<RepeatOp>(argument.getOwner()->getParentOp()) : RepeatOp();
  bool isCarried = repeat && argument.getArgNumber() < 1 + repeat.getCarried().size();
  return repeat && !isCarried ? numbers.lookup(repeat) : 0;
}

/// An edge for what other nodes compute. What is whole everywhere can be divided for nothing. `leaves`: the repeat that
/// only stacks the value.
void ShardingGraphBuilder::addEdge(Value value, unsigned to, const FormMap &wanted, double runs, unsigned leaves) {
  const ValueSource *source = graph.sourceOf(value);
  if (!source || (source->node == to && source->form == wanted)) return;
  SmallVector<unsigned, 1> &known = edgesOf[{withoutRenames(value), to}];
  for (unsigned number : known) {
    const ShardingEdge &edge = graph.edges[number];
    if (edge.produced == source->form && edge.wanted == wanted) return;
  }
  known.push_back(graph.edges.size());
  ShardingEdge &edge = graph.edges.emplace_back();
  edge.from = source->node, edge.to = to;
  edge.produced = source->form, edge.wanted = wanted;
  edge.shape = graph.shapeOf(tensorType(value)), edge.value = withoutRenames(value);
  edge.runs = runs;
  edge.besideIn = leaves ? leaves : repeatBringing(value);
  if (SplitOp blocks = blocksOfInput(value)) edge.together = graph.axisNumber(blocks.getAxis());
}

/// Gives a value a node of its own if it may have another form than what computes it: if several nodes read it, which
/// would each bring it to the form that they want, if a repeat reads it as a whole in each iteration, or a sum.
void ShardingGraphBuilder::setSource(Value value, const ValueSource &source, double runs) {
  llvm::SmallSetVector<Operation *, 4> readers;
  bool isSliced = false, isReadWhole = false; // by repeats
  forEachUse(value, [&](OpOperand &use) {
    if (auto repeat = dyn_cast<RepeatOp>(use.getOwner())) {
      size_t number = use.getOperandNumber(), carried = repeat.getCarried().size();
      bool isSlice = number >= carried && number < carried + repeat.getSliced().size();
      isSliced |= isSlice, isReadWhole |= number >= carried && !isSlice;
    }
    readers.insert(leader(use.getOwner()));
  });
  Operation *def = value.getDefiningOp();
  if (def) readers.remove(leader(def));
  bool mayPend = isSum(def) || graph.nodes[source.node].mayPend;
  graph.sources[value] = source;
  // Of what is sliced each iteration brings its slice to the form that it wants.
  bool needsNode = isReadWhole || (isSliced ? mayPend : readers.size() > 1);
  if (!needsNode) return;
  graph.origins[value] = source;
  unsigned node = addValueNode(value, runs);
  addEdge(value, node, identityOf(node), runs);
  graph.sources[value] = {node, identityOf(node)};
}

void ShardingGraphBuilder::addRepeat(RepeatOp repeat, double runs) {
  double inner = runs * static_cast<double>(repeat.getAxis().getSize());
  unsigned around = this->repeat, number = numbers[repeat] = graph.repeats.size();
  graph.repeats.push_back({around, repeat});
  size_t carried = repeat.getCarried().size();
  SmallVector<std::optional<unsigned>> nodeOfResult(repeat.getNumResults());
  auto addResultNode = [&](unsigned i) {
    OpResult result = repeat->getResult(i);
    NamedTensorType type = i < carried ? tensorType(result) : tensorType(repeat.getYield().getValues()[i]);
    if (type.getAxes().empty() && !delayed.mayPend(result)) return false;
    unsigned node = addValueNode(result, runs);
    graph.nodes[node].mayPend = delayed.mayPend(result);
    nodeOfResult[i] = node;
    return true;
  };
  for (auto [i, operand] : llvm::enumerate(repeat.getOperands())) {
    Value argument = repeat.getBlock().getArgument(1 + i);
    if (i < carried) {
      if (!addResultNode(i)) continue;
      unsigned node = *nodeOfResult[i];
      addEdge(operand, node, identityOf(node), runs);
      setSource(argument, {node, identityOf(node)}, inner);
    } else if (const ValueSource *source = graph.sourceOf(operand); source && !tensorType(argument).getAxes().empty()) {
      ValueSource ofSlice = *source;
      setSource(argument, ofSlice, inner);
    }
  }
  this->repeat = number;
  addBlock(repeat.getBlock(), inner);
  this->repeat = around;
  for (auto [i, value] : llvm::enumerate(repeat.getYield().getValues())) {
    if (i >= carried) addResultNode(i);
    if (!nodeOfResult[i]) continue;
    unsigned node = *nodeOfResult[i];
    addEdge(value, node, identityOf(node), inner, i < carried ? 0 : number);
    setSource(repeat.getResult(i), {node, identityOf(node)}, runs);
  }
}
