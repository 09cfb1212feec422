//===- Views.cpp - ops whose result is part of their operand's buffer -----===//

#include "passes/analysis/Views.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tessera;

/// The names of `type`'s axes with each run `many` of adjacent axes replaced by `one`.
static SmallVector<StringRef> mergedNames(NamedTensorType type, ArrayRef<StringRef> many, StringRef one) {
  SmallVector<StringRef> result;
  ArrayRef<AxisAttr> axes = type.getAxes();
  for (size_t i = 0; i < axes.size();) {
    bool isRun = i + many.size() <= axes.size() &&
                 llvm::equal(llvm::map_range(axes.slice(i, many.size()), [](AxisAttr a) { return a.getName(); }), many);
    result.push_back(isRun ? one : axes[i].getName());
    i += isRun ? many.size() : 1;
  }
  return result;
}

static bool hasNames(NamedTensorType type, ArrayRef<StringRef> expected) {
  return llvm::equal(llvm::map_range(type.getAxes(), [](AxisAttr a) { return a.getName(); }), expected);
}

bool tessera::isStorageView(Operation *op) {
  if (auto rename = dyn_cast<RenameOp>(op)) {
    SmallVector<StringRef> from = names(rename.getFrom()), to = names(rename.getTo());
    SmallVector<StringRef> expected;
    for (AxisAttr axis : rename.getX().getType().getAxes()) {
      auto it = llvm::find(from, axis.getName());
      expected.push_back(it == from.end() ? axis.getName() : to[it - from.begin()]);
    }
    return hasNames(rename.getType(), expected);
  }
  if (auto split = dyn_cast<SplitOp>(op))
    return hasNames(split.getX().getType(), mergedNames(split.getType(), names(split.getInto()), split.getAxis()));
  if (auto merge = dyn_cast<MergeOp>(op))
    return hasNames(merge.getType(), mergedNames(merge.getX().getType(), names(merge.getAxes()), merge.getInto()));
  if (auto slice = dyn_cast<SliceOp>(op)) {
    ArrayRef<AxisAttr> in = slice.getX().getType().getAxes(), out = slice.getType().getAxes();
    return in.front().getName() == slice.getAxis() && out.front().getName() == slice.getAxis() &&
           llvm::equal(in.drop_front(), out.drop_front());
  }
  return false;
}

int64_t tessera::viewOffset(Operation *view) {
  auto slice = dyn_cast<SliceOp>(view);
  if (!slice) return 0;
  NamedTensorType type = slice.getX().getType();
  return slice.getOffset() * (type.getNumBytes() / type.getAxes().front().getSize());
}

Value tessera::viewRoot(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isStorageView(op)) break;
    value = op->getOperand(0);
  }
  return value;
}

int64_t tessera::offsetInRoot(Value value) {
  int64_t offset = 0;
  for (Operation *op = value.getDefiningOp(); op && isStorageView(op); op = value.getDefiningOp()) {
    offset += viewOffset(op);
    value = op->getOperand(0);
  }
  return offset;
}

bool tessera::coversRoot(Value value) {
  return tensorType(value).getNumBytes() == tensorType(viewRoot(value)).getNumBytes();
}
