//===- ShardingGraph.h - what can be divided, and what depends on it ------===//
//
// A function as the search for a sharding sees it: nodes that are each divided as one, and edges along which values go
// from one node to another. It knows no mesh; what it costs to divide its nodes along the axes of one is in
// ShardingCosts.h.
//
//   ops      a chain of elementwise ops with equal axes, or one other op: the axes that it works along
//   value    one that several nodes read, one that a repeat carries or stacks: it may have another form than what
//            computes it, and than what reads it
//   state    a parameter or another state; the moments of a parameter are one node
//   input    rows of data, which ranks may be given in parts
//
// The *form* of a value says for each mesh axis what it is along it: whole, divided along one of its axes, or a sum
// whose terms the ranks have (*pending*). Values that are always whole, such as scalars, have no node.
//
// A renamed axis is the same axis under another name: `rename` is no node.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_SEARCH_SHARDINGGRAPH_H
#define TESSERA_PASSES_SHARDING_SEARCH_SHARDINGGRAPH_H

#include "ir/dialect/Tsr.h"
#include "passes/tile/TiledMatrix.h"
#include "llvm/ADT/DenseMap.h"
#include <array>

namespace tessera {

/// The name of an axis, by number; 0 is none. If an entry function has more names than there are numbers
/// (`mostAxisNames`), no axis of the module has one, and none is divided.
using AxisId = uint8_t;
inline constexpr AxisId wholeForm = 0, pendingForm = 255;
inline constexpr unsigned mostMeshAxes = 4;

/// What a value is along each mesh axis: whole, the axis that is divided, or pending.
struct Form {
  std::array<AxisId, mostMeshAxes> along{};
  bool operator==(const Form &) const = default;
  /// Another one for each form.
  uint32_t number() const { return along[0] | along[1] << 8 | along[2] << 16 | uint32_t(along[3]) << 24; }
};

/// The form of a value by that of a node: its axes under the names that they have in the value.
class FormMap {
public:
  FormMap() { to.fill(0); }
  static FormMap identity(mlir::ArrayRef<AxisId> axes);
  void set(AxisId axis, AxisId becomes) { to[axis] = becomes; }
  AxisId operator[](AxisId axis) const { return axis == pendingForm ? pendingForm : to[axis]; }
  Form operator()(const Form &form) const;
  /// First this, then another one.
  FormMap then(const FormMap &next) const;
  bool operator==(const FormMap &) const = default;

private:
  std::array<AxisId, pendingForm> to;
};

struct SizedAxis {
  AxisId id = 0;
  int64_t size = 0;
};

/// The axes and the element of a tensor.
struct TensorShape {
  llvm::SmallVector<SizedAxis, 5> axes;
  double elementBytes = 0;
  double termBytes = 0; ///< of an element of a term: sums are accumulated in f32, and rounded then
};

/// A tensor of a node: its form by that of the node.
struct ShardedAccess {
  TensorShape shape;
  FormMap form;
  AxisId columns = wholeForm; ///< of a matrix that a tiled op keeps in caches, unless its columns are divided
};

/// Moments of a run of the function, the last one included. Each op is a moment; a repeat is those of its body, once.
struct Life {
  unsigned first = 0, last = 0;
};

/// A tensor of a node that takes memory, and when.
struct LiveTensor {
  ShardedAccess tensor;
  Life life;
};

struct ShardingNode {
  enum class Kind { Ops, Value, State, Input };
  Kind kind = Kind::Ops;
  llvm::SmallVector<mlir::Operation *, 1> ops; ///< in program order; states
  mlir::Value value;                           ///< of a value or an input
  llvm::SmallVector<SizedAxis, 6> axes;        ///< that it may be divided along
  bool mayPend = false;                        ///< it may be a sum whose terms the ranks have (DelayedSums.h)
  double runs = 1;                             ///< of its ops in one run of the function
  unsigned repeat = 0;                         ///< the innermost one around its ops
  bool isStack = false; ///< a value that need not be stored if what computes it runs again where it is read
  /// Of a stack, the part that is stored at once if the iterations that make it run again in segments.
  double segmentShare = 1;
  /// Of the repeat in which it is, if it may run again in the repeat that reads the stacks of this one; else 0.
  double iterations = 0;
  /// What goes through memory: what the ops read of other nodes, and what others read of them.
  llvm::SmallVector<ShardedAccess, 4> read, written;
  /// What the ops themselves combine among ranks if an axis is divided: maxima, and the sums inside of composites.
  llvm::SmallVector<std::pair<AxisId, TensorShape>, 0> combined;
  llvm::SmallVector<LiveTensor, 2> alive; ///< what takes memory, without exchanges
  /// What takes memory in addition if one of some axes is divided: inside of composites that are decomposed then.
  llvm::SmallVector<std::pair<llvm::SmallVector<AxisId, 2>, LiveTensor>, 0> aliveInParts;
};

/// A value that goes from a node to another one.
struct ShardingEdge {
  unsigned from = 0, to = 0;
  FormMap produced, wanted; ///< its form by that of either node
  TensorShape shape;
  double runs = 1;
  unsigned besideIn = 0; ///< a repeat beside whose kernels an exchange of it can run; 0: it waits, and is waited for
  AxisId together = wholeForm; ///< an axis that either both are divided along, and along the same mesh axis, or none
  mlir::Value value;           ///< without renames
  /// If the node that it goes to runs again, in the repeat that reads stacks: what it brings is there, or there if its
  /// node runs again too, or it is stacked in addition.
  enum class Again { Stored, Computed, Kept };
  Again again = Again::Stored;
  Life stacked; ///< when what is stacked in addition takes memory
  /// If there is an exchange, what it sends or receives takes memory of its own.
  enum class Copy { None, Sent, Received };
  Copy copy = Copy::None;
  Life copied;       ///< when it does
  Life copiedBeside; ///< the same where exchanges run beside kernels
};

/// A repeat of the function.
struct GraphRepeat {
  unsigned around = 0; ///< the number of the repeat around it
  RepeatOp op;
};

/// A value by the node that computes it.
struct ValueSource {
  unsigned node = 0;
  FormMap form;
};

/// The value that renames are of.
mlir::Value withoutRenames(mlir::Value value);
/// What is read under other names, too.
void forEachUse(mlir::Value value, llvm::function_ref<void(mlir::OpOperand &)> visit);
/// What is whole wherever it is read, because every rank computes it.
bool isSourceless(mlir::Operation *op);

class ShardingGraph {
public:
  /// Of an entry function after `optimize`; `tiled`: what `tile` will take.
  ShardingGraph(mlir::func::FuncOp function, const TiledContractions &tiled);

