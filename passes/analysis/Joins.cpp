//===- Joins.cpp - values that are parts of a joined value -----------------===//

#include "passes/analysis/Joins.h"
#include "passes/analysis/Views.h"

using namespace mlir;
using namespace tessera;

/// The use of `value`, or of a view of all of it, as an operand of a join.
static OpOperand *useInJoin(Value value) {
  for (OpOperand &use : value.getUses()) {
    if (isa<JoinOp>(use.getOwner())) return &use;
    if (!isStorageView(use.getOwner()) || isa<SliceOp>(use.getOwner())) continue;
    if (OpOperand *found = useInJoin(use.getOwner()->getResult(0))) return found;
  }
  return nullptr;
}

JoinOp tessera::joinOf(Value root) {
  OpOperand *use = useInJoin(root);
  return use ? cast<JoinOp>(use->getOwner()) : JoinOp();
}

/// Bytes from one position along the joined axis to the next.
static int64_t stepBytes(JoinOp join) {
  NamedTensorType type = join.getType();
  return type.getStrides()[type.findAxis(join.getAxis())] * type.getElementBytes();
}

int64_t tessera::partOffset(JoinOp join, unsigned part) { return join.getStart(part) * stepBytes(join); }

std::optional<PartRows> tessera::partRows(Value root) {
  OpOperand *use = useInJoin(root);
  if (!use) return std::nullopt;
  auto join = cast<JoinOp>(use->getOwner());
  int64_t step = stepBytes(join);
  return PartRows{join, partOffset(join, use->getOperandNumber()),
                  tensorType(use->get()).getSize(join.getAxis()) * step, join.getType().getSize(join.getAxis()) * step};
}
