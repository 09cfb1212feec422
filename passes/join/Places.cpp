//===- Places.cpp - parts of joined values have the strides of the whole --===//

#include "passes/join/Places.h"
#include "ir/dialect/Attributes.h"
#include "passes/analysis/Views.h"
#include "passes/join/JoinedValues.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace tessera;

namespace {
/// Changes types from parts on to the views of them.
class PartTypes {
public:
  int64_t copies = 0;

  void takeApart(SliceOp slice);
  void putTogether(JoinOp join);

private:
  void retype(Value value, NamedTensorType type);
  void copy(OpOperand &use, NamedTensorType type);
};
} // namespace

static bool isShapeChange(Operation *op) { return isa_and_nonnull<RenameOp, SplitOp, MergeOp>(op); }

NamedTensorType tessera::partType(JoinOp join, unsigned part) {
  NamedTensorType type = tensorType(join.getParts()[part]);
  SmallVector<int64_t> allocated = join.getType().getAllocatedSizes();
  int64_t axis = type.findAxis(join.getAxis());
  if (axis == 0) allocated[0] = type.getAxes().front().getSize();
  return type.withAllocated(allocated);
}

void PartTypes::copy(OpOperand &use, NamedTensorType type) {
  OpBuilder builder(use.getOwner());
  auto reorder = ReorderOp::create(builder, use.getOwner()->getLoc(), type, use.get());
  if (Operation *op = use.get().getDefiningOp()) copyNotes(op, reorder);
  setStepPass(reorder, std::max(stepPass(reorder), stepPass(use.getOwner())));
  use.set(reorder);
  ++copies;
}

/// Sets the type of a value, and those of views of it.
void PartTypes::retype(Value value, NamedTensorType type) {
  if (value.getType() == type) return;
  value.setType(type);
  SmallVector<OpOperand *> uses = llvm::map_to_vector(value.getUses(), [](OpOperand &use) { return &use; });
  for (OpOperand *use : uses) {
    Operation *user = use->getOwner();
    bool isPassedOn = isa<RepeatOp, StartOp>(user) || user->hasTrait<OpTrait::IsTerminator>();
    std::optional<NamedTensorType> view = isShapeChange(user) ? viewType(user, type) : std::nullopt;
    if (view)
      retype(user->getResult(0), *view);
    else if (isPassedOn || isShapeChange(user))
      copy(*use, type.withAllocated({}));
    if (auto start = dyn_cast<StartOp>(user))
      for (Operation *wait : start.getResult().getUsers()) cast<WaitOp>(wait).getSentMutable().assign(start.getX());
  }
}

void PartTypes::takeApart(SliceOp slice) {
  slice->removeAttr(partAttr);
  if (auto type = viewType(slice, slice.getX().getType())) retype(slice.getResult(), *type);
}

/// The allocated sizes of the operand of a rename, split or merge whose result has `type`. None if it cannot have them.
static std::optional<NamedTensorType> operandType(Operation *op, NamedTensorType type) {
  NamedTensorType x = tensorType(op->getOperand(0)).withAllocated({});
  if (isa<RenameOp>(op)) return x.withAllocated(type.getAllocatedSizes());
  SmallVector<int64_t> from = type.getAllocatedSizes(), sizes = x.getAllocatedSizes();
  auto split = dyn_cast<SplitOp>(op);
  SmallVector<StringRef> many = names(split ? split.getInto() : cast<MergeOp>(op).getAxes());
  StringRef one = split ? split.getAxis() : cast<MergeOp>(op).getInto();
  for (auto [axis, size] : llvm::zip(x.getAxes(), sizes))
    if (int64_t at = type.findAxis(axis.getName()); at >= 0) size = from[at];
  int64_t inner = 1;
  for (StringRef name : ArrayRef(many).drop_front()) inner *= (split ? type : x).getSize(name);
  int64_t whole = from[type.findAxis(split ? many.front() : one)];
  if (split)
    sizes[x.findAxis(one)] = whole * inner;
  else
    sizes[x.findAxis(many.front())] = whole / inner;
  if (!split && whole % inner != 0) return std::nullopt;
  NamedTensorType result = x.withAllocated(sizes);
  return viewType(op, result) == type ? std::optional(result) : std::nullopt;
}

/// Whether an op can write its result with strides.
static bool canWriteStrided(Operation *op) { return isa_and_nonnull<CastOp, ContractOp, ReorderOp>(op); }

void PartTypes::putTogether(JoinOp join) {
  for (OpOperand &use : join.getPartsMutable()) {
    NamedTensorType wanted = partType(join, use.getOperandNumber()), type = wanted;
    Value root = use.get();
    std::optional<NamedTensorType> rootType = type;
    while (rootType && isShapeChange(root.getDefiningOp())) {
      rootType = operandType(root.getDefiningOp(), *rootType);
      root = root.getDefiningOp()->getOperand(0);
    }
    bool isFree = rootType && canWriteStrided(root.getDefiningOp()) && tensorType(root).isDense() &&
                  root.getParentBlock() == join->getBlock() && llvm::count(join.getParts(), use.get()) == 1;
    if (isFree) retype(root, *rootType);
    if (use.get().getType() != wanted || !isFree) copy(use, wanted);
  }
}

int64_t tessera::allocateParts(ModuleOp module) {
  PartTypes types;
  SmallVector<SliceOp> slices;
  SmallVector<JoinOp> joins;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->hasAttr(partAttr)) slices.push_back(cast<SliceOp>(op));
    if (auto join = dyn_cast<JoinOp>(op)) joins.push_back(join);
  });
  for (SliceOp slice : slices) types.takeApart(slice);
  for (JoinOp join : joins) types.putTogether(join);
  return types.copies;
}

LogicalResult tessera::verifyParts(ModuleOp module) {
  WalkResult result = module.walk([&](JoinOp join) {
    for (unsigned i = 0; i < join.getParts().size(); ++i) {
      NamedTensorType type = tensorType(join.getParts()[i]);
      if (type == partType(join, i)) continue;
      join.emitError("expected part ") << i << " of type " << partType(join, i) << ", got " << type;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
