//===- Views.cpp - ops whose result is part of their operand's buffer -----===//

#include "passes/analysis/Views.h"
#include "passes/analysis/Joins.h"
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

/// Whether the axes of the result are in the places of those that they come from.
static bool hasOrderOfView(Operation *op) {
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
  if (auto slice = dyn_cast<SliceOp>(op))
    return llvm::equal(slice.getX().getType().getAxes(), slice.getType().getAxes(),
                       [](AxisAttr a, AxisAttr b) { return a.getName() == b.getName(); });
  return false;
}

using Sizes = SmallVector<int64_t>;

/// The allocated sizes of `merged` as a view in which `axis` is split into the axes `into` of `split`, a type with
/// these axes.
static std::optional<Sizes> splitSizes(NamedTensorType merged, NamedTensorType split, StringRef axis,
                                       ArrayRef<StringRef> into) {
  Sizes sizes;
  for (auto [a, allocated] : llvm::zip(merged.getAxes(), merged.getAllocatedSizes())) {
    if (a.getName() != axis) {
      sizes.push_back(allocated);
      continue;
    }
    int64_t inner = 1;
    for (StringRef part : into.drop_front()) inner *= split.getSize(part);
    if (allocated % inner != 0) return std::nullopt;
    sizes.push_back(allocated / inner);
    for (StringRef part : into.drop_front()) sizes.push_back(split.getSize(part));
  }
  return sizes;
}

/// Those of `split` as a view in which its axes `many` are one axis.
static std::optional<Sizes> mergedSizes(NamedTensorType split, ArrayRef<StringRef> many) {
  Sizes sizes;
  for (auto [axis, allocated] : llvm::zip(split.getAxes(), split.getAllocatedSizes())) {
    bool isInner = llvm::is_contained(many.drop_front(), axis.getName());
    if (isInner && allocated != axis.getSize()) return std::nullopt; // gaps between the rows
    if (isInner)
      sizes.back() *= allocated;
    else
      sizes.push_back(allocated);
  }
  return sizes;
}

/// Those that the result of a view of an operand of type `x` has.
static std::optional<Sizes> viewSizes(Operation *op, NamedTensorType x) {
  auto result = tensorType(op->getResult(0));
  if (auto split = dyn_cast<SplitOp>(op)) return splitSizes(x, result, split.getAxis(), names(split.getInto()));
  if (auto merge = dyn_cast<MergeOp>(op)) return mergedSizes(x, names(merge.getAxes()));
  Sizes sizes = x.getAllocatedSizes();
  // A slice along the outermost axis is all of what it spans.
  if (auto slice = dyn_cast<SliceOp>(op); slice && x.getAxes().front().getName() == slice.getAxis())
    sizes.front() = result.getAxes().front().getSize();
  return sizes;
}

/// `type` with these allocated sizes, if there are any.
static std::optional<NamedTensorType> withSizes(NamedTensorType type, const std::optional<Sizes> &sizes) {
  return sizes ? std::optional(type.withAllocated(*sizes)) : std::nullopt;
}

std::optional<NamedTensorType> tessera::viewType(Operation *op, NamedTensorType x) {
  return withSizes(tensorType(op->getResult(0)), viewSizes(op, x));
}

std::optional<NamedTensorType> tessera::viewedType(Operation *op, NamedTensorType result) {
  auto x = tensorType(op->getOperand(0));
  if (auto split = dyn_cast<SplitOp>(op)) return withSizes(x, mergedSizes(result, names(split.getInto())));
  if (auto merge = dyn_cast<MergeOp>(op))
    return withSizes(x, splitSizes(result, x, merge.getInto(), names(merge.getAxes())));
  Sizes sizes = result.getAllocatedSizes();
  if (isa<SliceOp>(op)) sizes.front() = x.getAllocatedSizes().front();
  return x.withAllocated(sizes);
}

bool tessera::isStorageView(Operation *op) {
  return isa<RenameOp, SplitOp, MergeOp, SliceOp>(op) && hasOrderOfView(op) &&
         viewSizes(op, tensorType(op->getOperand(0))) == tensorType(op->getResult(0)).getAllocatedSizes();
}

int64_t tessera::viewOffset(Operation *view) {
  auto slice = dyn_cast<SliceOp>(view);
  if (!slice) return 0;
  NamedTensorType type = slice.getX().getType();
  return slice.getOffset() * type.getStrides()[type.findAxis(slice.getAxis())] * type.getElementBytes();
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
  return tensorType(value).getNumElements() == tensorType(viewRoot(value)).getNumElements();
}

int64_t tessera::bytesInRoot(Value value) {
  Value root = viewRoot(value);
  int64_t rest = tensorType(root).getNumBytes() - offsetInRoot(value);
  if (std::optional<PartRows> rows = partRows(root)) {
    JoinOp join = rows->join;
    rest = join.getType().getNumBytes() - rows->column - offsetInRoot(value);
  }
  return std::min(tensorType(value).getNumBytes(), rest);
}
