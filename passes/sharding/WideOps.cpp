//===- WideOps.cpp - ops on the parts of all ranks ------------------------===//
//
// Most ops are themselves on operands with mesh axes, since operands broadcast by name. Others:
//
// - A sum over a divided axis sums over the part; what is left, one value for each rank, is reduced over the mesh axis.
//   Sums with results of reduced precision are rounded once, when they are complete.
// - Positions, and the indices of draws, are those in the whole.
// - A read from a divided axis reads where the position is in the part, else 0, and the parts are added.
// - Where parts are padded, what is reduced over gets the neutral element behind its end.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/WideOps.h"
#include "ir/dialect/Attributes.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;

/// What does not change a combination; of the type's values, infinite where it has infinities.
static TypedAttr neutralOf(ReduceKind kind, Type element) {
  Builder b(element.getContext());
  if (kind == ReduceKind::Sum) return b.getZeroAttr(element);
  bool isNegative = kind != ReduceKind::Min;
  if (auto type = dyn_cast<FloatType>(element))
    return b.getFloatAttr(type, APFloat::getInf(type.getFloatSemantics(), isNegative));
  unsigned width = element.getIntOrFloatBitWidth();
  return b.getIntegerAttr(element, isNegative ? APInt::getSignedMinValue(width) : APInt::getSignedMaxValue(width));
}

namespace {
class WideOp {
public:
  WideOp(WideBuilder &b, Operation *op, ArrayRef<WideValue> operands, const Sharding &sharding)
      : b(b), op(op), operands(operands), sharding(sharding) {}

  SmallVector<WideValue> build();

private:
  Value positionsOfIndex(IndexOp index);
  Value draw(RandomOp random);
  Value contract(ContractOp contract);
  Value reduce(ReduceOp reduce);
  Value gather(GatherOp gather);
  Value scatter(ScatterAddOp scatter);
  SmallVector<Value> sameOp();

  SmallVector<StringRef> meshAxesOf(ArrayRef<StringRef> over) const;
  Value combine(ReduceKind kind, Value parts, ArrayRef<StringRef> over);
  /// In f32 what is summed over divided axes: parts of sums in reduced precision are not rounded.
  Value asSummed(Value value, ArrayRef<StringRef> over);
  /// An operand with a neutral element behind the ends of axes that are reduced over.
  Value neutral(unsigned operand, ArrayRef<StringRef> over, ReduceKind kind) {
    return b.withPadding(operands[operand], over,
                         neutralOf(kind, tensorType(operands[operand].value).getElementType()));
  }
  NamedTensorType typeOfResult(unsigned result = 0) {
    NamedTensorType whole = tensorType(op->getResult(result));
    return b.wideType(whole, sharding.within(whole));
  }

  WideBuilder &b;
  Operation *op;
  ArrayRef<WideValue> operands;
  const Sharding &sharding;
};
} // namespace

/// Of divided axes that an op reduces over, in the order of the mesh.
SmallVector<StringRef> WideOp::meshAxesOf(ArrayRef<StringRef> over) const {
  SmallVector<StringRef> along;
  for (AxisAttr mesh : b.getMesh().getAxes())
    if (llvm::is_contained(over, sharding.axisAlong(mesh.getName()))) along.push_back(mesh.getName());
  return along;
}

/// Over the mesh axes of divided axes that an op sums over: one value of each rank becomes one of all.
Value WideOp::combine(ReduceKind kind, Value parts, ArrayRef<StringRef> over) {
  return b.reduce(kind, parts, meshAxesOf(over));
}

Value WideOp::asSummed(Value value, ArrayRef<StringRef> over) {
  return meshAxesOf(over).empty() ? value : b.cast(value, b.arithmeticType(tensorType(value).getElementType()));
}

Value WideOp::positionsOfIndex(IndexOp index) {
  AxisAttr axis = tensorType(index.getResult()).getAxes().front();
  StringRef along = sharding.meshAxis(axis.getName());
  Value positions = along.empty() ? b.index(axis) : b.positions(axis, along);
  return b.cast(positions, tensorType(index.getResult()).getElementType());
}

