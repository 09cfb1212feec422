//===- ShardingGraph.cpp - what can be divided, and what depends on it ----===//

#include "passes/sharding/search/ShardingGraph.h"
#include "passes/sharding/Assignment.h"
#include "passes/sharding/search/DelayedSums.h"

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
  shape.termBytes = std::max(shape.elementBytes, isa<FloatType>(type.getElementType()) ? 4.0 : 0.0);
  for (AxisAttr axis : type.getAxes()) shape.axes.push_back({axisIds.lookup(axis.getName()), axis.getSize()});
  return shape;
}

const TiledMatrix *ShardingGraph::matrixOf(Operation *op) const {
  auto matrix = tiled.find(op);
  return matrix == tiled.end() || matrix->second.columns.empty() ? nullptr : &matrix->second;
}

/// A matrix lies between contractions of a tiled op, or between one and kernels of it. Of several with its axes, that
/// of which most is computed.
const TiledMatrix *ShardingGraph::matrixOf(Value value) const {
  Operation *def = value.getDefiningOp();
  if (!def || tiled.empty()) return nullptr;
  auto canBeTiled = [&](Operation *op) { return tiled.contains(op) || isa<ElementwiseOpInterface, ReduceOp>(op); };
  bool isInside = canBeTiled(def);
  forEachUse(value, [&](OpOperand &use) { isInside &= canBeTiled(use.getOwner()); });
  if (!isInside) return nullptr;
  auto rank = [](const TiledMatrix &matrix) { return std::pair(matrix.share, matrix.launches); };
  const TiledMatrix *found = nullptr;
  for (const auto &[contract, matrix] : tiled)
    if (contract->getBlock() == def->getBlock() && tensorType(value).hasAxis(matrix.rows) &&
        tensorType(value).hasAxis(matrix.columns) && (!found || rank(matrix) > rank(*found)))
      found = &matrix;
  return found;
}

AxisId ShardingGraph::columnsOf(Value value) const {
  const TiledMatrix *matrix = matrixOf(value);
  return matrix ? axisNumber(matrix->columns) : wholeForm;
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

/// An axis of the op that the result lacks was summed, or it was combined in another way by the op itself.
FormMap ShardingGraph::producedForm(Operation *op, NamedTensorType type, unsigned node) const {
  FormMap map;
  for (const SizedAxis &axis : nodes[node].axes) {
    bool hasAxis = type.hasAxis(axisNames[axis.id]);
    map.set(axis.id, hasAxis ? axis.id : isSum(op) ? pendingForm : wholeForm);
  }
  return map;
}

Value tessera::withoutRenames(Value value) {
  while (auto rename = value.getDefiningOp<RenameOp>()) value = rename.getX();
  return value;
}

void tessera::forEachUse(Value value, llvm::function_ref<void(OpOperand &)> visit) {
  for (OpOperand &use : value.getUses()) {
    if (auto rename = dyn_cast<RenameOp>(use.getOwner()))
      forEachUse(rename.getResult(), visit);
    else
      visit(use);
  }
}

bool tessera::isSourceless(Operation *op) { return isa<ConstantOp, IndexOp>(op); }
