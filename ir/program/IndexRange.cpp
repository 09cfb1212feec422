//===- IndexRange.cpp - what values an index can have ---------------------===//

#include "ir/program/IndexRange.h"

using namespace mlir;
using namespace tessera;

/// What is known of an operand without looking at what computes it.
static Interval allOf(Type element) { return element.isInteger(32) ? Interval::int32() : Interval(); }

/// `depth` bounds the walk: a chain longer than this is not an index.
static std::optional<Interval> rangeOf(Value value, int depth) {
  Type element = tensorType(value).getElementType();
  if (element.isInteger(1)) return Interval{0, 1};
  Operation *op = value.getDefiningOp();
  if (!isa<IntegerType>(element) || !op || depth == 0) return std::nullopt;
  auto operand = [&](unsigned i) { return rangeOf(op->getOperand(i), depth - 1); };
  if (auto constant = dyn_cast<ConstantOp>(op)) return bounds::bounded(Interval::point(constant.getNumber()));
  if (auto index = dyn_cast<IndexOp>(op)) return bounds::bounded({0, index.getType().getAxes()[0].getSize() - 1});
  if (isa<BroadcastOp, RenameOp, SplitOp, MergeOp, SliceOp, GatherOp>(op)) return operand(0);
  if (auto cast = dyn_cast<CastOp>(op); cast && isa<IntegerType>(tensorType(cast.getX()).getElementType()))
    return operand(0);
  auto elementwise = dyn_cast<ElementwiseOpInterface>(op);
  if (!elementwise) return std::nullopt;
  SmallVector<Interval> operands;
  for (auto [i, x] : llvm::enumerate(op->getOperands()))
    operands.push_back(operand(i).value_or(allOf(tensorType(x).getElementType())));
  return elementwise.inferBounds(operands);
}

std::optional<Interval> tessera::indexRange(Value value) { return rangeOf(value, 16); }

/// The number that a constant, or a broadcast constant, holds.
static std::optional<int64_t> integerConstant(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || !isa<IntegerType>(constant.getType().getElementType())) return std::nullopt;
  return static_cast<int64_t>(constant.getNumber());
}

std::optional<ShiftedIndex> tessera::matchShiftedIndex(Value value) {
  int64_t offset = 0;
  while (Operation *op = value.getDefiningOp()) {
    if (auto index = dyn_cast<IndexOp>(op)) return ShiftedIndex{index.getType().getAxes()[0], offset};
    if (!isa<AddOp, SubOp>(op)) break;
    if (auto number = integerConstant(op->getOperand(1))) {
      offset += isa<AddOp>(op) ? *number : -*number;
      value = op->getOperand(0);
    } else if (auto number = integerConstant(op->getOperand(0)); number && isa<AddOp>(op)) {
      offset += *number;
      value = op->getOperand(1);
    } else {
      break;
    }
  }
  return std::nullopt;
}