/// A part begins at its first position times the stride that the axis has in the whole.
Value WideOp::draw(RandomOp random) {
  NamedTensorType type = typeOfResult();
  SmallVector<NamedAttribute> strides;
  for (auto [axis, stride] : llvm::zip(random.getType().getAxes(), random.getIndexStrides())) {
    strides.push_back(b.getNamedAttr(axis.getName(), b.getI64IntegerAttr(stride)));
    StringRef along = sharding.meshAxis(axis.getName());
    if (along.empty()) continue;
    int64_t ofPart = stride * type.getSize(axis.getName());
    strides.push_back(b.getNamedAttr(along, b.getI64IntegerAttr(ofPart)));
  }
  auto values = llvm::map_to_vector(operands, [](const WideValue &operand) { return operand.value; });
  return RandomOp::create(b, b.getLoc(), type, random.getDistribution(), random.getSite(), values[0], values[1],
                          ArrayRef<Value>(values).drop_front(2), /*first=*/Value(), ArrayAttr(),
                          b.getDictionaryAttr(strides));
}

/// Both factors get zeros: one alone does not do, since zero times infinity is none.
Value WideOp::contract(ContractOp contract) {
  SmallVector<StringRef> over = names(contract.getOver());
  Value lhs = neutral(0, over, ReduceKind::Sum), rhs = neutral(1, over, ReduceKind::Sum);
  Type element = contract.getType().getElementType();
  Type ofParts = meshAxesOf(over).empty() ? element : b.arithmeticType(element);
  NamedTensorType all = b.type(b.unite({tensorType(lhs), tensorType(rhs)}), ofParts);
  auto parts = ContractOp::create(b, b.getLoc(), all.withAxes(b.without(all, over)), lhs, rhs, contract.getOver());
  return b.cast(combine(ReduceKind::Sum, parts.getResult(), over), element);
}

Value WideOp::reduce(ReduceOp reduce) {
  SmallVector<StringRef> over = names(reduce.getOver());
  ReduceKind kind = reduce.getKind();
  Value x = neutral(0, over, kind);
  if (kind == ReduceKind::Sum) x = asSummed(x, over);
  Value part = b.reduce(kind, x, over), all = combine(kind, part, over);
  if (Attribute tree = reduce->getAttr(attrs::tree)) // parts are ranges of a power of two elements: subtrees
    for (Value sum : {part, all}) sum.getDefiningOp()->setAttr(attrs::tree, tree);
  return b.cast(all, reduce.getType().getElementType());
}

Value WideOp::gather(GatherOp gather) {
  SmallVector<StringRef> axes = names(gather.getAxes());
  SmallVector<Value> indices;
  Value isHere;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    Value index = operands[1 + i].value;
    StringRef along = operands[0].sharding.meshAxis(axis);
    if (along.empty()) {
      indices.push_back(index);
      continue;
    }
    // Out of range the nearest element is read: that of the whole axis.
    Type element = tensorType(index).getElementType();
    NamedTensorType table = gather.getX().getType();
    AxisAttr whole = table.getAxes()[table.findAxis(axis)];
    auto number = [&](int64_t value) { return b.scalar(static_cast<double>(value), element); };
    index = b.max(b.min(index, number(whole.getSize() - 1)), number(0));
    Value inPart = b.sub(index, b.cast(b.firstPositions(whole, along), element));
    int64_t part = partSize(whole.getSize(), b.getMesh().size(along));
    Value inside =
        b.logicalAnd(b.compare(Predicate::GE, inPart, number(0)), b.compare(Predicate::LT, inPart, number(part)));
    isHere = isHere ? b.logicalAnd(isHere, inside) : inside;
    indices.push_back(inPart);
  }
  Value read = b.gather(operands[0].value, axes, indices);
  if (!isHere) return read;
  Type element = gather.getType().getElementType(), computed = b.arithmeticType(element);
  read = b.select(isHere, b.cast(read, computed), b.scalar(0, computed));
  llvm::erase_if(axes, [&](StringRef axis) { return gather.getType().hasAxis(axis); });
  return b.cast(combine(ReduceKind::Sum, read, axes), element);
}

