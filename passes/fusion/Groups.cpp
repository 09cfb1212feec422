//===- Groups.cpp - which ops run as one kernel ---------------------------===//

#include "passes/fusion/Groups.h"
#include "ir/dialect/GraphBuilder.h"
#include "passes/analysis/Views.h"
#include "passes/layout/OrderChoice.h"
#include <queue>

using namespace mlir;
using namespace tessera;

/// A kernel holds at most this many ops: beyond it registers spill and compile time grows.
static constexpr size_t maxOps = 96;
/// A chain of ops that depends on sources alone is recomputed up to this depth.
static constexpr int maxSourceDepth = 6;
/// Loop nests of fewer points cost less than a call. They are merged wherever possible.
static constexpr int64_t smallSpace = 8192;

//===----------------------------------------------------------------------===//
// Single ops
//===----------------------------------------------------------------------===//

static bool isKernelOp(Operation *op) { return op->hasTrait<traits::MayBeInKernel>() && !isStorageView(op); }

/// Whether the value depends on sources alone.
static bool dependsOnSources(Value value, int depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > maxSourceDepth) return false;
  if (op->hasTrait<traits::IsSource>()) return true;
  if (!isa<BroadcastOp>(op) && !(isa<ElementwiseOpInterface>(op) && !isa<ReorderOp>(op))) return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) { return dependsOnSources(operand, depth + 1); });
}

bool tessera::isWidening(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  if (!cast) return false;
  auto from = dyn_cast<FloatType>(cast.getX().getType().getElementType()),
       to = dyn_cast<FloatType>(cast.getType().getElementType());
  return from && to && from.getWidth() < to.getWidth();
}

bool tessera::isRecomputed(Operation *op) {
  if (op->hasTrait<traits::IsSource>() || isa<BroadcastOp, PadOp>(op) || isWidening(op)) return true;
  if (isa<SliceOp>(op)) return !isStorageView(op);
  return op->getNumResults() == 1 && dependsOnSources(op->getResult(0), 0);
}

bool tessera::readsFromMemory(OpOperand &use) {
  Operation *op = use.getOwner();
  if (!isKernelOp(op)) return true;
  if (op->hasTrait<traits::IndexTransform>()) return use.getOperandNumber() == 0;
  if (auto scatter = dyn_cast<ScatterAddOp>(op)) return use.get() == scatter.getInit();
  return isa<ReorderOp, RandomOp>(op);
}

/// The loop nest of an op alone: all axes it visits.
static NamedTensorType visitedType(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op)) return reduce.getX().getType();
  if (auto scatter = dyn_cast<ScatterAddOp>(op)) return scatter.getUpdates().getType();
  return tensorType(op->getResult(0));
}

using Axes = SmallVector<AxisAttr>;

/// The axes, sorted by name. Sizes count too: slices of a tensor have axes of one name that are different loops.
static Axes sortedAxes(NamedTensorType type) {
  Axes result(type.getAxes());
  llvm::sort(result, [](AxisAttr a, AxisAttr b) { return a.getName() < b.getName(); });
  return result;
}

static Axes without(const Axes &from, ArrayRef<StringRef> drop) {
  return llvm::filter_to_vector(from, [&](AxisAttr axis) { return !llvm::is_contained(drop, axis.getName()); });
}

static Axes minus(const Axes &from, const Axes &drop) {
  return llvm::filter_to_vector(from, [&](AxisAttr axis) { return !llvm::is_contained(drop, axis); });
}

//===----------------------------------------------------------------------===//
// The graph of nodes
//===----------------------------------------------------------------------===//

