//===- ShardingGraph.cpp - what can be divided, and what depends on it ----===//

#include "passes/sharding/search/ShardingGraph.h"
#include "ir/program/Program.h"
#include "passes/sharding/Assignment.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

FormMap FormMap::identity(ArrayRef<AxisId> axes) {
  FormMap map;
  for (AxisId axis : axes) map.set(axis, axis);
  return map;
}

Form FormMap::operator()(const Form &form) const {
  Form result;
  for (unsigned i = 0; i < mostMeshAxes; ++i) result.along[i] = (*this)[form.along[i]];
  return result;
}

FormMap FormMap::then(const FormMap &next) const {
  FormMap result;
  for (AxisId axis = 1; axis < to.size(); ++axis) result.set(axis, next[to[axis]]);
  return result;
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

const ValueSource *ShardingGraph::sourceOf(Value value) const {
  auto it = sources.find(value);
  return it == sources.end() ? nullptr : &it->second;
}

const ValueSource *ShardingGraph::originOf(Value value) const {
  auto it = origins.find(value);
  return it == origins.end() ? sourceOf(value) : &it->second;
}

TensorShape ShardingGraph::shapeOf(NamedTensorType type) const {
  TensorShape shape;
  shape.elementBytes = static_cast<double>(type.getElementBytes());
  for (AxisAttr axis : type.getAxes()) shape.axes.push_back({axisIds.lookup(axis.getName()), axis.getSize()});
  return shape;
}

/// The axes of an op are divided apart, so that what becomes of each says what becomes of all.
FormMap ShardingGraph::wantedForm(OpOperand &operand, unsigned node) const {
  FormMap map;
  for (const SizedAxis &axis : nodes[node].axes) {
    Sharding ofOp;
    ofOp.divide(axisNames[axis.id], "ranks");
    Sharding wanted = operandSharding(operand, ofOp);
    if (StringRef name = wanted.axisAlong("ranks"); !name.empty()) map.set(axis.id, axisIds.lookup(name));
  }
  return map;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// The value that renames are of.
static Value withoutRenames(Value value) {
  while (auto rename = value.getDefiningOp<RenameOp>()) value = rename.getX();
  return value;
}

/// What is read under other names, too.
static void forEachUse(Value value, llvm::function_ref<void(OpOperand &)> visit) {
  for (OpOperand &use : value.getUses()) {
    if (auto rename = dyn_cast<RenameOp>(use.getOwner()))
      forEachUse(rename.getResult(), visit);
    else
      visit(use);
  }
}

/// Whether an op sums over an axis that its result lacks, so that ranks may have the terms of a sum.
static bool isSum(Operation *op) {
  auto reduce = dyn_cast_or_null<ReduceOp>(op);
  return isa_and_present<ContractOp, GatherOp, ScatterAddOp>(op) || (reduce && reduce.getKind() == ReduceKind::Sum);
}

/// What is whole wherever it is read, because every rank computes it.
static bool isSourceless(Operation *op) { return isa<ConstantOp, IndexOp>(op); }

/// Of a value that is an input, perhaps under another type or other names, the split that makes blocks of it.
static SplitOp blocksOfInput(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!isa<CastOp, RenameOp>(def)) return {};
    value = def->getOperand(0);
  }
  auto argument = cast<BlockArgument>(value);
  return isa<func::FuncOp>(argument.getOwner()->getParentOp()) ? splitIntoBlocks(argument) : SplitOp();
}

static bool isZero(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant && constant.getNumber() == 0;
}

/// Whether a block argument is an accumulator that begins with zeros.
static bool isAccumulator(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto repeat = argument ? dyn_cast<RepeatOp>(argument.getOwner()->getParentOp()) : RepeatOp();
  unsigned number = repeat ? argument.getArgNumber() : 0;
  return number > 0 && number <= repeat.getCarried().size() && isZero(repeat.getCarried()[number - 1]);
}

namespace tessera {
class ShardingGraphBuilder {
public:
  explicit ShardingGraphBuilder(ShardingGraph &graph)
      : graph(graph), states(statesByPath(graph.function->getParentOfType<ModuleOp>())) {}