/// Positions relative to the part that a rank has; others drop the update. Updates along divided axes that the result
/// lacks give one result for each rank.
Value WideOp::scatter(ScatterAddOp scatter) {
  SmallVector<StringRef> axes = names(scatter.getAxes()), summed;
  NamedTensorType whole = scatter.getResult().getType();
  for (AxisAttr axis : scatter.getUpdates().getType().getAxes())
    if (!whole.hasAxis(axis.getName())) summed.push_back(axis.getName());
  for (Value index : scatter.getIndices())
    for (AxisAttr axis : tensorType(index).getAxes())
      if (!whole.hasAxis(axis.getName()) && !llvm::is_contained(summed, axis.getName()))
        summed.push_back(axis.getName());
  Value updates = asSummed(neutral(0, summed, ReduceKind::Sum), summed);
  Type element = tensorType(updates).getElementType();
  auto ranksAlong = [&](StringRef mesh) {
    return b.type(tessera::axis(b.getContext(), mesh, b.getMesh().size(mesh)), element);
  };
  SmallVector<Value> indices;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    Value index = operands[1 + i].value;
    if (StringRef along = sharding.meshAxis(axis); !along.empty()) {
      Value first = b.firstPositions(whole.getAxes()[whole.findAxis(axis)], along);
      index = b.sub(index, b.cast(first, tensorType(index).getElementType()));
      updates = b.broadcast(updates, ranksAlong(along));
    }
    indices.push_back(index);
  }
  SmallVector<NamedTensorType> types{typeOfResult()};
  for (StringRef axis : summed)
    if (StringRef along = sharding.meshAxis(axis); !along.empty()) types.push_back(ranksAlong(along));
  Value parts = b.scatterAdd(updates, axes, indices, b.type(b.unite(types), element));
  return b.cast(combine(ReduceKind::Sum, parts, summed), whole.getElementType());
}

/// An op that is itself on parts.
SmallVector<Value> WideOp::sameOp() {
  IRMapping map;
  for (auto [operand, wide] : llvm::zip(op->getOperands(), operands)) map.map(operand, wide.value);
  Operation *clone = b.clone(*op, map);
  clone->removeAttr(attrs::sharding);
  for (unsigned i = 0; i < op->getNumResults(); ++i) clone->getResult(i).setType(typeOfResult(i));
  return llvm::to_vector_of<Value>(clone->getResults());
}

SmallVector<WideValue> WideOp::build() {
  SmallVector<Value> values = llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
                                  .Case([&](IndexOp index) { return SmallVector<Value>{positionsOfIndex(index)}; })
                                  .Case([&](RandomOp random) { return SmallVector<Value>{draw(random)}; })
                                  .Case([&](ContractOp op) { return SmallVector<Value>{contract(op)}; })
                                  .Case([&](ReduceOp op) { return SmallVector<Value>{reduce(op)}; })
                                  .Case([&](GatherOp op) { return SmallVector<Value>{gather(op)}; })
                                  .Case([&](ScatterAddOp op) { return SmallVector<Value>{scatter(op)}; })
                                  .Default([&](Operation *) { return sameOp(); });
  SmallVector<WideValue> results;
  for (auto [value, before] : llvm::zip(values, op->getResults())) {
    WideValue result{value, tensorType(before), sharding.within(tensorType(before))};
    result.hasZeroPadding = llvm::none_of(result.sharding.getParts(),
                                          [&](const Sharding::Part &part) { return b.isPadded(result, part.axis); });
    results.push_back(result);
  }
  return results;
}

SmallVector<WideValue> tessera::buildWide(WideBuilder &builder, Operation *op, ArrayRef<WideValue> operands,
                                          const Sharding &sharding) {
  return WideOp(builder, op, operands, sharding).build();
}