namespace {

/// An op that is a cluster of its own until it is merged. Recomputed ops are nodes only if their value must be stored.
struct Node {
  Operation *op;
  SmallVector<std::pair<int, bool>> inputs; ///< producers; true if the value must be in memory in between
  SmallVector<int> users;
};

/// A set of nodes that become one kernel.
struct Cluster {
  SmallVector<int> nodes; ///< ascending
  Axes space, serial;     ///< sorted
  bool isKernel = false;
  bool isClosed = false;      ///< never merged
  bool sweepsColumns = false; ///< reduces outer axes: only values without other users are merged into it
};

class Grouping {
public:
  Grouping(Block &block, const ColumnOps &columnOps) : block(block), columnOps(columnOps) {}
  FusionPlan run();

private:
  void buildNodes();
  void collectInputs(Node &node, Operation *op);
  void makeClusters();
  void absorbColumnOps();
  void absorbSoleProducers();
  void mergeAlongEdges();
  void mergeSiblings();
  bool tryMerge(int a, int b);
  bool canMerge(const Cluster &a, const Cluster &b) const;
  bool hasMemoryEdge(const Cluster &from, int to) const;
  bool shareOnlyRowValues(const Cluster &a, const Cluster &b) const;
  /// Marks the clusters that can be reached from `first` and rank below `last`. False if `last` can be reached through
  /// one of them.
  bool findBetween(int first, int last);
  void reorder(int first, int last, int merged);
  SmallVector<int> orderClusters();
  Group finish(const Cluster &cluster);
  void chooseSpace(const Cluster &cluster, Group &group);

  Block &block;
  const ColumnOps &columnOps;
  std::vector<Node> nodes;
  DenseMap<Operation *, int> nodeOf;
  std::vector<Cluster> clusters; ///< by the id of their first node; merged ones are empty
  std::vector<int> clusterOf;
  /// A topological order of the clusters, updated as they merge. A search between two of them stays between their
  /// ranks. Ranks of clusters that were merged away are empty (-1).
  std::vector<int> rankOf, atRank;
  std::vector<int> visitedBy; ///< the last search that visited a cluster
  int search = 0;
};

} // namespace

static bool mustBeStored(Operation *op) {
  return llvm::any_of(op->getResult(0).getUses(), [](OpOperand &use) { return readsFromMemory(use); });
}

/// Terminators are not among the nodes, so what they use does not count as a node's user.
static bool isUsedByTerminator(Operation *op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
}

void Grouping::collectInputs(Node &node, Operation *op) {
  for (OpOperand &use : op->getOpOperands()) {
    Operation *producer = use.get().getDefiningOp();
    if (!producer) continue;
    bool inMemory = readsFromMemory(use);
    if (!inMemory && isRecomputed(producer))
      collectInputs(node, producer);
    else
      node.inputs.push_back({nodeOf.lookup(producer), inMemory});
  }
}

void Grouping::buildNodes() {
  for (Operation &op : block.without_terminator()) {
    if (isKernelOp(&op) && isRecomputed(&op) && !mustBeStored(&op)) continue;
    nodeOf[&op] = nodes.size();
    nodes.push_back({&op, {}, {}});
  }
  for (auto [i, node] : llvm::enumerate(nodes)) {
    collectInputs(node, node.op);
    for (auto [producer, inMemory] : node.inputs) nodes[producer].users.push_back(i);
  }
}

/// Whether an op gathers a few elements of a large temporary, such as the logits of the labels. In a separate kernel it
/// can run early, so that the next reader may overwrite the temporary.
static bool picksFromTemporary(Operation *op) {
  auto gather = dyn_cast<GatherOp>(op);
  return gather && gather.getX().getDefiningOp() &&
         gather.getX().getType().getNumElements() >= 8 * gather.getType().getNumElements();
}