  void build();

private:
  void numberAxes();
  unsigned stateNode(StringRef path);
  void addArguments();
  void addResults();
  void addBlock(Block &block, double runs);
  void findChains(Block &block);
  bool isSumOfSums(Operation &op) const;
  bool joins(Operation *op, Value operand) const;
  mlir::SmallVector<AxisAttr> dividedSpace(Operation *op) const;
  void addOp(Operation &op, double runs);
  void addRepeat(RepeatOp repeat, double runs);
  void setSource(Value value, const ValueSource &source, double runs);
  void addEdge(Value value, unsigned to, const FormMap &wanted, double runs);
  void addTraffic();
  void addAlive();

  unsigned addNode(ShardingNode::Kind kind, ArrayRef<AxisAttr> axes, double runs);
  unsigned addValueNode(Value value, double runs);
  FormMap identityOf(unsigned node) const;
  FormMap formOfResult(Operation *op, NamedTensorType type, unsigned node) const;
  /// What stands for the node of an op, before there are nodes.
  Operation *leader(Operation *op) const { return chains.contains(op) ? chains.getLeaderValue(op) : op; }

  ShardingGraph &graph;
  llvm::StringSet<> repeated;                   ///< axes of repeats: an iteration would read what another rank has
  llvm::EquivalenceClasses<Operation *> chains; ///< elementwise ops with equal axes, joined by what they read
  llvm::DenseSet<Operation *> sumsOfSums;
  DenseMap<Operation *, unsigned> nodeOfChain; ///< by leader
  llvm::StringMap<StateOp> states;             ///< by path
  llvm::StringMap<unsigned> nodeOfState;       ///< by path
  llvm::StringMap<unsigned> momentsOf;         ///< by the path of the parameter
};
} // namespace tessera

ShardingGraph::ShardingGraph(func::FuncOp function) : function(function) { ShardingGraphBuilder(*this).build(); }

void ShardingGraphBuilder::build() {
  numberAxes();
  addNode(ShardingNode::Kind::Value, {}, 1); // what is always whole
  graph.function.walk([&](Block *block) { findChains(*block); });
  addArguments();
  addBlock(graph.function.getBody().front(), 1);
  addResults();
  addTraffic();
  addAlive();
}

void ShardingGraphBuilder::numberAxes() {
  graph.axisNames.push_back("");
  auto note = [&](Type type) {
    auto tensor = dyn_cast<NamedTensorType>(type);
    if (!tensor) return;
    for (AxisAttr axis : tensor.getAxes())
      if (graph.axisIds.try_emplace(axis.getName(), static_cast<AxisId>(graph.axisNames.size())).second)
        graph.axisNames.push_back(axis.getName());
  };
  for (Type type : graph.function.getArgumentTypes()) note(type);
  graph.function.walk([&](Operation *op) {
    llvm::for_each(op->getResultTypes(), note);
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      repeated.insert(repeat.getAxis().getName());
      llvm::for_each(repeat.getBlock().getArgumentTypes(), note);
    }
  });
  if (graph.axisNames.size() > pendingForm) graph.axisIds.clear();
}

