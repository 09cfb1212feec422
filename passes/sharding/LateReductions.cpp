//===- LateReductions.cpp - fewer reductions over mesh axes ---------------===//
//
// 1. A sum over mesh axes moves behind a rename, split or merge of other axes, if that is all that reads it.
// 2. Two such sums over the same mesh axes that are added, and that nothing else reads, become one.
//
// In the order of the ops, so that the result of one step is there for the next.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/LateReductions.h"
#include "ir/dialect/Attributes.h"
#include "ir/dialect/GraphBuilder.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tessera;

/// A sum over mesh axes alone with a single reader; null if the value is none.
static ReduceOp soleSum(Value value, const ProgramMesh &mesh) {
  auto reduce = value.getDefiningOp<ReduceOp>();
  bool isSum = reduce && reduce.getKind() == ReduceKind::Sum && reduce->hasOneUse() &&
               llvm::all_of(names(reduce.getOver()), [&](StringRef axis) { return mesh.has(axis); });
  return isSum ? reduce : ReduceOp();
}

static Value sumOf(GraphBuilder &b, Operation *like, Value parts, ReduceOp reduce) {
  Value sum = b.reduce(ReduceKind::Sum, parts, names(reduce.getOver()));
  for (Operation *op : {parts.getDefiningOp(), sum.getDefiningOp()}) copyNotes(like, op), copyPrecision(like, op);
  return sum;
}

/// 1.
static bool moveBehind(Operation *reshape, const ProgramMesh &mesh) {
  ReduceOp reduce = soleSum(reshape->getOperand(0), mesh);
  if (!reduce) return false;
  auto whole = tensorType(reduce.getX()), before = tensorType(reduce.getResult()),
       result = tensorType(reshape->getResult(0));
  // Before what ranks exchange: less is sent.
  for (AxisAttr axis : mesh.getAxes())
    if (before.hasAxis(axis.getName()) != result.hasAxis(axis.getName())) return false;
  GraphBuilder b(reshape);
  IRMapping map;
  map.map(reshape->getOperand(0), reduce.getX());
  Operation *clone = b.clone(*reshape, map);
  NamedTensorType type = result;
  for (StringRef axis : names(reduce.getOver())) type = b.withAxis(type, whole.getAxes()[whole.findAxis(axis)]);
  clone->getResult(0).setType(type);
  reshape->getResult(0).replaceAllUsesWith(sumOf(b, reshape, clone->getResult(0), reduce));
  reshape->erase();
  reduce->erase();
  return true;
}

/// 2.
static bool sumOnce(AddOp add, const ProgramMesh &mesh) {
  ReduceOp left = soleSum(add.getLhs(), mesh), right = soleSum(add.getRhs(), mesh);
  if (!left || !right || left == right || left.getX().getType() != right.getX().getType() ||
      left.getOver() != right.getOver())
    return false;
  GraphBuilder b(add);
  add.replaceAllUsesWith(sumOf(b, add, b.add(left.getX(), right.getX()), left));
  add->erase();
  left->erase();
  right->erase();
  return true;
}

void tessera::delayReductions(func::FuncOp function, const ProgramMesh &mesh) {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (isa<AddOp>(op) || op->hasTrait<traits::IsReshape>()) ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (auto add = dyn_cast<AddOp>(op))
      sumOnce(add, mesh);
    else if (!isa<BroadcastOp>(op))
      moveBehind(op, mesh);
  }
}
