//===- IndexRange.cpp - what values an index can have ---------------------===//

#include "ir/program/IndexRange.h"

using namespace mlir;
using namespace tessera;

/// Beyond this no bound is stated, so that sums and products of bounds stay exact.
static constexpr int64_t limit = int64_t(1) << 30;

static std::optional<IndexRange> bounded(int64_t low, int64_t high) {
  if (low < -limit || high > limit) return std::nullopt;
  return IndexRange{low, high};
}

static int64_t floorDiv(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

/// Bounds of `a op b`, where both are known.
static std::optional<IndexRange> combine(Operation *op, IndexRange a, IndexRange b) {
  if (isa<AddOp>(op)) return bounded(a.low + b.low, a.high + b.high);
  if (isa<SubOp>(op)) return bounded(a.low - b.high, a.high - b.low);
  if (isa<MulOp>(op)) {
    auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
    return bounded(low, high);
  }
  if (isa<MaxOp>(op)) return bounded(std::max(a.low, b.low), std::max(a.high, b.high));
  if (isa<MinOp>(op)) return bounded(std::min(a.low, b.low), std::min(a.high, b.high));
  if (isa<FloorDivOp>(op) && b.low == b.high && b.low > 0)
    return bounded(floorDiv(a.low, b.low), floorDiv(a.high, b.low));
  if (isa<ModOp>(op) && b.low > 0) return a.low >= 0 && a.high < b.low ? a : IndexRange{0, b.high - 1};
  return std::nullopt;
}

/// `depth` bounds the walk: a chain longer than this is not an index.
static std::optional<IndexRange> rangeOf(Value value, int depth) {
  Type element = tensorType(value).getElementType();
  if (element.isInteger(1)) return IndexRange{0, 1};
  Operation *op = value.getDefiningOp();
  if (!isa<IntegerType>(element) || !op || depth == 0) return std::nullopt;
  auto operand = [&](unsigned i) { return rangeOf(op->getOperand(i), depth - 1); };
  if (auto constant = dyn_cast<ConstantOp>(op)) return bounded(constant.getNumber(), constant.getNumber());
  if (auto index = dyn_cast<IndexOp>(op)) return bounded(0, index.getType().getAxes()[0].getSize() - 1);
  if (isa<BroadcastOp, RenameOp, SplitOp, MergeOp, SliceOp>(op)) return operand(0);
  if (auto cast = dyn_cast<CastOp>(op); cast && isa<IntegerType>(tensorType(cast.getX()).getElementType()))
    return operand(0);
  if (auto gather = dyn_cast<GatherOp>(op)) return operand(0);
  if (isa<SelectOp>(op)) {
    auto yes = operand(1), no = operand(2);
    return yes && no ? bounded(std::min(yes->low, no->low), std::max(yes->high, no->high)) : std::nullopt;
  }
  if (!isa<AddOp, SubOp, MulOp, MaxOp, MinOp, FloorDivOp, ModOp>(op)) return std::nullopt;
  auto a = operand(0), b = operand(1);
  if (isa<ModOp>(op) && !a && b && b->low > 0) return IndexRange{0, b->high - 1};
  return a && b ? combine(op, *a, *b) : std::nullopt;
}

std::optional<IndexRange> tessera::indexRange(Value value) { return rangeOf(value, 16); }

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
