//===- PinnedForms.cpp - the labels that the user's words leave -----------===//

#include "ir/program/Program.h"
#include "passes/sharding/search/ShardingPins.h"

using namespace mlir;
using namespace tessera;

/// The split that makes blocks of the input that a value is, casts aside.
static SplitOp blocksOf(Value value) {
  while (auto cast = value.getDefiningOp<CastOp>()) value = cast.getX();
  auto argument = dyn_cast<BlockArgument>(value);
  bool isInput = argument && isa<func::FuncOp>(argument.getOwner()->getParentOp());
  return isInput ? splitIntoBlocks(argument) : SplitOp();
}

/// Whether a node is an input that is read in blocks, along an axis that its blocks cannot be divided along.
static bool hasWholeBlocks(const ShardingNode &node, StringRef axis, int64_t parts) {
  auto areWhole = [&](Value value) {
    SplitOp split = blocksOf(value);
    return split && split.getAxis() == axis && !canDivide(split, axis, parts);
  };
  if (node.kind == ShardingNode::Kind::Input) return areWhole(node.value);
  return llvm::any_of(node.ops, [&](Operation *op) { return isa<CastOp>(op) && areWhole(op->getResult(0)); });
}

/// Whether a value is what a repeat over micro-batches adds up from zero on.
static bool isSumOfMicroBatches(Value value) {
  auto repeat = value.getDefiningOp<RepeatOp>();
  auto function = repeat ? repeat->getParentOfType<func::FuncOp>() : func::FuncOp();
  if (!function || cast<OpResult>(value).getResultNumber() >= repeat.getCarried().size()) return false;
  return llvm::any_of(function.getArguments(), [&](BlockArgument argument) {
    SplitOp split = splitIntoBlocks(argument);
    return split && names(split.getInto()).front() == repeat.getAxis().getName();
  });
}

namespace {
class NodePins {
public:
  NodePins(const PinnedMesh &pins, const ShardingGraph &graph, unsigned node, ArrayRef<Form> labels)
      : pins(pins), graph(graph), node(graph.getNodes()[node]), labels(labels) {}

  std::vector<Form> find();

private:
  void require(StringRef axis, StringRef along);
  void requireRules();
  bool contains(const Form &label, const Form &part) const;
  bool agrees(const Form &label) const;
  std::optional<bool> isDividedByZero() const;

  const PinnedMesh &pins;
  const ShardingGraph &graph;
  const ShardingNode &node;
  ArrayRef<Form> labels;
  Form required; ///< whole where nothing is
};
} // namespace

bool NodePins::contains(const Form &label, const Form &part) const {
  return llvm::all_of(llvm::zip(label.along, part.along), [](auto pair) {
    return std::get<1>(pair) == wholeForm || std::get<0>(pair) == std::get<1>(pair);
  });
}

/// As far as it goes together with what is required already.
void NodePins::require(StringRef axis, StringRef along) {
  auto position = llvm::find(pins.names, along);
  AxisId id = graph.axisNumber(axis);
  if (position == pins.names.end() || id == wholeForm) return;
  Form with = required;
  AxisId &there = with.along[position - pins.names.begin()];
  if (there != wholeForm) return;
  there = id;
  if (llvm::any_of(labels, [&](const Form &label) { return contains(label, with); })) required = with;
}

/// A mesh axis divides the first of the axes that ask for it.
void NodePins::requireRules() {
  for (const SizedAxis &axis : node.axes) {
    StringRef name = graph.axisName(axis.id), along = pins.rules.meshAxis(name);
    auto position = llvm::find(pins.names, along);
    if (along.empty() || position == pins.names.end()) continue;
    if (!hasWholeBlocks(node, name, pins.ranks[position - pins.names.begin()])) require(name, along);
  }
}

/// An axis that is laid along a mesh axis is divided along no other one, unless another axis has taken its place.
bool NodePins::agrees(const Form &label) const {
  if (!contains(label, required)) return false;
  for (auto [i, axis] : llvm::enumerate(label.along)) {
    if (axis == wholeForm || axis == pendingForm || required.along[i] == axis) continue;
    StringRef name = graph.axisName(axis), along = pins.rules.meshAxis(name);
    if (llvm::is_contained(pins.wholeAxes, name)) return false;
    auto position = llvm::find(pins.names, along);
    if (along.empty() || position == pins.names.end()) continue;
    if (required.along[position - pins.names.begin()] == wholeForm) return false;
  }
  return true;
}

/// Whether ranks along a mesh axis of data have parts of a node: nothing if ZeRO says nothing of it.
std::optional<bool> NodePins::isDividedByZero() const {
  if (!pins.zero) return std::nullopt;
  if (node.kind == ShardingNode::Kind::Value)
    return isSumOfMicroBatches(node.value) ? std::optional(*pins.zero >= ZeroLevel::Gradients) : std::nullopt;
  if (node.kind != ShardingNode::Kind::State) return std::nullopt;
  auto state = cast<StateOp>(node.ops.front());
  if (state.isParameter()) return *pins.zero >= ZeroLevel::Weights;
  return state.getKind() == "moment" && *pins.zero >= ZeroLevel::Moments;
}

std::vector<Form> NodePins::find() {
  if (node.kind == ShardingNode::Kind::State) {
    for (Operation *op : node.ops) {
      auto said = pins.ofStates.find(cast<StateOp>(op).getPath());
      if (said == pins.ofStates.end()) continue;
      for (const Sharding::Part &part : said->second.getParts()) require(part.axis, part.mesh);
    }
  } else if (node.kind != ShardingNode::Kind::Value) {
    requireRules();
  }
  std::vector<Form> allowed;
  bool isFree = node.kind == ShardingNode::Kind::Value; // a value is divided as what computes and what reads it
  llvm::copy_if(labels, std::back_inserter(allowed), [&](const Form &label) { return isFree || agrees(label); });
  std::optional<bool> isDivided = isDividedByZero();
  for (unsigned along : isDivided ? ArrayRef<unsigned>(pins.data) : ArrayRef<unsigned>()) {
    if (required.along[along] != wholeForm) continue;
    std::vector<Form> kept[2]; // what is not divided, and what is
    for (const Form &form : allowed)
      kept[form.along[along] != wholeForm && form.along[along] != pendingForm].push_back(form);
    allowed = std::move(kept[*isDivided && !kept[1].empty()]);
  }
  return allowed;
}

std::vector<Form> PinnedMesh::allowed(const ShardingGraph &graph, unsigned node, ArrayRef<Form> labels) const {
  return NodePins(*this, graph, node, labels).find();
}
