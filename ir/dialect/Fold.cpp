//===- Fold.cpp - folding and constants -----------------------------------===//

#include "ir/dialect/GraphBuilder.h"
#include "ir/dialect/Tsr.h"

using namespace mlir;
using namespace tessera;

Operation *TsrDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto tensor = dyn_cast<NamedTensorType>(type);
  auto typed = dyn_cast<TypedAttr>(value);
  if (!tensor || !typed || typed.getType() != tensor.getElementType()) return nullptr;
  return ConstantOp::create(builder, loc, tensor, typed);
}

double ConstantOp::getNumber() {
  if (auto value = dyn_cast<FloatAttr>(getValueAttr())) return value.getValueAsDouble();
  return cast<IntegerAttr>(getValueAttr()).getValue().getSExtValue() &
         (getType().getElementType().isInteger(1) ? 1 : -1);
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }

/// Whether the attribute is the given number.
static bool isNumber(Attribute attr, double number) {
  if (auto value = dyn_cast_or_null<FloatAttr>(attr)) return value.getValueAsDouble() == number;
  if (auto value = dyn_cast_or_null<IntegerAttr>(attr))
    return static_cast<double>(value.getValue().getSExtValue()) == number;
  return false;
}

/// The result of `compute` on two constants, rounded to the type; null where an operand is not constant.
static Attribute foldConstants(Attribute a, Attribute b, NamedTensorType type, double (*compute)(double, double)) {
  auto fa = dyn_cast_or_null<FloatAttr>(a), fb = dyn_cast_or_null<FloatAttr>(b);
  if (fa && fb) return FloatAttr::get(type.getElementType(), compute(fa.getValueAsDouble(), fb.getValueAsDouble()));
  auto ia = dyn_cast_or_null<IntegerAttr>(a), ib = dyn_cast_or_null<IntegerAttr>(b);
  if (!ia || !ib) return {};
  double value = compute(ia.getValue().getSExtValue(), ib.getValue().getSExtValue());
  if (std::abs(value) >= 2147483648.0) return {};
  return IntegerAttr::get(type.getElementType(), static_cast<int64_t>(value));
}

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  if (isNumber(adaptor.getRhs(), 0) && getLhs().getType() == getType()) return getLhs();
  if (isNumber(adaptor.getLhs(), 0) && getRhs().getType() == getType()) return getRhs();
  return foldConstants(adaptor.getLhs(), adaptor.getRhs(), getType(), valueAt);
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  if (isNumber(adaptor.getRhs(), 0) && getLhs().getType() == getType()) return getLhs();
  return foldConstants(adaptor.getLhs(), adaptor.getRhs(), getType(), valueAt);
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  if (isNumber(adaptor.getRhs(), 1) && getLhs().getType() == getType()) return getLhs();
  if (isNumber(adaptor.getLhs(), 1) && getRhs().getType() == getType()) return getRhs();
  return foldConstants(adaptor.getLhs(), adaptor.getRhs(), getType(), valueAt);
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  if (isNumber(adaptor.getRhs(), 1) && getLhs().getType() == getType()) return getLhs();
  return foldConstants(adaptor.getLhs(), adaptor.getRhs(), getType(), valueAt);
}

OpFoldResult CastOp::fold(FoldAdaptor) { return getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult(); }

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType()) return getX();
  return adaptor.getX(); // A constant is the same number everywhere.
}
