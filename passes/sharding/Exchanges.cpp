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

Value Exchanges::reduce(ReduceKind kind, Value received, StringRef along, bool inTree) {
  Value result = b.reduce(kind, received, along);
  if (inTree) result.getDefiningOp()->setAttr(attrs::tree, b.getUnitAttr());
  return result;
}

Value Exchanges::reduceScatter(ReduceKind kind, Value value, StringRef along, StringRef axis, bool inTree) {
  int64_t ranks = mesh.size(along), size = tensorType(value).getSize(axis);
  Value parts = b.split(
      value, axis, {tessera::axis(b.getContext(), along, ranks), tessera::axis(b.getContext(), axis, size / ranks)});
  Type element = tensorType(value).getElementType();
  if (addsInLibrary && kind == ReduceKind::Sum && !inTree && (element.isF32() || element.isF64()))
    return exchange(ExchangeKind::ReduceScatter, parts, along);
  return reduce(kind, exchange(ExchangeKind::AllToAll, parts, along), along, inTree);
}

Value Exchanges::allReduceDivided(ReduceKind kind, Value value, AxisAttr axis, ArrayRef<StringRef> along, bool inTree,
                                  Type element) {
  StringRef name = axis.getName(), first = along.front();
  int64_t size = axis.getSize(), padded = llvm::alignTo(size, mesh.size(first));
  if (padded != size) value = b.pad(value, name, 0, padded);
  Value part = reduceScatter(kind, value, first, name, inTree);
  part = allReduce(kind, part, along.drop_front(), inTree, element);
  Value whole = b.merge(gatherAxis(part, first), {first, name}, name);
  return padded == size ? whole : b.slice(whole, name, 0, size);
}

Value Exchanges::allReduce(ReduceKind kind, Value value, ArrayRef<StringRef> along, bool inTree, Type element) {
  if (along.empty()) return b.cast(value, element);
  NamedTensorType type = tensorType(value);
  int64_t ranks = mesh.size(along.front());
  if (type.getNumElements() < std::max(leastDivided, ranks)) {
    value = reduce(kind, gatherAxis(value, along.front()), along.front(), inTree);
    return allReduce(kind, value, along.drop_front(), inTree, element);
  }
  // The outermost axis that is long enough: its parts are contiguous.
  auto axis = llvm::find_if(type.getAxes(), [&](AxisAttr candidate) { return candidate.getSize() >= ranks; });
  if (axis != type.getAxes().end()) return allReduceDivided(kind, value, *axis, along, inTree, element);
  // All of them as one.
  SmallVector<StringRef> merged =
      llvm::map_to_vector(type.getAxes(), [](AxisAttr candidate) { return candidate.getName(); });
  value = b.merge(value, merged, merged.front());
  value = allReduceDivided(kind, value, tensorType(value).getAxes().front(), along, inTree, element);
  return b.split(value, merged.front(), type.getAxes());
}