void Grouping::makeClusters() {
  for (auto [i, node] : llvm::enumerate(nodes)) {
    Cluster cluster;
    cluster.nodes.push_back(i);
    cluster.isKernel = isKernelOp(node.op);
    cluster.isClosed =
        !cluster.isKernel || isRecomputed(node.op) || isa<ReorderOp>(node.op) || picksFromTemporary(node.op);
    if (cluster.isKernel) cluster.space = sortedAxes(visitedType(node.op));
    if (auto reduce = dyn_cast<ReduceOp>(node.op)) {
      cluster.serial = minus(cluster.space, without(cluster.space, names(reduce.getOver())));
      cluster.sweepsColumns = !llvm::is_contained(cluster.serial, reduce.getX().getType().getAxes().back());
    }
    if (auto scatter = dyn_cast<ScatterAddOp>(node.op)) {
      cluster.serial = minus(cluster.space, without(sortedAxes(scatter.getType()), names(scatter.getAxes())));
      cluster.sweepsColumns = true;
    }
    clusters.push_back(cluster);
    for (std::vector<int> *list : {&clusterOf, &rankOf, &atRank}) list->push_back(i);
    visitedBy.push_back(0);
  }
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

bool Grouping::canMerge(const Cluster &a, const Cluster &b) const {
  if (a.isClosed || b.isClosed || a.nodes.size() + b.nodes.size() > maxOps) return false;
  auto isScatter = [&](const Cluster &c) {
    return llvm::any_of(c.nodes, [&](int n) { return isa<ScatterAddOp>(nodes[n].op); });
  };
  // docs/ir.md, Kernels, rule 4: only ops that compute its updates and indices may be in the kernel of a scatter.
  if ((isScatter(a) && !b.serial.empty()) || (isScatter(b) && !a.serial.empty())) return false;
  if (a.serial.empty() == b.serial.empty()) return a.space == b.space && a.serial == b.serial;
  const Cluster &reducing = a.serial.empty() ? b : a, &pointwise = a.serial.empty() ? a : b;
  if (pointwise.space == reducing.space) return true;
  // Row values: computed from a reduction, or read by one.
  return !isScatter(reducing) && pointwise.space == minus(reducing.space, reducing.serial);
}

bool Grouping::hasMemoryEdge(const Cluster &from, int to) const {
  for (int n : clusters[to].nodes)
    for (auto [producer, inMemory] : nodes[n].inputs)
      if (inMemory && llvm::is_contained(from.nodes, producer)) return true;
  return false;
}

/// Whether two clusters over one large space share row values only, such as the statistics that a backward pass starts
/// from. One kernel would move as many bytes as two, and lengthen lifetimes.
bool Grouping::shareOnlyRowValues(const Cluster &a, const Cluster &b) const {
  if (a.space != b.space || a.serial == b.serial) return false;
  int64_t points = 1;
  for (AxisAttr axis : a.space) points *= axis.getSize();
  if (points < smallSpace) return false;
  // A low-precision value is one value, however often it is widened.
  auto rootOf = [](Value value) {
    auto cast = value.getDefiningOp<CastOp>();
    return cast && isRecomputed(cast) ? cast.getX() : value;
  };
  llvm::SmallPtrSet<Value, 16> elements; // values of the whole space that `a` reads or computes
  auto add = [&](Value value) {
    if (sortedAxes(tensorType(value)) == a.space) elements.insert(rootOf(value));
  };
  for (int n : a.nodes) {
    llvm::for_each(nodes[n].op->getOperands(), add);
    llvm::for_each(nodes[n].op->getResults(), add);
  }
  auto isCommon = [&](Value value) {
    value = rootOf(value);
    Operation *producer = value.getDefiningOp();
    return elements.contains(value) && !(producer && isRecomputed(producer));
  };
  return llvm::none_of(b.nodes, [&](int n) {
    return llvm::any_of(nodes[n].op->getOperands(), isCommon) || llvm::any_of(nodes[n].op->getResults(), isCommon);
  });
}

bool Grouping::findBetween(int first, int last) {
  ++search;
  SmallVector<int> reachable{first};
  for (size_t next = 0; next < reachable.size(); ++next)
    for (int n : clusters[reachable[next]].nodes)
      for (int user : nodes[n].users) {
        int cluster = clusterOf[user];
        if (cluster == last && next > 0) return false;
        if (rankOf[cluster] >= rankOf[last] || visitedBy[cluster] == search || cluster == first) continue;
        visitedBy[cluster] = search;
        reachable.push_back(cluster);
      }
  return true;
}

/// Clusters that `findBetween` marked move after the merged cluster, in their order; the others before it.
void Grouping::reorder(int first, int last, int merged) {
  SmallVector<int> before, after;
  for (int rank = rankOf[first]; rank <= rankOf[last]; ++rank)
    if (int cluster = atRank[rank]; cluster >= 0 && cluster != first && cluster != last)
      (visitedBy[cluster] == search ? after : before).push_back(cluster);
  before.push_back(merged);
  llvm::append_range(before, after);
  int rank = rankOf[first], end = rankOf[last];
  for (int cluster : before) {
    atRank[rank] = cluster;
    rankOf[cluster] = rank++;
  }
  while (rank <= end) atRank[rank++] = -1;
}

bool Grouping::tryMerge(int a, int b) {
  if (a == b || !canMerge(clusters[a], clusters[b]) || hasMemoryEdge(clusters[a], b) || hasMemoryEdge(clusters[b], a))
    return false;
  // A third cluster between the two would both depend on the merged one and be read by it.
  int first = rankOf[a] < rankOf[b] ? a : b, last = first == a ? b : a;
  if (!findBetween(first, last)) return false;
  if (b < a) std::swap(a, b);
  reorder(first, last, a);
  Cluster &into = clusters[a], &from = clusters[b];
  if (into.serial.empty())
    into.space = from.space.size() > into.space.size() || !from.serial.empty() ? from.space : into.space;
  if (into.serial.empty()) into.serial = from.serial;
  into.sweepsColumns |= from.sweepsColumns;
  for (int n : from.nodes) clusterOf[n] = a;
  into.nodes.append(from.nodes);
  llvm::sort(into.nodes);
  from = Cluster();
  from.isClosed = true;
  return true;
}

/// Merges elementwise ops into the column sums that are to compute them, consumers first.
void Grouping::absorbColumnOps() {
  for (auto [op, sum] : llvm::reverse(columnOps)) tryMerge(clusterOf[nodeOf[op]], clusterOf[nodeOf[sum]]);
}

/// Merges elementwise ops into the reduction or scatter that alone uses them.
void Grouping::absorbSoleProducers() {
  for (int i = 0, e = nodes.size(); i < e; ++i) {
    if (!isa<ReduceOp, ScatterAddOp>(nodes[i].op)) continue;
    for (bool changed = true; changed;) {
      changed = false;
      Cluster snapshot = clusters[clusterOf[i]];
      for (int n : llvm::reverse(snapshot.nodes))
        for (auto [producer, inMemory] : nodes[n].inputs) {
          int cluster = clusterOf[producer];
          if (inMemory || cluster == clusterOf[i] || clusters[cluster].nodes.size() > 1 ||
              !clusters[cluster].serial.empty())
            continue;
          if (clusters[cluster].space != snapshot.space) continue;
          bool isSole = llvm::all_of(nodes[producer].users, [&](int user) { return clusterOf[user] == clusterOf[i]; });
          if (isSole && !isUsedByTerminator(nodes[producer].op)) changed |= tryMerge(cluster, clusterOf[i]);
        }
    }
  }
}

/// Merges producers with consumers, in program order.
void Grouping::mergeAlongEdges() {
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0, e = nodes.size(); i < e; ++i)
      for (auto [producer, inMemory] : nodes[i].inputs) {
        int a = clusterOf[producer], b = clusterOf[i];
        if (inMemory || a == b) continue;
        // Elementwise ops with other users are not merged into a reduction of outer axes: access by columns is slow.
        bool inColumns = clusters[a].sweepsColumns || clusters[b].sweepsColumns;
        if (inColumns && clusters[a].space == clusters[b].space) continue;
        if (shareOnlyRowValues(clusters[a], clusters[b])) continue;
        changed |= tryMerge(a, b);
      }
  }
}

