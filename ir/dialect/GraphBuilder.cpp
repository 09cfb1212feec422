//===- GraphBuilder.cpp - builds tsr ops with inferred types -------------------===//

#include "ir/dialect/GraphBuilder.h"
#include "ir/dialect/Attributes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tessera;

AxisAttr tessera::axis(MLIRContext *context, StringRef name, int64_t size) {
  return AxisAttr::get(context, name, size);
}

//===----------------------------------------------------------------------===//
// Canonical order
//===----------------------------------------------------------------------===//

AxisOrder::AxisOrder(ModuleOp module) {
  if (auto list = module->getAttrOfType<ArrayAttr>(attrs::axes))
    for (auto [i, name] : llvm::enumerate(names(list))) ranks.try_emplace(name, i);
}

unsigned AxisOrder::rank(StringRef name) const {
  auto it = ranks.find(name);
  return it == ranks.end() ? ~0u : it->second;
}

bool AxisOrder::before(StringRef a, StringRef b) const {
  unsigned ra = rank(a), rb = rank(b);
  return ra != rb ? ra < rb : ra == ~0u && a < b;
}

void AxisOrder::sort(SmallVectorImpl<AxisAttr> &axes) const {
  llvm::stable_sort(axes, [&](AxisAttr a, AxisAttr b) { return before(a.getName(), b.getName()); });
}

bool AxisOrder::isCanonical(NamedTensorType type) const {
  return llvm::is_sorted(type.getAxes(), [&](AxisAttr a, AxisAttr b) { return before(a.getName(), b.getName()); });
}