  mlir::func::FuncOp getFunction() const { return function; }
  /// The matrix that a contraction or an attention in a tiled op makes or reads; null if it is in none.
  const TiledMatrix *matrixOf(mlir::Operation *op) const;
  /// The matrix that a value is which tiled ops keep in caches; null if it goes through memory.
  const TiledMatrix *matrixOf(mlir::Value value) const;
  /// The columns of that; none if there is no such matrix.
  AxisId columnsOf(mlir::Value value) const;
  llvm::ArrayRef<ShardingNode> getNodes() const { return nodes; }
  llvm::ArrayRef<ShardingEdge> getEdges() const { return edges; }
  unsigned countMoments() const { return moments; }
  /// By number. The first stands for the function, which is around itself.
  llvm::ArrayRef<GraphRepeat> getRepeats() const { return repeats; }
  llvm::StringRef axisName(AxisId id) const { return axisNames[id]; }
  /// 0 if the function has no such axis.
  AxisId axisNumber(llvm::StringRef name) const { return axisIds.lookup(name); }
  /// The node whose form a value has where it is read; null if it is always whole.
  const ValueSource *sourceOf(mlir::Value value) const;
  /// The node that computes it, or that of the state; the same unless a node of its own stands between.
  const ValueSource *originOf(mlir::Value value) const;
  /// The form of a result by that of the node of its op.
  FormMap producedForm(mlir::Operation *op, NamedTensorType type, unsigned node) const;
  /// How an operand is wanted by the node that reads it.
  FormMap wantedForm(mlir::OpOperand &operand, unsigned node) const;
  TensorShape shapeOf(NamedTensorType type) const;

private:
  friend class ShardingGraphBuilder;

  mlir::func::FuncOp function;
  const TiledContractions &tiled;
  std::vector<ShardingNode> nodes;
  std::vector<ShardingEdge> edges;
  unsigned moments = 0;
  std::vector<GraphRepeat> repeats{{}};
  llvm::DenseMap<mlir::Value, ValueSource> sources;
  llvm::DenseMap<mlir::Value, ValueSource> origins; ///< where they are others than the sources
  llvm::SmallVector<llvm::StringRef> axisNames;     ///< by number
  llvm::StringMap<AxisId> axisIds;
};

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SEARCH_SHARDINGGRAPH_H
