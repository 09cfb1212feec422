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

Value Exchanges::allReduce(ReduceKind kind, Value value, StringRef along, bool inTree) {
  NamedTensorType type = tensorType(value);
  int64_t ranks = mesh.size(along);
  // The outermost axis that is long enough: its parts are contiguous.
  auto axis = llvm::find_if(type.getAxes(), [&](AxisAttr candidate) { return candidate.getSize() >= ranks; });
  if (type.getNumElements() < leastDivided || axis == type.getAxes().end())
    return reduce(kind, gatherAxis(value, along), along, inTree);
  StringRef name = axis->getName();
  int64_t size = axis->getSize(), padded = (size + ranks - 1) / ranks * ranks;
  if (padded != size) value = b.pad(value, name, 0, padded);
  Value parts = gatherAxis(reduceScatter(kind, value, along, name, inTree), along);
  Value whole = b.merge(parts, {along, name}, name);
  return padded == size ? whole : b.slice(whole, name, 0, size);
}