/// Merges reductions over the same space that read the same tensor.
void Grouping::mergeSiblings() {
  DenseMap<Value, SmallVector<int>> readers;
  SmallVector<Value> read; // in program order
  for (int i = 0, e = nodes.size(); i < e; ++i)
    for (Value operand : nodes[i].op->getOperands()) {
      auto &list = readers[operand];
      if (list.empty()) read.push_back(operand);
      list.push_back(i);
    }
  for (Value value : read) {
    ArrayRef<int> list = readers[value];
    for (size_t x = 0; x < list.size(); ++x)
      for (size_t y = x + 1; y < list.size(); ++y) {
        int a = clusterOf[list[x]], b = clusterOf[list[y]];
        if (a == b || clusters[a].serial.empty() || clusters[a].serial != clusters[b].serial ||
            clusters[a].space != clusters[b].space)
          continue;
        if (sortedAxes(tensorType(value)) == clusters[a].space) tryMerge(a, b);
      }
  }
}

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

/// Topological order; among groups that are ready, the one whose last op came first.
SmallVector<int> Grouping::orderClusters() {
  std::vector<int> waiting(nodes.size(), 0);
  auto forEachUser = [&](int cluster, function_ref<void(int)> visit) {
    for (int n : clusters[cluster].nodes)
      for (int user : nodes[n].users)
        if (clusterOf[user] != cluster) visit(clusterOf[user]);
  };
  using Entry = std::pair<int, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ready;
  auto push = [&](int cluster) { ready.push({clusters[cluster].nodes.back(), cluster}); };
  for (int i = 0, e = nodes.size(); i < e; ++i) forEachUser(i, [&](int user) { ++waiting[user]; });
  for (int i = 0, e = nodes.size(); i < e; ++i)
    if (clusterOf[i] == i && !waiting[i]) push(i);
  SmallVector<int> result;
  while (!ready.empty()) {
    int cluster = ready.top().second;
    ready.pop();
    result.push_back(cluster);
    forEachUser(cluster, [&](int user) {
      if (--waiting[user] == 0) push(user);
    });
  }
  return result;
}

