//===- AdjointsAxes.cpp - reverse-mode derivatives of axis operations -----===//
//
// Axes have names, so there are no transposes to undo: what is summed over
// forward is broadcast backward, and the other way round.
//
//===----------------------------------------------------------------------===//

#include "ir/autodiff/ReverseMode.h"
#include "ir/program/IndexRange.h"

using namespace mlir;
using namespace tessera;

using Needed = function_ref<bool(unsigned)>;
using Accumulate = function_ref<void(unsigned, Value)>;

//===----------------------------------------------------------------------===//
// Contraction, reduction, broadcast
//===----------------------------------------------------------------------===//

/// The gradient of the operand of type `to`: `d` times the other operand, summed over every axis that `to` lacks.
static Value contractTo(GraphBuilder &b, Value d, Value other, NamedTensorType to) {
  SmallVector<StringRef> over;
  for (AxisAttr axis : b.unite({tensorType(d), tensorType(other)}))
    if (!to.hasAxis(axis.getName())) over.push_back(axis.getName());
  return b.contract(d, other, over);
}

// da = sum of d b over the axes that a lacks; so for b
void ContractOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed needed, Accumulate accumulate) {
  if (needed(0)) accumulate(0, contractTo(b, d[0], getRhs(), getLhs().getType()));
  if (needed(1)) accumulate(1, contractTo(b, d[0], getLhs(), getRhs().getType()));
}

// sum: d everywhere. max and min: d shared equally among the elements that attain it.
void ReduceOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed, Accumulate accumulate) {
  if (getKind() == ReduceKind::Sum) return accumulate(0, b.broadcast(d[0], getX().getType()));
  Value attains = b.compare(Predicate::EQ, getX(), getResult());
  Value share = b.div(d[0], b.sum(b.cast(attains, getType().getElementType()), names(getOver())));
  accumulate(0, b.select(attains, share, b.scalar(0, getType().getElementType())));
}

void BroadcastOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed, Accumulate accumulate) {
  accumulate(0, b.sumTo(d[0], getX().getType()));
}

//===----------------------------------------------------------------------===//
// Rename, split, merge, slice, pad: each undone by its opposite
//===----------------------------------------------------------------------===//

void RenameOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed, Accumulate accumulate) {
  accumulate(0, b.rename(d[0], names(getTo()), names(getFrom())));
}

void SplitOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed, Accumulate accumulate) {
  accumulate(0, b.merge(d[0], names(getInto()), getAxis()));
}

void MergeOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed, Accumulate accumulate) {
  auto axes = llvm::map_to_vector(
      names(getAxes()), [&](StringRef name) { return axis(getContext(), name, getX().getType().getSize(name)); });
  accumulate(0, b.split(d[0], getInto(), axes));
}

void SliceOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed, Accumulate accumulate) {
  accumulate(0, b.pad(d[0], getAxis(), getOffset(), getX().getType().getSize(getAxis())));
}

void PadOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed, Accumulate accumulate) {
  accumulate(0, b.slice(d[0], getAxis(), getOffset(), getX().getType().getSize(getAxis())));
}

//===----------------------------------------------------------------------===//
// Gather and its opposite
//===----------------------------------------------------------------------===//

/// A read of one element along an axis for each point of the others (`logits[vocab = label]`): no axis comes in with
/// the index.
static bool isPick(GatherOp op) {
  if (op.getIndices().size() != 1) return false;
  StringRef at = names(op.getAxes())[0];
  return llvm::all_of(tensorType(op.getIndices()[0]).getAxes(),
                      [&](AxisAttr a) { return a.getName() != at && op.getX().getType().hasAxis(a.getName()); });
}

// A pick: d where the position is the one read. Else the updates are added at the positions read. Both after clamping,
// as the read itself does.
void GatherOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed needed, Accumulate accumulate) {
  if (!needed(0)) return;
  NamedTensorType type = getX().getType();
  SmallVector<StringRef> axes = names(getAxes());
  SmallVector<Value> indices;
  for (auto [name, index] : llvm::zip(axes, getIndices())) indices.push_back(clampIndex(b, index, type.getSize(name)));
  if (!isPick(*this)) return accumulate(0, b.scatterAdd(d[0], axes, indices, type));
  Value position =
      b.cast(b.index(axis(getContext(), axes[0], type.getSize(axes[0]))), tensorType(indices[0]).getElementType());
  Value isRead = b.compare(Predicate::EQ, position, indices[0]);
  accumulate(0, b.select(isRead, d[0], b.scalar(0, type.getElementType())));
}

/// Whether all indices are in range; null where that is known.
static Value inRange(GraphBuilder &b, ArrayRef<StringRef> axes, ValueRange indices, NamedTensorType type) {
  Value all;
  auto require = [&](Value condition) { all = all ? b.logicalAnd(all, condition) : condition; };
  for (auto [name, index] : llvm::zip(axes, indices)) {
    int64_t size = type.getSize(name);
    if (auto range = indexRange(index); range && range->isWithin(size)) continue;
    Type element = tensorType(index).getElementType();
    require(b.compare(Predicate::GE, index, b.scalar(0, element)));
    require(b.compare(Predicate::LT, index, b.scalar(size, element)));
  }
  return all;
}

// An update gets the gradient at its position; a dropped one gets none.
void ScatterAddOp::buildAdjoint(GraphBuilder &b, ValueRange d, Needed needed, Accumulate accumulate) {
  if (needed(0)) {
    Value read = b.gather(d[0], names(getAxes()), getIndices());
    Value isKept = inRange(b, names(getAxes()), getIndices(), getType());
    accumulate(0, isKept ? b.select(isKept, read, b.scalar(0, getType().getElementType())) : read);
  }
  if (unsigned last = getNumOperands() - 1; getInit() && needed(last)) accumulate(last, d[0]);
}
