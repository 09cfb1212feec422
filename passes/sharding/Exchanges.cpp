//===- Exchanges.cpp - collectives by what moves bytes --------------------===//

#include "passes/sharding/Exchanges.h"
#include "ir/dialect/Attributes.h"

using namespace mlir;
using namespace tessera;

Value Exchanges::exchange(ExchangeKind kind, Value value, StringRef along) {
  NamedTensorType type = tensorType(value);
  if (kind == ExchangeKind::ReduceScatter) type = type.withoutAxis(along);
  if (kind == ExchangeKind::AllGather) type = b.withAxis(type, tessera::axis(b.getContext(), along, mesh.size(along)));
  Value started = StartOp::create(b, b.getLoc(), type, kind, along, value);
  return WaitOp::create(b, b.getLoc(), type, started, value);
}

Value Exchanges::gatherAxis(Value value, StringRef along) { return exchange(ExchangeKind::AllGather, value, along); }

Value Exchanges::reduceReceived(const RankReduction &reduction, Value received, StringRef along) {
  Value result = b.reduce(reduction.kind, received, along);
  if (reduction.inTree) result.getDefiningOp()->setAttr(attrs::tree, b.getUnitAttr());
  return result;
}

Value Exchanges::reduceScatter(const RankReduction &reduction, Value value, StringRef along, StringRef axis) {
  int64_t ranks = mesh.size(along), size = tensorType(value).getSize(axis);
  Value parts = b.split(
      value, axis, {tessera::axis(b.getContext(), along, ranks), tessera::axis(b.getContext(), axis, size / ranks)});
  Type element = tensorType(value).getElementType();
  bool isInLibrary = addsInLibrary && reduction.kind == ReduceKind::Sum && !reduction.inTree;
  if (isInLibrary && (element.isF32() || element.isF64())) return exchange(ExchangeKind::ReduceScatter, parts, along);
  return reduceReceived(reduction, exchange(ExchangeKind::AllToAll, parts, along), along);
}

Value Exchanges::reduce(const RankReduction &reduction, Value value, ArrayRef<StringRef> along) {
  if (along.empty()) return b.cast(value, reduction.element);
  auto part = llvm::find_if(reduction.parts, [&](const WantedPart &each) { return each.along == along.front(); });
  if (part == reduction.parts.end()) return reduceWhole(reduction, value, along);
  if (part->padded != 0) value = b.pad(value, part->axis, part->offset, part->padded);
  return reduce(reduction, reduceScatter(reduction, value, along.front(), part->axis), along.drop_front());
}

/// Along the first of some mesh axes all ranks want the whole.
Value Exchanges::reduceWhole(const RankReduction &reduction, Value value, ArrayRef<StringRef> along) {
  NamedTensorType type = tensorType(value);
  StringRef first = along.front();
  int64_t ranks = mesh.size(first);
  if (type.getRank() == 0 || type.getNumElements() < std::max(leastDivided, ranks)) {
    value = reduceReceived(reduction, gatherAxis(value, first), first);
    return reduce(reduction, value, along.drop_front());
  }
  auto isDividedLater = [&](StringRef axis) {
    return llvm::any_of(reduction.parts, [&](const WantedPart &part) {
      return part.axis == axis && llvm::is_contained(along, part.along);
    });
  };
  // The outermost axis that is long enough: its parts are contiguous.
  auto axis = llvm::find_if(type.getAxes(), [&](AxisAttr candidate) {
    return candidate.getSize() >= ranks && !isDividedLater(candidate.getName());
  });
  if (axis != type.getAxes().end()) return reduceDivided(reduction, value, *axis, along);
  SmallVector<StringRef> names =
      llvm::map_to_vector(type.getAxes(), [](AxisAttr candidate) { return candidate.getName(); });
  if (llvm::any_of(names, isDividedLater)) { // then, of what is left
    SmallVector<StringRef> later(along.drop_front());
    later.push_back(first);
    return reduce(reduction, value, later);
  }
  // All axes as one.
  value = b.merge(value, names, names.front());
  value = reduceDivided(reduction, value, tensorType(value).getAxes().front(), along);
  return b.split(value, names.front(), type.getAxes());
}

Value Exchanges::reduceDivided(const RankReduction &reduction, Value value, AxisAttr axis, ArrayRef<StringRef> along) {
  StringRef name = axis.getName(), first = along.front();
  int64_t size = axis.getSize(), padded = llvm::alignTo(size, mesh.size(first));
  if (padded != size) value = b.pad(value, name, 0, padded);
  Value part = reduce(reduction, reduceScatter(reduction, value, first, name), along.drop_front());
  Value whole = b.merge(gatherAxis(part, first), {first, name}, name);
  return padded == size ? whole : b.slice(whole, name, 0, size);
}