/// Orders the axes of a kernel as in most of the tensors that it reads or writes as a whole. Reduced axes are
/// innermost.
void Grouping::chooseSpace(const Cluster &cluster, Group &group) {
  if (auto scatter = dyn_cast<ScatterAddOp>(group.ops.back())) {
    SmallVector<AxisAttr> serial;
    for (AxisAttr axis : scatter.getType().getAxes())
      if (!llvm::is_contained(names(scatter.getAxes()), axis.getName())) group.space.push_back(axis);
    for (AxisAttr axis : scatter.getUpdates().getType().getAxes())
      if (!scatter.getType().hasAxis(axis.getName()) || llvm::is_contained(names(scatter.getAxes()), axis.getName()))
        serial.push_back(axis);
    AxisOrder(scatter->getParentOfType<ModuleOp>()).sort(serial);
    group.space.append(serial);
    for (AxisAttr axis : serial) group.serial.push_back(axis.getName());
    return;
  }
  NamedTensorType best;
  int bestVotes = -1;
  SmallVector<std::pair<NamedTensorType, int>> votes;
  auto vote = [&](NamedTensorType type, int weight) {
    if (sortedAxes(type) != cluster.space) return;
    auto it = llvm::find_if(votes, [&](auto &entry) { return entry.first.getAxes() == type.getAxes(); });
    if (it == votes.end())
      votes.push_back({type, weight});
    else
      it->second += weight;
  };
  for (Operation *op : group.ops) {
    for (Value operand : op->getOperands())
      vote(tensorType(operand),
           nodeOf.count(operand.getDefiningOp()) && clusterOf[nodeOf[operand.getDefiningOp()]] == clusterOf[nodeOf[op]]
               ? 1
               : 4);
    vote(visitedType(op), 2);
  }
  for (auto &[type, weight] : votes)
    if (weight > bestVotes) best = type, bestVotes = weight;
  for (AxisAttr axis : best.getAxes())
    if (!llvm::is_contained(cluster.serial, axis)) group.space.push_back(axis);
  for (AxisAttr axis : best.getAxes())
    if (llvm::is_contained(cluster.serial, axis)) group.space.push_back(axis), group.serial.push_back(axis.getName());
}

Group Grouping::finish(const Cluster &cluster) {
  Group group;
  group.isKernel = cluster.isKernel;
  for (int n : cluster.nodes) group.ops.push_back(nodes[n].op);
  if (group.isKernel) chooseSpace(cluster, group);
  return group;
}

FusionPlan Grouping::run() {
  buildNodes();
  makeClusters();
  absorbColumnOps();
  absorbSoleProducers();
  mergeAlongEdges();
  mergeSiblings();
  FusionPlan plan;
  for (int cluster : orderClusters()) plan.groups.push_back(finish(clusters[cluster]));
  return plan;
}

FusionPlan tessera::planFusion(Block &block, const ColumnOps &columnOps) { return Grouping(block, columnOps).run(); }