unsigned ShardingGraphBuilder::addNode(ShardingNode::Kind kind, ArrayRef<AxisAttr> axes, double runs) {
  ShardingNode &node = graph.nodes.emplace_back();
  node.kind = kind, node.runs = runs;
  for (AxisAttr axis : axes)
    if (AxisId id = graph.axisNumber(axis.getName()); id != wholeForm && !repeated.contains(axis.getName()))
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

/// An axis of the op that the result lacks was summed, or it was combined in another way by the op itself.
FormMap ShardingGraphBuilder::formOfResult(Operation *op, NamedTensorType type, unsigned node) const {
  FormMap map;
  for (const SizedAxis &axis : graph.nodes[node].axes) {
    bool hasAxis = type.hasAxis(graph.axisNames[axis.id]);
    map.set(axis.id, hasAxis ? axis.id : isSum(op) ? pendingForm : wholeForm);
  }
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

/// Whether all that an op adds are sums that nothing else reads: if ranks have the terms of each, they have those of
/// the result.
bool ShardingGraphBuilder::isSumOfSums(Operation &op) const {
  return isa<AddOp>(op) && llvm::all_of(op.getOperands(), [&](Value operand) {
           Value value = withoutRenames(operand);
           if (isAccumulator(value)) return value.hasOneUse();
           Operation *def = value.getDefiningOp();
           bool isTerm = def && def->getBlock() == op.getBlock() && (isSum(def) || sumsOfSums.contains(def));
           unsigned uses = 0;
           forEachUse(value, [&](OpOperand &) { ++uses; });
           return isTerm && uses == 1 &&
                  tensorType(operand).getAxes().size() == tensorType(op.getResult(0)).getAxes().size();
         });
}

/// Whether an elementwise op belongs to the chain of what computes an operand.
bool ShardingGraphBuilder::joins(Operation *op, Value operand) const {
  Operation *def = operand.getDefiningOp();
  return def && def->getBlock() == op->getBlock() && isa<ElementwiseOpInterface>(def) && !sumsOfSums.contains(def) &&
         tensorType(operand).getAxes() == tensorType(op->getResult(0)).getAxes();
}

void ShardingGraphBuilder::findChains(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (!isa<ElementwiseOpInterface>(op) || tensorType(op.getResult(0)).getAxes().empty()) continue;
    chains.insert(&op);
    if (isSumOfSums(op)) {
      sumsOfSums.insert(&op);
      continue;
    }
    for (Value operand : op.getOperands())
      if (joins(&op, operand)) chains.unionSets(&op, operand.getDefiningOp());
  }
}

void ShardingGraphBuilder::addBlock(Block &block, double runs) {
  for (Operation &op : block.without_terminator()) {
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
  if (space.empty()) { // of scalars
    for (Value operand : op.getOperands()) addEdge(operand, 0, FormMap(), runs);
    return;
  }
  auto [it, isNew] = nodeOfChain.try_emplace(leader(&op), 0);
  if (isNew) it->second = addNode(ShardingNode::Kind::Ops, space, runs);
  unsigned node = it->second;
  graph.nodes[node].ops.push_back(&op);
  graph.nodes[node].mayPend = sumsOfSums.contains(&op);
  for (OpOperand &operand : op.getOpOperands()) addEdge(operand.get(), node, graph.wantedForm(operand, node), runs);
  for (Value result : op.getResults()) setSource(result, {node, formOfResult(&op, tensorType(result), node)}, runs);
}

/// An edge for what other nodes compute. What is whole everywhere can be divided for nothing.
void ShardingGraphBuilder::addEdge(Value value, unsigned to, const FormMap &wanted, double runs) {
  const ValueSource *source = graph.sourceOf(value);
  if (!source || source->node == to) return;
  TensorShape shape = graph.shapeOf(tensorType(value));
  for (const ShardingEdge &edge : llvm::reverse(graph.edges)) {
    if (edge.to != to) break;
    if (edge.from == source->node && edge.produced == source->form && edge.wanted == wanted) return;
  }
  SplitOp blocks = blocksOfInput(value);
  graph.edges.push_back(
      {source->node, to, source->form, wanted, shape, runs, blocks ? graph.axisNumber(blocks.getAxis()) : wholeForm});
}

/// Gives a value a node of its own if it may have another form than what computes it: if several nodes read it, which
/// would each bring it to the form that they want, or if a repeat reads a sum.
void ShardingGraphBuilder::setSource(Value value, const ValueSource &source, double runs) {
  llvm::SmallSetVector<Operation *, 4> readers;
  bool isReadByRepeat = false;
  forEachUse(value, [&](OpOperand &use) {
    isReadByRepeat |= isa<RepeatOp>(use.getOwner());
    readers.insert(leader(use.getOwner()));
  });
  Operation *def = value.getDefiningOp();
  if (def) readers.remove(leader(def));
  bool mayPend = isSum(def) || sumsOfSums.contains(def);
  graph.sources[value] = source;
  bool isSliced = isReadByRepeat && !mayPend; // in a repeat each iteration brings its slice to the form that it wants
  if (isSliced || (readers.size() < 2 && !(mayPend && isReadByRepeat))) return;
  graph.origins[value] = source;
  unsigned node = addValueNode(value, runs);
  addEdge(value, node, identityOf(node), runs);
  graph.sources[value] = {node, identityOf(node)};
}

void ShardingGraphBuilder::addRepeat(RepeatOp repeat, double runs) {
  double inner = runs * static_cast<double>(repeat.getAxis().getSize());
  size_t carried = repeat.getCarried().size();
  SmallVector<unsigned> nodeOfCarried(carried);
  for (auto [i, operand] : llvm::enumerate(repeat.getOperands())) {
    Value argument = repeat.getBlock().getArgument(1 + i);
    if (tensorType(argument).getAxes().empty()) continue;
    if (i < carried) {
      unsigned node = nodeOfCarried[i] = addValueNode(repeat.getResult(i), runs);
      graph.nodes[node].mayPend = isZero(operand);
      addEdge(operand, node, identityOf(node), runs);
      setSource(argument, {node, identityOf(node)}, inner);
    } else if (const ValueSource *source = graph.sourceOf(operand)) {
      ValueSource ofSlice = *source;
      setSource(argument, ofSlice, inner);
    }
  }
  addBlock(repeat.getBlock(), inner);
  for (auto [i, value] : llvm::enumerate(repeat.getYield().getValues())) {
    Value result = repeat.getResult(i);
    if (tensorType(value).getAxes().empty()) continue;
    unsigned node = i < carried ? nodeOfCarried[i] : addValueNode(result, runs);
    addEdge(value, node, identityOf(node), inner);
    graph.sources[result] = {node, identityOf(node)};
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void ShardingGraphBuilder::addTraffic() {
  DenseMap<Operation *, unsigned> nodeOf;
  for (auto [i, node] : llvm::enumerate(graph.nodes))
    if (node.kind == ShardingNode::Kind::Ops)
      for (Operation *op : node.ops) nodeOf[op] = i;
  auto isIn = [&](Operation *op, unsigned node) {
    auto it = op ? nodeOf.find(op) : nodeOf.end();
    return it != nodeOf.end() && it->second == node;
  };
  for (auto [i, node] : llvm::enumerate(graph.nodes)) {
    if (node.kind != ShardingNode::Kind::Ops) continue;
    llvm::SmallDenseSet<Value> known;
    for (Operation *op : node.ops) {
      for (OpOperand &operand : op->getOpOperands()) {
        Value value = withoutRenames(operand.get());
        Operation *def = value.getDefiningOp();
        if (isIn(def, i) || (def && isSourceless(def)) || !known.insert(value).second) continue;
        node.read.push_back({graph.shapeOf(tensorType(operand.get())), graph.wantedForm(operand, i)});
      }
      for (Value result : op->getResults()) {
        bool isWritten = false;
        forEachUse(result, [&, i = i](OpOperand &use) { isWritten |= !isIn(use.getOwner(), i); });
        NamedTensorType type = tensorType(result);
        if (isWritten) node.written.push_back({graph.shapeOf(type), formOfResult(op, type, i)});
      }
    }
  }
}

/// Of the values of the function itself: what repeats stack is among them, and what their bodies make for one iteration
/// is not.
void ShardingGraphBuilder::addAlive() {
  Block &body = graph.function.getBody().front();
  DenseMap<Value, std::pair<unsigned, unsigned>> lives; // places of the first and the last op
  SmallVector<Value> values(body.getArguments());
  unsigned end = 0;
  DenseMap<Operation *, unsigned> places;
  for (Operation &op : body) {
    places[&op] = end++;
    llvm::append_range(values, op.getResults());
  }
  SmallVector<double> bytes(end + 1);
  auto bytesOf = [](Value value) {
    NamedTensorType type = tensorType(value);
    return static_cast<double>(type.getNumElements() * type.getElementBytes());
  };
  for (Value value : values) {
    if (value.getDefiningOp<RenameOp>()) continue;
    Operation *def = value.getDefiningOp();
    unsigned first = def ? places[def] : 0, last = first;
    forEachUse(value, [&](OpOperand &use) { last = std::max(last, places[use.getOwner()]); });
    if (isa<BlockArgument>(value)) last = end - 1;
    lives[value] = {first, last};
    bytes[first] += bytesOf(value), bytes[last + 1] -= bytesOf(value);
  }
  unsigned moment = 0;
  double live = 0, most = 0;
  for (unsigned place = 0; place < end; ++place)
    if ((live += bytes[place]) > most) most = live, moment = place;
  for (Value value : values) {
    auto life = lives.find(value);
    const ValueSource *source = graph.originOf(value);
    if (life == lives.end() || !source || life->second.first > moment || life->second.second < moment) continue;
    graph.nodes[source->node].alive.push_back({graph.shapeOf(tensorType(value)), source->form});
  }
}