void tessera::declareAxis(ModuleOp module, StringRef name, StringRef before) {
  SmallVector<StringRef> order;
  if (auto declared = module->getAttrOfType<ArrayAttr>(attrs::axes)) order = names(declared);
  if (llvm::is_contained(order, name)) return;
  order.insert(llvm::find(order, before), name);
  module->setAttr(attrs::axes, Builder(module.getContext()).getStrArrayAttr(order));
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

GraphBuilder::GraphBuilder(Operation *op) : OpBuilder(op), order(op->getParentOfType<ModuleOp>()), loc(op->getLoc()) {}

NamedTensorType GraphBuilder::type(ArrayRef<AxisAttr> axes, Type elementType) {
  SmallVector<AxisAttr> sorted(axes);
  order.sort(sorted);
  return NamedTensorType::get(getContext(), sorted, elementType);
}

SmallVector<AxisAttr> GraphBuilder::unite(ArrayRef<NamedTensorType> types) {
  SmallVector<AxisAttr> axes;
  for (NamedTensorType type : types)
    for (AxisAttr axis : type.getAxes())
      if (llvm::none_of(axes, [&](AxisAttr a) { return a.getName() == axis.getName(); })) axes.push_back(axis);
  order.sort(axes);
  return axes;
}

SmallVector<AxisAttr> GraphBuilder::without(NamedTensorType type, Names drop) {
  return llvm::filter_to_vector(type.getAxes(),
                                [&](AxisAttr axis) { return !llvm::is_contained(drop, axis.getName()); });
}

NamedTensorType GraphBuilder::withAxis(NamedTensorType t, AxisAttr axis) {
  SmallVector<AxisAttr> axes(t.getAxes());
  axes.push_back(axis);
  return type(axes, t.getElementType());
}

//===----------------------------------------------------------------------===//
// Sources and elementwise
//===----------------------------------------------------------------------===//

Value GraphBuilder::constant(double number, NamedTensorType type) {
  Type element = type.getElementType();
  TypedAttr value = isa<FloatType>(element) ? TypedAttr(getFloatAttr(element, number))
                                            : TypedAttr(getIntegerAttr(element, static_cast<int64_t>(number)));
  return ConstantOp::create(*this, loc, type, value);
}

Value GraphBuilder::index(AxisAttr axis) { return IndexOp::create(*this, loc, type(axis, getI32Type())); }

Value GraphBuilder::mul(Value x, double number) { return mul(x, scalar(number, tensorType(x).getElementType())); }
Value GraphBuilder::oneMinus(Value x) {
  Value one = scalar(1, tensorType(x).getElementType());
  return sub(one, x);
}
Value GraphBuilder::add(Value x, double number) { return add(x, scalar(number, tensorType(x).getElementType())); }

Value GraphBuilder::compare(Predicate predicate, Value a, Value b) {
  auto result = type(unite({tensorType(a), tensorType(b)}), getI1Type());
  return CompareOp::create(*this, loc, result, predicate, a, b);
}

Value GraphBuilder::select(Value condition, Value yes, Value no) {
  auto result = type(unite({tensorType(condition), tensorType(yes), tensorType(no)}), tensorType(yes).getElementType());
  return SelectOp::create(*this, loc, result, condition, yes, no);
}

Value GraphBuilder::cast(Value x, Type elementType) {
  if (tensorType(x).getElementType() == elementType) return x;
  return CastOp::create(*this, loc, tensorType(x).withElementType(elementType), x);
}

//===----------------------------------------------------------------------===//
// Contraction, reduction, broadcast
//===----------------------------------------------------------------------===//

Value GraphBuilder::contract(Value a, Value b, Names over, Type element) {
  if (!element) element = tensorType(a).getElementType();
  auto onlyIn = [&](Value x, Value other) {
    return llvm::filter_to_vector(
        over, [&](StringRef n) { return tensorType(x).hasAxis(n) && !tensorType(other).hasAxis(n); });
  };
  SmallVector<StringRef> onlyA = onlyIn(a, b), onlyB = onlyIn(b, a);
  a = sum(a, onlyA);
  b = sum(b, onlyB);
  SmallVector<StringRef> both = llvm::filter_to_vector(over, [&](StringRef n) { return tensorType(a).hasAxis(n); });
  if (both.empty()) return mul(cast(a, element), cast(b, element));
  auto united = type(unite({tensorType(a), tensorType(b)}), element);
  auto result = type(without(united, both), element);
  return ContractOp::create(*this, loc, result, a, b, strings(both)).getResult();
}

Value GraphBuilder::reduce(ReduceKind kind, Value x, Names over) {
  if (over.empty()) return x;
  auto result = tensorType(x).withAxes(without(tensorType(x), over));
  return ReduceOp::create(*this, loc, result, kind, x, strings(over));
}

Value GraphBuilder::mean(Value x, Names over) {
  double count = 1;
  for (StringRef name : over) count *= tensorType(x).getSize(name);
  return mul(sum(x, over), 1 / count);
}

Value GraphBuilder::broadcast(Value x, NamedTensorType to) {
  auto result = type(unite({tensorType(x), to}), tensorType(x).getElementType());
  return result == x.getType() ? x : BroadcastOp::create(*this, loc, result, x).getResult();
}

Value GraphBuilder::sumTo(Value x, NamedTensorType to) {
  SmallVector<StringRef> drop;
  for (AxisAttr axis : tensorType(x).getAxes())
    if (!to.hasAxis(axis.getName())) drop.push_back(axis.getName());
  return sum(x, drop);
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

Value GraphBuilder::rename(Value x, Names from, Names to) {
  SmallVector<AxisAttr> axes(tensorType(x).getAxes());
  for (AxisAttr &a : axes)
    if (auto it = llvm::find(from, a.getName()); it != from.end())
      a = axis(getContext(), to[it - from.begin()], a.getSize());
  return RenameOp::create(*this, loc, type(axes, tensorType(x).getElementType()), x, strings(from), strings(to));
}

Value GraphBuilder::split(Value x, StringRef name, ArrayRef<AxisAttr> into) {
  SmallVector<AxisAttr> axes = without(tensorType(x), name);
  axes.append(into.begin(), into.end());
  auto intoNames = llvm::map_to_vector(into, [](AxisAttr a) { return a.getName(); });
  return SplitOp::create(*this, loc, type(axes, tensorType(x).getElementType()), x, getStringAttr(name),
                         strings(intoNames));
}

Value GraphBuilder::merge(Value x, Names merged, StringRef into) {
  int64_t size = 1;
  for (StringRef name : merged) size *= tensorType(x).getSize(name);
  SmallVector<AxisAttr> axes = without(tensorType(x), merged);
  axes.push_back(axis(getContext(), into, size));
  return MergeOp::create(*this, loc, type(axes, tensorType(x).getElementType()), x, strings(merged),
                         getStringAttr(into));
}

static NamedTensorType resized(NamedTensorType type, StringRef name, int64_t size) {
  SmallVector<AxisAttr> axes(type.getAxes());
  axes[type.findAxis(name)] = axis(type.getContext(), name, size);
  return type.withAxes(axes);
}

Value GraphBuilder::slice(Value x, StringRef name, int64_t offset, int64_t size) {
  return SliceOp::create(*this, loc, resized(tensorType(x), name, size), x, getStringAttr(name),
                         getI64IntegerAttr(offset));
}

Value GraphBuilder::pad(Value x, StringRef name, int64_t offset, int64_t size) {
  return PadOp::create(*this, loc, resized(tensorType(x), name, size), x, getStringAttr(name),
                       getI64IntegerAttr(offset));
}

Value GraphBuilder::join(ValueRange parts, StringRef name) {
  int64_t size = 0;
  for (Value part : parts) size += tensorType(part).getSize(name);
  return JoinOp::create(*this, loc, resized(tensorType(parts.front()), name, size), parts, getStringAttr(name));
}

Value GraphBuilder::gather(Value x, Names at, ValueRange indices) {
  SmallVector<NamedTensorType> parts{tensorType(x).withAxes(without(tensorType(x), at))};
  for (Value index : indices) parts.push_back(tensorType(index));
  auto result = type(unite(parts), tensorType(x).getElementType());
  return GatherOp::create(*this, loc, result, x, indices, strings(at));
}

Value GraphBuilder::scatterAdd(Value updates, Names at, ValueRange indices, NamedTensorType to) {
  return ScatterAddOp::create(*this, loc, to, updates, indices, Value(), strings(at));
}

Value GraphBuilder::random(Distribution distribution, int32_t site, Value seed, Value step, ValueRange salts,
                           NamedTensorType type) {
  return RandomOp::create(*this, loc, type, distribution, static_cast<uint32_t>(site), seed, step, salts,
                          /*first=*/Value(), ArrayAttr(), DictionaryAttr());
}
