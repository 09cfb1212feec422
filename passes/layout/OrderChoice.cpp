//===- OrderChoice.cpp - orders of axes as a small algebra --------------------===//

#include "passes/layout/OrderChoice.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tessera;

SmallVector<StringRef> tessera::axisNames(NamedTensorType type) {
  return llvm::map_to_vector(type.getAxes(), [](AxisAttr axis) { return axis.getName(); });
}

NamedTensorType tessera::inOrderOf(NamedTensorType type, ArrayRef<StringRef> names) {
  SmallVector<AxisAttr> axes;
  for (StringRef name : names)
    if (int64_t at = type.findAxis(name); at >= 0) axes.push_back(type.getAxes()[at]);
  for (AxisAttr axis : type.getAxes())
    if (!llvm::is_contained(names, axis.getName())) axes.push_back(axis);
  return type.withAxes(axes);
}

bool tessera::standTogether(NamedTensorType type, ArrayRef<StringRef> names, bool ordered) {
  if (names.empty()) return true;
  int64_t first = type.getRank(), last = -1;
  for (auto [i, name] : llvm::enumerate(names)) {
    int64_t at = type.findAxis(name);
    if (ordered && i > 0 && at != last + 1) return false;
    first = std::min(first, at), last = std::max(last, at);
  }
  return last - first + 1 == static_cast<int64_t>(names.size());
}

NamedTensorType tessera::movedTogether(NamedTensorType type, ArrayRef<StringRef> names) {
  int64_t last = 0;
  for (StringRef name : names) last = std::max(last, type.findAxis(name));
  SmallVector<StringRef> order;
  for (auto [i, axis] : llvm::enumerate(type.getAxes())) {
    if (static_cast<int64_t>(i) == last)
      order.append(names.begin(), names.end());
    else if (!llvm::is_contained(names, axis.getName()))
      order.push_back(axis.getName());
  }
  return inOrderOf(type, order);
}

OperandGroups tessera::groupOperand(NamedTensorType operand, NamedTensorType other, ArrayRef<StringRef> over) {
  OperandGroups groups;
  for (StringRef name : axisNames(operand))
    (llvm::is_contained(over, name) ? groups.summed : other.hasAxis(name) ? groups.batch : groups.free).push_back(name);
  return groups;
}

bool tessera::suitsGemm(NamedTensorType operand, const OperandGroups &groups) {
  if (!standTogether(operand, groups.free, false) || !standTogether(operand, groups.summed, false)) return false;
  return !llvm::is_contained(groups.batch, operand.getAxes().back().getName());
}

/// `order` with the names of `out` replaced, at the place of the first of them, by those of `in`.
static SmallVector<StringRef> replaced(ArrayRef<StringRef> order, ArrayRef<StringRef> out, ArrayRef<StringRef> in) {
  SmallVector<StringRef> result;
  bool done = false;
  for (StringRef name : order) {
    if (!llvm::is_contained(out, name)) {
      result.push_back(name);
    } else if (!done) {
      result.append(in.begin(), in.end());
      done = true;
    }
  }
  return result;
}

/// Free axes that are not adjacent in their operand cannot be one side of a matrix: all but the last become a batch.
/// The longest is the last, as in the scores of query heads that share keys: [group, seq, key], not [seq, group, key].
static SmallVector<StringRef> longestLast(NamedTensorType operand, ArrayRef<StringRef> free) {
  SmallVector<StringRef> order(free);
  if (free.size() < 2 || standTogether(operand, free, true)) return order;
  auto longest =
      llvm::max_element(order, [&](StringRef a, StringRef b) { return operand.getSize(a) < operand.getSize(b); });
  std::rotate(longest, longest + 1, order.end());
  return order;
}

SmallVector<NamedTensorType> tessera::resultCandidates(const ContractTypes &types, NamedTensorType normal) {
  OperandGroups l = groupOperand(types.lhs, types.rhs, types.over), r = groupOperand(types.rhs, types.lhs, types.over);
  SmallVector<SmallVector<StringRef>> orders;
  auto concat = [](ArrayRef<StringRef> a, ArrayRef<StringRef> b, ArrayRef<StringRef> c) {
    SmallVector<StringRef> all(a);
    all.append(b.begin(), b.end());
    all.append(c.begin(), c.end());
    return all;
  };
  // Dense batches of matrices; then the order of one operand, with the other's axes in place of the summed ones.
  orders.push_back(concat(l.batch, longestLast(types.lhs, l.free), r.free));
  orders.push_back(replaced(axisNames(types.lhs), l.summed, r.free));
  orders.push_back(replaced(axisNames(types.rhs), r.summed, l.free));
  orders.push_back(concat(l.batch, r.free, l.free));
  orders.push_back(axisNames(normal));
  SmallVector<NamedTensorType> candidates;
  for (ArrayRef<StringRef> order : orders) {
    NamedTensorType candidate = inOrderOf(normal, order);
    if (!llvm::is_contained(candidates, candidate)) candidates.push_back(candidate);
  }
  return candidates;
}
